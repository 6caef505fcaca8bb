"""Reading a task again costs what is new in it, and is never old."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import (
    DeleteWorkflowExecutionRequest,
    ResetWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import AgentOptions, HandlerOptions
from a2a_temporal._reading import cache
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.reader import read_log
from tests.support.in_process import (
    CALL,
    Served,
    agent_worker,
    new_task_queue,
    request,
    running,
    served,
)
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

EARLY, LATE = 5, 40


class Counting(PayloadCodec):
    """Changes nothing, and counts what is decoded."""

    def __init__(self) -> None:
        self.decoded = 0

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.decoded += len(payloads)
        return list(payloads)


async def test_a_late_turn_reads_no_more_than_an_early_one(temporal: TemporalServer) -> None:
    reads, works = Counting(), Counting()
    queue = new_task_queue()
    worker = agent_worker(await _counted(temporal, works), queue)
    costs: list[tuple[int, int]] = []
    async with worker, served(await _counted(temporal, reads), queue) as agent:
        task_id = (await agent.send("ask")).id
        for _ in range(LATE):
            before = reads.decoded, works.decoded
            await agent.send("say:well ask", task_id=task_id)
            costs.append((reads.decoded - before[0], works.decoded - before[1]))
        before = reads.decoded, works.decoded
        await agent.get(task_id)
        assert reads.decoded - before[0] <= 5
    for late, early in zip(costs[-1], costs[EARLY - 1], strict=True):
        assert late <= early + 5, costs


async def test_a_task_that_is_read_again_is_as_its_log_says(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    short = AgentOptions(continue_as_new_after=60)
    async with (
        agent_worker(client, queue, options=short),
        served(client, queue) as here,
        served(client, queue) as there,
    ):
        task_id = (await here.send("ask")).id
        for turn in range(12):
            await there.send(f"say:{turn} chunks:3 ask", task_id=task_id)
            await _as_the_log_says(client, here, task_id)
            if turn % 3 == 2:
                answered = await here.send("say:here chunks:3 ask", task_id=task_id)
                assert answered.history == (await there.get(task_id)).history
        done = await there.send("chunks:1", task_id=task_id)
        assert done == await here.get(task_id)


async def test_a_task_that_was_reset_is_read_anew(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask:first")).id
        for end in ("say:more ask:again", "chunks:2"):
            await agent.send(end, task_id=task_id)
            await _as_the_log_says(client, agent, task_id)
            await _reset_to_the_first_question(client, task_id)
            await _as_the_log_says(client, agent, task_id)
            async with watching(agent.subscribe(task_id)) as stream:
                await stream.until(1)
                assert stream.events[0] == await agent.get(task_id)
                assert stream.last_state == "TASK_STATE_INPUT_REQUIRED"
        done = await agent.send("chunks:2", task_id=task_id)
        assert len(done.artifacts) == 1
        await _as_the_log_says(client, agent, task_id)


async def test_an_idle_log_that_was_reset_is_not_shown_as_it_was(temporal: TemporalServer) -> None:
    client = await temporal.client()
    one_poll = HandlerOptions(long_polls=1)
    async with running(client, handler=one_poll) as agent:
        first, second = (await agent.send("ask")).id, (await agent.send("ask")).id
        await agent.send("say:more chunks:2 ask", task_id=first)
        async with watching(agent.subscribe(first)) as idle:
            await idle.until(1)
            async with watching(agent.subscribe(second)) as polling:  # it has the only poll
                await polling.until(1)
                await _reset_to_the_first_question(client, first)
                async with watching(agent.subscribe(first)) as late:
                    await late.until(1)
                    assert late.events[0] == await agent.get(first)


async def test_a_task_that_takes_the_id_of_a_deleted_one_is_read_anew(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    message = request("ask:first")
    async with running(client) as agent:
        task = await agent.handler.on_message_send(message, CALL)
        assert task is not None
        task_id = str(getattr(task, "id", ""))
        await agent.send("say:more ask:again", task_id=task_id)
        await client.workflow_service.delete_workflow_execution(
            DeleteWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=task_id),
            )
        )
        await eventually(lambda: _is_gone(client, task_id), within=30)

        again = await agent.handler.on_message_send(message, CALL)

        assert getattr(again, "id", "") == task_id
        await _as_the_log_says(client, agent, task_id)
        assert [each.parts[0].text for each in (await agent.get(task_id)).history] == ["ask:first"]


async def test_what_is_kept_is_bounded(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_KEPT", 2)
    codec = Counting()
    client = await _counted(temporal, codec)
    queue = new_task_queue()
    async with agent_worker(await temporal.client(), queue), served(client, queue) as agent:
        ids = [(await agent.send("ask")).id for _ in range(3)]
        logs = Logs(client)

        async def cost(task_id: str, logs: Logs = logs) -> int:
            before = codec.decoded
            await logs.state(task_id)
            return codec.decoded - before

        whole = [await cost(task_id) for task_id in ids]
        assert [await cost(task_id) for task_id in (ids[2], ids[1])] == [0, 0]
        assert await cost(ids[0]) == whole[0]
        monkeypatch.setattr(cache, "_KEPT_BYTES", 1)
        small = Logs(client)
        assert [await cost(ids[0], small) for _ in range(2)] == [whole[0], whole[0]]


async def _counted(temporal: TemporalServer, codec: PayloadCodec) -> Client:
    converter = replace(DataConverter.default, payload_codec=codec)
    return await Client.connect(temporal.address, data_converter=converter)


async def _as_the_log_says(client: Client, agent: Served, task_id: str) -> None:
    """Compare what a replica says, which has read the task before, with the log as it is."""
    log = await read_log(client, task_id)
    assert await agent.get(task_id) == log.task


async def _reset_to_the_first_question(client: Client, task_id: str) -> None:
    workflow = client.get_workflow_handle(task_id)
    completed = [
        event.event_id
        async for event in workflow.fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    old = (await workflow.describe()).run_id
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            reason="test",
            request_id=f"{task_id}-{old}",
            workflow_task_finish_event_id=completed[1],
            reset_reapply_exclude_types=[ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL],
        )
    )


async def _is_gone(client: Client, task_id: str) -> bool:
    try:
        await client.get_workflow_handle(task_id).describe()
    except RPCError as error:
        return error.status == RPCStatusCode.NOT_FOUND
    return False
