"""Refuse enum names that do not exist.

The SDK parses requests with unknown fields ignored, and protobuf then reads an unknown enum name as
0: a filter by a misspelled state would list everything.
"""

from typing import Any, cast

from a2a.types import TaskState
from a2a.utils.errors import InvalidParamsError
from starlette.requests import Request


def check_status_filter(request: Request) -> None:
    """Check the one enum that a request carries and whose 0 has a meaning: the status to list.

    Raises:
        InvalidParamsError: It names no task state.
    """
    status = _status(request)
    known = [name for name, _ in TaskState.items()]
    if isinstance(status, str) and not status.isdigit() and status not in known:
        raise InvalidParamsError(
            f"status {status[:50]!r} is no task state. Use one of: {', '.join(known[1:])}"
        )


def _status(request: Request) -> object:
    if request.method == "GET":
        return request.query_params.get("status")
    body = getattr(request.state, "json", None)
    if not isinstance(body, dict):
        return None
    call = cast("dict[str, Any]", body)
    params = call.get("params")
    if call.get("method") != "ListTasks" or not isinstance(params, dict):
        return None
    return cast("dict[str, Any]", params).get("status")
