"""A stream begins with what GetTask says, also where the log has not been read for a while."""

from a2a.types.a2a_pb2 import Task

from a2a_temporal import HandlerOptions
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer


async def test_a_cold_log_is_read_on_before_it_is_shown(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    one_poll = HandlerOptions(long_polls=1)
    async with (
        agent_worker(client, queue),
        served(client, queue, one_poll) as here,
        served(client, queue) as there,
    ):
        first, second = await here.send("ask"), await here.send("ask")
        streams = [here.subscribe(task.id) for task in (first, second)]
        for stream in streams:
            await anext(stream)
        for turn in range(5):
            # The follower of the first task is cold now: the second one has the only poll.
            await there.send(f"chunks:2 ask:again-{turn}", task_id=first.id)
            known = await there.get(first.id)
            late = here.subscribe(first.id)
            begins = await anext(late)
            assert isinstance(begins, Task)
            assert begins == known
            await late.aclose()
            other = here.subscribe(second.id)
            await anext(other)
            await other.aclose()
        for stream in streams:
            await stream.aclose()
