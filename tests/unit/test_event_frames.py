"""What a task says is encoded once for all readers, and sent together where it comes together."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from a2a.types import Artifact, Part, TaskArtifactUpdateEvent
from a2a.utils.errors import A2AError, InternalError

from a2a_temporal._http.frames import Envelope, frames
from a2a_temporal._reading.position import LogEvent, LogPosition

_REST: Envelope = (b"data: ", b"\r\n\r\n")
_RPC: Envelope = (b'data: {"id":1,"result":', b"}\r\n\r\n")


def _chunks(count: int, *, text: str = "word") -> list[LogEvent]:
    artifact = Artifact(artifact_id="a", parts=[Part(text=text)])
    return [
        LogEvent(LogPosition("run", 7, index), TaskArtifactUpdateEvent(artifact=artifact), 1)
        for index in range(count)
    ]


async def _then(events: Sequence[list[LogEvent] | A2AError]) -> AsyncGenerator[list[LogEvent]]:
    for each in events:
        if isinstance(each, A2AError):
            raise each
        yield each


def _refusal(error: A2AError) -> dict[str, Any]:
    return {"error": {"message": error.message}}


async def _sent(
    *events: list[LogEvent] | A2AError, first: list[LogEvent], envelope: Envelope = _REST
) -> list[bytes]:
    return [chunk async for chunk in frames([*first], _then(events), envelope, _refusal)]


def _texts(chunk: bytes) -> list[str]:
    frames = chunk.decode().split("\r\n\r\n")[:-1]
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    return [event["artifactUpdate"]["artifact"]["parts"][0]["text"] for event in events]


async def test_what_is_there_at_the_same_time_is_sent_together() -> None:
    one, many = await _sent(_chunks(50), first=_chunks(1))
    assert (_texts(one), _texts(many)) == (["word"], ["word"] * 50)


async def test_what_is_sent_together_stays_small() -> None:
    sent = await _sent(first=_chunks(100, text="x" * 10_000))
    assert [text for chunk in sent for text in _texts(chunk)] == ["x" * 10_000] * 100
    assert max(map(len, sent)) < 100_000


async def test_an_event_is_encoded_once_for_all_readers_and_both_bindings() -> None:
    events = _chunks(1)
    (rest,) = await _sent(first=events)
    made = dict(events[0].shared)
    (rpc,) = await _sent(first=events, envelope=_RPC)
    assert all(events[0].shared[name] is value for name, value in made.items())
    (value,) = made.values()
    assert value in rest
    assert value in rpc


async def test_no_client_takes_an_event_for_several_lines() -> None:
    (sent,) = await _sent(first=_chunks(1, text="a\u2028b\x85c\r\nd"))
    assert len(sent.decode().splitlines()) == 2
    assert _texts(sent) == ["a\u2028b\x85c\r\nd"]


async def test_a_stream_that_fails_says_so_at_its_end() -> None:
    *_, last = await _sent(InternalError(message="no\u2028more"), first=_chunks(1))
    assert last.startswith(b"event: error\r\ndata: ")
    assert json.loads(last.decode().split("data: ")[1]) == {"error": {"message": "no\u2028more"}}
