"""Results and refusals as a client sees them, whatever the binding."""

import json
from datetime import datetime
from typing import Any, cast

from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP, InternalError

Json = dict[str, Any]

TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})


class CallError(Exception):
    """The server refused: the JSON-RPC code (for REST that of the same error), and every byte."""

    def __init__(
        self,
        *,
        code: int,
        message: str,
        status: int,
        body: str,
        in_stream: bool = False,
        temporary: bool = False,
    ) -> None:
        super().__init__(f"{code} (HTTP {status}{', in the stream' if in_stream else ''}): {body}")
        self.code = code
        self.message = message
        self.status = status
        self.body = body
        self.in_stream = in_stream
        self.temporary = temporary

    @classmethod
    def read(cls, answer: Json, status: int, *, in_stream: bool = False) -> "CallError":
        """Read an error answer of JSON-RPC or REST."""
        error: Json = answer.get("error", answer)
        reason = next((str(d["reason"]) for d in _details(error) if "reason" in d), "")
        temporary = reason == "SERVICE_UNAVAILABLE"
        kind = InternalError if temporary else A2A_REASON_TO_ERROR.get(reason)
        code = int(error.get("code", 0))
        if code >= 0:
            code = JSON_RPC_ERROR_CODE_MAP[kind] if kind else code
        return cls(
            code=code,
            message=str(error.get("message", "")),
            status=status,
            body=json.dumps(answer),
            in_stream=in_stream,
            temporary=temporary,
        )


def _details(error: Json) -> list[Json]:
    details: Any = error.get("details") or error.get("data") or []
    return cast("list[Json]", details if isinstance(details, list) else [details])


def state(task: Json) -> str:
    """Return a task's state without its prefix."""
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def is_terminal(name: str) -> bool:
    """Say whether nothing can follow a state."""
    return name in TERMINAL


def status_text(task: Json) -> str:
    """Return the text of the status message."""
    return text_of(task["status"].get("message", {}))


def text_of(body: Json) -> str:
    """Join the texts of the parts of an artifact or a message."""
    return "".join(part.get("text", "") for part in body.get("parts", []))


def artifact(task: Json, name: str) -> Json:
    """Return the one artifact of a name."""
    found = [a for a in task.get("artifacts", []) if a.get("name") == name]
    assert len(found) == 1, f"{len(found)} artifacts named {name!r} in {task}"
    return found[0]


def artifact_text(task: Json, name: str) -> str:
    """Return the text of the one artifact of a name."""
    return text_of(artifact(task, name))


def artifact_data(task: Json, name: str) -> Any:
    """Return the data of the one data part of the one artifact of a name."""
    (part,) = artifact(task, name)["parts"]
    return part["data"]


def timestamp(task: Json) -> float:
    """Return the time of the status, in seconds since 1970."""
    text = str(task["status"]["timestamp"])
    assert text.endswith("Z"), text
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def user_texts(task: Json) -> list[str]:
    """Return the texts of the client's messages in the task's history, in order."""
    return [text_of(m) for m in task.get("history", []) if m["role"] == "ROLE_USER"]
