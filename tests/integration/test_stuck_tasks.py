"""A task whose workflow task fails is found, with the reason and what to do."""

from dataclasses import replace

from temporalio.client import Client
from temporalio.converter import DataConverter

from a2a_temporal import EncryptionCodec
from a2a_temporal._cli.stuck import StuckTask, stuck_tasks
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


async def test_a_task_that_its_worker_cannot_decode_is_found(temporal: TemporalServer) -> None:
    keyless, queue = await temporal.client(), new_task_queue()
    codec = EncryptionCodec({"theirs": b"k" * 32})
    converter = replace(DataConverter.default, payload_codec=codec)
    keyed = Client(keyless.service_client, namespace=keyless.namespace, data_converter=converter)
    async with served(keyed, queue) as agent, agent_worker(keyless, queue):
        task_id = await agent.start("say:x")

        async def found() -> StuckTask | None:
            all_stuck = [each async for each in stuck_tasks(keyless)]
            return next((each for each in all_stuck if each.task_id == task_id), None)

        stuck = await eventually(found, within=60)
    assert stuck.attempts > 2
    assert stuck.workflow_type == "A2AAgentTask"
    assert "decoding" in stuck.reason.lower(), stuck
    assert "keys" in stuck.cure
    async with agent_worker(keyed, queue):
        await eventually(lambda: _gone(keyless, task_id), within=60)


async def _gone(client: Client, task_id: str) -> bool:
    return task_id not in [each.task_id async for each in stuck_tasks(client)]
