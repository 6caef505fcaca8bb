"""A stream is a topic, not a queue: each subscriber gets everything, a stalled one harms nobody."""

import asyncio
import json
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster
from tests.support.frames import Frame, state_in
from tests.support.results import state


async def _stalled_subscriber(url: str, task_id: str) -> asyncio.StreamWriter:
    """Subscribe over a socket that nobody ever reads."""
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SubscribeToTask",
        "params": {"id": task_id},
    }
    body = json.dumps(request).encode()
    address = urlsplit(url)
    _, writer = await asyncio.open_connection(address.hostname, address.port, limit=1)
    writer.write(
        b"POST / HTTP/1.1\r\nHost: bench\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n"
        b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    )
    await writer.drain()
    return writer


async def test_subscribers_on_two_servers_get_the_same_events_of_every_turn(
    cluster: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        first, second = cluster.callers(binding=caller.binding)
        task = await caller.send_task("ask2 0.5; fan 20 20000")
        task_id = task["id"]
        stalled = await _stalled_subscriber(first.url, task_id)
        async with AsyncExitStack() as streams:
            subscribers = [
                await streams.enter_async_context(subscriber.subscribe(task_id))
                for subscriber in (first, second, second)
            ]
            for frames in subscribers:
                assert state((await frames.next())["task"]) == "INPUT_REQUIRED"

            own_turns: list[list[Frame]] = []
            for answer in ("one", "two"):
                async with caller.stream(answer, task_id=task_id) as own:
                    own_turns.append(await own.to_the_end(within=30))

            received = await all_of(*(frames.to_the_end(within=30) for frames in subscribers))
        stalled.close()

        assert state_in(own_turns[0][-1]) == "INPUT_REQUIRED"
        assert state_in(own_turns[1][-1]) == "COMPLETED"
        events = received[0][1:]
        for frames in received:
            assert frames[1:] == events
        own_events = [frame for turn in own_turns for frame in turn if "task" not in frame]
        assert own_events == events
        assert sum("artifactUpdate" in frame for frame in events) == 22

    await over_every_binding(cluster.caller, scenario)
