"""What a client holds of a task: a pure reducer of stream frames, and the view to compare by."""

import copy
from typing import Any

from a2a_temporal._server.resume import URI
from tests.support.frames import Frame
from tests.support.results import Json, text_of


def reduced(held: Json | None, frame: Frame) -> Json | None:
    """Return the Task a client holds after a frame; None before it has seen a Task."""
    if "task" in frame:
        return copy.deepcopy(frame["task"])
    if held is None:
        return None
    if "statusUpdate" in frame:
        return _with_status(held, frame["statusUpdate"])
    if "artifactUpdate" in frame:
        return _with_artifact(held, frame["artifactUpdate"])
    return held


def cursor_of(frame: Frame) -> str:
    """Return the cursor of a frame; empty when it has none."""
    (event,) = frame.values()
    place: Json = event.get("metadata", {}).get(URI, {})
    return str(place.get("cursor", ""))


def view(task: Json) -> Json:
    """Return what streams tell of a task: no stream brings the messages of clients."""
    said = [*task.get("history", []), task["status"].get("message")]
    metadata: dict[str, Any] = dict(task.get("metadata", {}))
    metadata.pop(URI, None)
    return {
        "state": task["status"]["state"],
        "timestamp": task["status"].get("timestamp"),
        "said": [each["messageId"] for each in said if each and each["role"] == "ROLE_AGENT"],
        "artifacts": {
            each["artifactId"]: [each.get("name", ""), text_of(each)]
            for each in task.get("artifacts", [])
        },
        "metadata": metadata,
    }


def messages_of_clients(task: Json) -> list[str]:
    """Return the ids of the client's messages in a task's history, in order."""
    return [each["messageId"] for each in task.get("history", []) if each["role"] == "ROLE_USER"]


def _with_status(held: Json, update: Json) -> Json:
    before = held["status"].get("message")
    history = [*held.get("history", []), *([before] if before else [])]
    metadata = {**held.get("metadata", {}), **update.get("metadata", {})}
    return {**held, "status": update["status"], "history": history, "metadata": metadata}


def _with_artifact(held: Json, update: Json) -> Json:
    artifact: Json = update["artifact"]
    artifacts: list[Json] = list(held.get("artifacts", []))
    for index, known in enumerate(artifacts):
        if known["artifactId"] == artifact["artifactId"]:
            if update.get("append"):
                parts = [*known.get("parts", []), *artifact.get("parts", [])]
                artifacts[index] = {**known, "parts": parts}
            else:
                artifacts[index] = artifact
            return {**held, "artifacts": artifacts}
    if update.get("append"):
        artifact = {**artifact, "name": "appended to nothing"}  # so that no comparison succeeds
    return {**held, "artifacts": [*artifacts, artifact]}
