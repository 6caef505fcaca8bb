"""A client that goes away takes nothing with it: a disconnect is not a cancel."""

import asyncio
import uuid
from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from a2a.types import a2a_pb2, a2a_pb2_grpc

from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, over_every_binding, send_params
from tests.support.cluster import Cluster, Options
from tests.support.metrics import held_history_polls
from tests.support.processes import free_port
from tests.support.results import artifact_text, state
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

TWENTY = "".join(f"{step}\n" for step in range(1, 21))


async def test_a_dropped_stream_does_not_stop_the_work(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("count 20 0.2") as frames:
            first = await frames.next()
            task_id = first["task"]["id"]
            await eventually(lambda: cluster.ledger.count(task_id, "step") >= 3, within=30)
        assert cluster.ledger.count(task_id, "step") < 20

        await eventually(lambda: cluster.ledger.count(task_id, "step") == 20, within=20)

        async def completed() -> bool:
            return state(await caller.get(task_id)) == "COMPLETED"

        await eventually(completed, within=30)
        assert cluster.ledger.count(task_id, "interrupted", "cancel") == 0
        assert "WORKFLOW_EXECUTION_CANCEL_REQUESTED" not in await cluster.history(task_id)

    await over_every_binding(cluster.caller, scenario)


async def test_a_blocking_send_that_times_out_does_not_stop_the_work(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        message_id = str(uuid.uuid4())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(caller.send("count 20 0.2", message_id=message_id), 1.5)

        # The client never learned the task id; the same message leads back to the same task.
        done = await caller.send_task("count 20 0.2", message_id=message_id)

        assert state(done) == "COMPLETED"
        assert artifact_text(done, "count") == TWENTY
        assert cluster.ledger.count(done["id"], "step") == 20
        assert "WORKFLOW_EXECUTION_CANCEL_REQUESTED" not in await cluster.history(done["id"])

    await over_every_binding(cluster.caller, scenario)


@pytest.mark.parametrize("binding", [*BINDINGS, "GRPC"])
async def test_blocking_sends_whose_clients_gave_up_hold_nothing(
    new_cluster: NewCluster, temporal: TemporalServer, binding: str
) -> None:
    port = free_port()
    options = Options(api=(f"--grpc-port={port}",))
    message_id = str(uuid.uuid4())

    async with new_cluster(workers=0, options=options) as cluster:

        async def reading() -> bool:
            return await held_history_polls(temporal, cluster.client) > 0

        async def silent() -> bool:
            return not await reading()

        async def send_and_give_up() -> None:
            if binding == "GRPC":
                await _give_up_over_grpc(port, message_id)
            else:
                with pytest.raises(httpx.ReadTimeout):
                    await cluster.http.send(_impatient(cluster, binding, message_id))

        await eventually(silent, within=30, what="the end of what was before")
        sending = asyncio.gather(*(send_and_give_up() for _ in range(3)))
        await eventually(reading, within=20, what="a log that is read")
        await sending
        await eventually(silent, within=30, what="the end of the reading")
        task = await cluster.caller.start("echo hi", message_id=message_id)
        assert await cluster.requests(task["id"]) == []
        await cluster.add_worker()

        async def completed() -> bool:
            return state(await cluster.caller.get(task["id"])) == "COMPLETED"

        await eventually(completed, within=30)


def _impatient(cluster: Cluster, binding: str, message_id: str) -> httpx.Request:
    request = cluster.caller.over(binding).request(
        "SendMessage", send_params("echo hi", message_id=message_id)
    )
    request.extensions["timeout"] = httpx.Timeout(5).as_dict()
    return request


async def _give_up_over_grpc(port: int, message_id: str) -> None:
    message = a2a_pb2.Message(
        message_id=message_id, role=a2a_pb2.ROLE_USER, parts=[a2a_pb2.Part(text="echo hi")]
    )
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await stub.SendMessage(
                a2a_pb2.SendMessageRequest(message=message),
                metadata=(("a2a-version", "1.0"),),
                timeout=5,
            )
        assert refusal.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
