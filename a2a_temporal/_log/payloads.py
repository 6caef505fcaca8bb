"""What a payload of a task's log holds, as plain JSON: the same for workers and readers."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue
from temporalio.converter import DataConverter, PayloadConverter, WorkflowSerializationContext

from a2a_temporal._aside import done, give_way

_STANDARD: Final = frozenset(
    {b"json/plain", b"json/protobuf", b"binary/protobuf", b"binary/plain", b"binary/null"}
)
"""The encodings that every SDK of Temporal reads without a codec."""


class LogUnreadableError(RuntimeError):
    """The log cannot be read here: a payload could not be decoded. Trying again may help.

    Its text, or that of its cause, says what is missing. To skip such a payload would make this
    process disagree with those that can read it.
    """


def plain_json(payload: Payload, converter: PayloadConverter) -> Any:
    """Return what a payload holds; ``None`` where it claims a standard encoding and is malformed.

    Raises:
        LogUnreadableError: The encoding is not known here, so a codec of others has written it.
    """
    try:
        return converter.from_payload(payload)
    except Exception as error:  # whatever a converter raises
        if payload.metadata.get("encoding") in _STANDARD:
            return None
        raise LogUnreadableError(_unknown(payload)) from error


async def decoded(
    payloads: Sequence[Payload], converter: DataConverter, parse: Callable[[Any], Any] | None = None
) -> Any:
    """Decode one payload to plain JSON; a payload that is malformed reads as ``None``.

    Who decodes many, one after the other, gives way to others now and then.

    Args:
        payloads: One payload, or none.
        converter: The converter of the workflow the payload belongs to (:func:`of_workflow`).
        parse: Makes of the JSON what is returned.

    Raises:
        LogUnreadableError: What the payload holds is not known: the payload codec or the external
            storage failed, or no codec here knows its encoding.
    """
    await give_way()
    if not payloads:
        return parse(None) if parse else None
    try:
        # One more is asked for than there may be, to see whether there are more; what is not there
        # the SDK's converter makes up.
        raw: list[RawValue] = await converter.decode(payloads, [RawValue, RawValue])
    except Exception as error:  # whatever a codec raises
        raise LogUnreadableError("A payload of the task log could not be decoded") from error
    payloads_made: list[Any] = [each.payload for each in raw]
    there = [each for each in payloads_made if each is not None]
    if len(there) != 1:
        raise LogUnreadableError("The payload codec has not made one payload out of one")
    return await done(len(there[0].data), _parsed, there[0], converter.payload_converter, parse)


def _parsed(
    payload: Payload, converter: PayloadConverter, parse: Callable[[Any], Any] | None
) -> Any:
    value = plain_json(payload, converter)
    return parse(value) if parse else value


def of_workflow(converter: DataConverter, namespace: str, workflow_id: str) -> DataConverter:
    """Return the converter for the payloads of one workflow, whose codec may be bound to it."""
    return converter.with_context(
        WorkflowSerializationContext(namespace=namespace, workflow_id=workflow_id)
    )


def _unknown(payload: Payload) -> str:
    encoding = payload.metadata.get("encoding", b"").decode(errors="replace")
    key = payload.metadata.get("encryption-key-id", b"").decode(errors="replace")
    by = f" with key {key!r}" if key else ""
    return (
        f"A payload of the task log has the encoding {encoding!r}{by}, which nothing in this "
        "process decodes. Give it the encryption keys or the payload codec of the process that "
        "wrote it"
    )
