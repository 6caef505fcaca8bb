"""A receiver's answer is not unpacked by the worker: it costs no more than it weighs."""

import asyncio
import gzip

import psutil

from tests.conftest import NewCluster
from tests.support.hook import Answer, hook
from tests.support.push import inline, pushing
from tests.support.waiting import within

_MOST_GROWTH = 20 * 1024 * 1024


def bomb() -> bytes:
    """About a kilobyte that unpacks to 600 MB."""
    return gzip.compress(gzip.compress(bytes(600 * 1024 * 1024), 9), 9)


async def test_an_answer_that_would_unpack_to_600_mb_costs_the_worker_nothing(
    new_cluster: NewCluster,
) -> None:
    body = await asyncio.to_thread(bomb)
    assert len(body) < 2048
    packed = Answer(headers={"content-encoding": "gzip, gzip"}, body=body)
    async with new_cluster(options=pushing()) as cluster, hook() as receiver:
        await cluster.caller.send("echo warm up", configuration=inline(receiver.config()))
        await receiver.told("COMPLETED")
        process = psutil.Process(cluster.workers[0].pid)
        before = process.memory_info().rss
        receiver.script = lambda _: packed
        delivered = len(receiver.taken)
        await cluster.caller.send("echo x", configuration=inline(receiver.config()))

        async def watched() -> int:
            most = 0
            while len(receiver.taken) < delivered + 3:
                most = max(most, process.memory_info().rss)
                await asyncio.sleep(0.005)
            return most

        most = await within(60, watched())
        await cluster.caller.send("echo after it")
        most = max(most, process.memory_info().rss)
        assert most - before < _MOST_GROWTH, f"{most - before:,} bytes"
        assert receiver.states()[-3:] == ["SUBMITTED", "WORKING", "COMPLETED"]
