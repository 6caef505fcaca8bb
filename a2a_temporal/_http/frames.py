"""Server-sent events of version 1.0, encoded once for all who read the same task.

Both bindings put the same JSON into a frame, JSON-RPC with its envelope around it.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from a2a.server.events import Event
from a2a.types.a2a_pb2 import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import A2AError

from a2a_temporal._aside import done
from a2a_temporal._http.streams import LINE_ENDS
from a2a_temporal._log.protojson import to_json
from a2a_temporal._reading.position import LogEvent
from a2a_temporal._server.resume import place_of

_CHUNK_BYTES = 64 * 1024
_KINDS: dict[type, str] = {
    Task: "task",
    Message: "message",
    TaskStatusUpdateEvent: "statusUpdate",
    TaskArtifactUpdateEvent: "artifactUpdate",
}

Envelope = tuple[bytes, bytes]
"""What stands before and behind the JSON of an event."""


def dumped(value: Any) -> bytes:
    """Return a value as the bytes of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def one_line(value: Any) -> bytes:
    """Return a value as JSON that no client takes for several lines."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (text if text.isascii() else text.translate(LINE_ENDS)).encode()


async def frames(
    first: list[LogEvent],
    events: AsyncGenerator[list[LogEvent]],
    envelope: Envelope,
    refusal: Callable[[A2AError], dict[str, Any]],
) -> AsyncIterator[bytes]:
    """Yield the bytes of a stream.

    Args:
        first: The events it begins with.
        events: Those that follow.
        envelope: What stands around the JSON of each.
        refusal: Makes the last event of a stream that fails.
    """
    try:
        async for chunk in _chunks(first, envelope):
            yield chunk
        first.clear()  # a stream may wait for days, and keeps nothing meanwhile
        async for several in events:
            async for chunk in _chunks(several, envelope):
                yield chunk
            several.clear()
    except A2AError as error:
        yield b"event: error\r\ndata: " + one_line(refusal(error)) + b"\r\n\r\n"
    finally:
        await events.aclose()


async def _chunks(events: list[LogEvent], envelope: Envelope) -> AsyncIterator[bytes]:
    before, behind = envelope
    chunk: list[bytes] = []
    size = 0
    for event in events:
        encoded = event.shared.get("1.0") or await _encoded(event)
        place = place_of(event)
        if place:
            chunk.append(b"id: " + place.encode() + b"\r\n")
        chunk += (before, encoded, behind)
        size += len(encoded)
        if size > _CHUNK_BYTES:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)


async def _encoded(event: LogEvent) -> bytes:
    encoded = await done(event.event.ByteSize(), _encode, event.event)
    event.shared["1.0"] = encoded
    return encoded


def _encode(event: Event) -> bytes:
    return one_line({_KINDS[type(event)]: to_json(event)})
