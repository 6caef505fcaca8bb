"""Refuse files whose bytes are no base64.

Python's readers drop what does not belong to the alphabet: a broken file would become another one,
or an empty one.
"""

from typing import Any, cast

from a2a.utils.errors import InvalidParamsError
from starlette.requests import Request

from a2a_temporal._log.conversion import is_base64

# Where 1.0 and the protobuf of 0.3 have parts, and the bytes in them.
_PARTS = ("parts", "content")
_BYTES = ("raw", "fileWithBytes", "file_with_bytes")


def check_files(request: Request) -> None:
    """Check the parts of the message that a request sends, if it sends one.

    Raises:
        InvalidParamsError: One holds bytes that are no base64; the text says which.
    """
    message = _message(request)
    for name in _PARTS:
        parts: Any = message.get(name)
        for index, part in enumerate(cast("list[Any]", parts) if isinstance(parts, list) else []):
            for where, text in _bytes(part):
                if not is_base64(text):
                    raise InvalidParamsError(
                        f"message.{name}[{index}].{where} is no base64. Encode the bytes of the "
                        "file by RFC 4648, without line breaks."
                    )


def _bytes(part: Any) -> list[tuple[str, str]]:
    part = _object(part)
    found = [("", part), ("file.", _object(part.get("file")))]
    return [
        (prefix + name, holder[name])
        for prefix, holder in found
        for name in _BYTES
        if isinstance(holder.get(name), str)
    ]


def _message(request: Request) -> dict[str, Any]:
    body = _object(getattr(request.state, "rest_json", None))
    if not body:
        body = _object(_object(getattr(request.state, "json", None)).get("params"))
    return _object(body.get("message") or body.get("request"))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
