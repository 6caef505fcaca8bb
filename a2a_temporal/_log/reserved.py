"""Metadata that only the library's own words carry: it is taken out of what others publish.

Decisions and open requests count because the workflow emitted them. An agent, an activity or a
client that writes the same keys, or hands on what another agent wrote, must not be believed.
"""

from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

PREFIX = "https://a2a-temporal.dev/extensions/"
"""What the URIs of the library's extensions, which are keys of metadata, begin with."""


def strip_event(event: Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent) -> bool:
    """Take reserved keys out of an event of others, in place; say whether there were any."""
    match event:
        case TaskStatusUpdateEvent():
            return any([_strip(event), strip_message(event.status.message)])
        case TaskArtifactUpdateEvent():
            return any([_strip(event), _strip_artifact(event.artifact)])
        case Message():
            return strip_message(event)
        case Task():
            messages = [event.status.message, *event.history]
            found = [_strip(event), *map(strip_message, messages)]
            return any([*found, *map(_strip_artifact, event.artifacts)])


def is_reserved(message: Message) -> bool:
    """Say whether a message of the log has reserved metadata: then the workflow emitted it."""
    return any(key.startswith(PREFIX) for key in message.metadata.fields)


def strip_message(message: Message) -> bool:
    """Take reserved keys out of a message of others, in place; say whether there were any."""
    return any([_strip(message), *map(_strip, message.parts)])


def _strip_artifact(artifact: Artifact) -> bool:
    return any([_strip(artifact), *map(_strip, artifact.parts)])


def _strip(
    holder: Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent | Artifact | Part,
) -> bool:
    if not holder.HasField("metadata"):
        return False
    reserved = [key for key in holder.metadata.fields if key.startswith(PREFIX)]
    for key in reserved:
        del holder.metadata.fields[key]
    if reserved and not holder.metadata.fields:
        holder.ClearField("metadata")
    return bool(reserved)
