"""What authors write, and what A2A parts hold."""

from collections.abc import Sequence
from typing import Any

from a2a.types.a2a_pb2 import Message, Part

from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._log.requests import canonical

Content = str | Part | Sequence[Part] | dict[str, Any]
"""What an artifact is made of: a text, a JSON object, or A2A parts."""


def parts_of(content: Content) -> list[Part]:
    """Return what an author gives as A2A parts."""
    if isinstance(content, str):
        return [Part(text=content)]
    if isinstance(content, Part):
        return [content]
    if isinstance(content, dict):
        return [from_json({"data": content}, Part())]
    return list(content)


def text_of(message: Message) -> str:
    """Return the text parts of a message, one below the other."""
    return "\n".join(part.text for part in message.parts if part.text)


def data_of(message: Message) -> Any:
    """Return the first data part of a message as plain JSON, keys sorted; ``None`` without one."""
    for part in message.parts:
        if part.HasField("data"):
            return canonical(to_json(part)["data"])
    return None
