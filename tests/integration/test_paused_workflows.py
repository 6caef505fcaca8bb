"""`temporal workflow pause` (experimental): what reads a paused task waits, it does not end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from a2a.server.events import Event
from a2a.types.a2a_pb2 import TaskState
from temporalio.api.workflowservice.v1 import (
    PauseWorkflowExecutionRequest,
    UnpauseWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.worker import Replayer

from a2a_temporal import A2APlugin
from a2a_temporal._cli.push import dead_letters
from a2a_temporal._cli.stuck import stuck_tasks
from a2a_temporal._gateway import Gateway
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.resume import events_after
from a2a_temporal._server.waiting import Person
from a2a_temporal._testing.replaying import replay_all
from tests.support.in_process import Scripted, running
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually, within

PAUSING = ["--dynamic-config-value=frontend.WorkflowPauseEnabled=true"]


async def test_a_stream_and_a_blocking_send_outlast_a_pause(tmp_path: Path) -> None:
    async with running_server(tmp_path, arguments=PAUSING) as temporal:
        client, scripted = await temporal.client(), Scripted()
        async with running(client, scripted) as agent:
            sending = asyncio.create_task(agent.send("say:a gate say:b"))
            listed = f"TaskQueue = '{agent.task_queue}'"

            async def begun() -> str:
                return "".join([found.id async for found in client.list_workflows(listed)])

            task_id = await eventually(begun, within=30)
            stream = agent.subscribe(task_id)
            seen = [await within(30, anext(stream))]
            await _pause(client, task_id)
            reading = asyncio.create_task(_rest(stream))
            done, _ = await asyncio.wait([sending, reading], timeout=3)
            assert not done, done
            assert (await agent.get(task_id)).status.state != TaskState.TASK_STATE_COMPLETED
            scripted.gate.set()
            await _unpause(client, task_id)
            seen += await within(60, reading, what="the end of the stream")
            task = await within(60, sending, what="the answer")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert "COMPLETED" in str(seen[-1]), seen


async def test_one_paused_task_is_seen_by_everybody_and_takes_nothing_away(tmp_path: Path) -> None:
    async with running_server(tmp_path, arguments=PAUSING) as temporal:
        client, scripted = await temporal.client(), Scripted()
        async with running(client, scripted) as agent, aclosing(Approvals(client)) as approvals:
            task_id = (await agent.send("say:a ask")).id
            run_id = (await client.get_workflow_handle(task_id).describe()).run_id
            await _pause(client, task_id)

            async def paused() -> bool:
                return (await client.count_workflows("ExecutionStatus = 'Paused'")).count == 1

            await eventually(paused, within=30)

            async def counted() -> bool:
                return await approvals.count(Person("ops", operator=True)) == 1

            await eventually(counted, within=30)
            assert [each async for each in approvals.records()] == []
            assert [each async for each in dead_letters(client, [task_id])] == []
            assert [each async for each in stuck_tasks(client)] == []
            begin = LogPosition(run_id, 1, LogPosition.ALL)
            assert await events_after(Gateway(client), task_id, begin, newest_run=run_id)
            replayer = Replayer(workflows=[], plugins=[A2APlugin(agent_executor=scripted)])
            assert await replay_all(replayer, client, agent.task_queue) == {}
            await _unpause(client, task_id)


async def _rest(stream: AsyncGenerator[Event]) -> list[Event]:
    return [event async for event in stream]


async def _pause(client: Client, task_id: str) -> None:
    await client.workflow_service.pause_workflow_execution(
        PauseWorkflowExecutionRequest(
            namespace=client.namespace, workflow_id=task_id, reason="a look", request_id="pause"
        )
    )


async def _unpause(client: Client, task_id: str) -> None:
    await client.workflow_service.unpause_workflow_execution(
        UnpauseWorkflowExecutionRequest(
            namespace=client.namespace, workflow_id=task_id, reason="seen", request_id="unpause"
        )
    )
