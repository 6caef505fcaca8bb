"""A dropped stream is taken up again by SubscribeToTask: nothing lost, nothing twice."""

import asyncio
import json
import socket
import struct
from urllib.parse import urlsplit

from tests.support.calls import Caller, all_of, over_every_binding, refused_to_open, send_params
from tests.support.cluster import Cluster
from tests.support.frames import rebuilt_artifacts, state_in, terminal_frames
from tests.support.results import artifact, artifact_text, state
from tests.support.waiting import Bound, within

CHUNKS, SIZE, PAUSE = 10, 256, 0.3
COMMAND = f"chunks {CHUNKS} {SIZE} {PAUSE}"


async def _follow_to_the_end(caller: Caller, task_id: str) -> None:
    bound = Bound(CHUNKS * PAUSE + 10)
    async with caller.subscribe(task_id) as frames:
        snapshot = await frames.next(within=30)
        assert "task" in snapshot
        assert state(snapshot["task"]) == "WORKING"
        received = await frames.to_the_end(within=CHUNKS * PAUSE + 20)
    assert bound.left, f"it took longer than {bound}"
    assert state_in(received[-1]) == "COMPLETED"
    assert len(terminal_frames(received)) == 1
    done = await caller.get(task_id)
    held = rebuilt_artifacts(received)
    assert held == {artifact(done, "chunks")["artifactId"]: artifact_text(done, "chunks")}
    assert len(artifact_text(done, "chunks")) == CHUNKS * SIZE
    assert all("task" not in frame for frame in received[1:])


async def test_a_closed_stream_is_followed_to_the_end(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream(COMMAND) as frames:
            task_id = (await frames.next())["task"]["id"]
            for _ in range(2):
                await frames.until(lambda frame: "artifactUpdate" in frame)
        # On the server that the first stream was on, and on the other one.
        here, there = cluster.callers(binding=caller.binding)
        await all_of(_follow_to_the_end(here, task_id), _follow_to_the_end(there, task_id))

        await refused_to_open(caller.subscribe(task_id), code=-32004, status=400)

    await over_every_binding(cluster.caller, scenario)


async def test_a_reset_connection_is_followed_to_the_end(cluster: Cluster) -> None:
    task_id = await _stream_until_reset(cluster.caller.url)
    await _follow_to_the_end(cluster.caller, task_id)


async def _stream_until_reset(url: str) -> str:
    """Open a stream by hand, read two chunks, and close with RST instead of FIN."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "SendStreamingMessage",
            "params": send_params(COMMAND),
        }
    ).encode()
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(
        b"POST / HTTP/1.1\r\nHost: bench\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n"
        b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    )
    task_id, chunks = "", 0
    while chunks < 2:
        line = await within(15, reader.readline())
        assert line, "the stream ended early"
        if line.startswith(b"data:"):
            frame = json.loads(line[5:])["result"]
            task_id = frame.get("task", {}).get("id", task_id)
            chunks += "artifactUpdate" in frame
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return task_id
