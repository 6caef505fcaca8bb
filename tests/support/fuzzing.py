"""Calls of every method, damaged somewhere: wrong types, huge, deep and absent values."""

import uuid
from typing import Any, Final, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.calls import send_params

INTERNALS: Final = (
    "Traceback",
    "/site-packages/",
    "a2a_temporal",
    "Exception",
    "temporalio",
    "pydantic",
    "object has no attribute",
    "codec can't",
    "<class ",
)
"""What no client may read in an error."""

_ODD: Final[list[Any]] = ["x" * 5000, "\0", "\ud800", 10**400, "9" * 400, [[[[[]]]]], {"a": {}}]
_PRIMITIVES: Final[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(_ODD)
)
ANYTHING: Final[Any] = st.recursive(
    _PRIMITIVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)

_IDS: Final = {"id": str(uuid.uuid4()), "tenant": ""}
_CONFIG: Final = {"taskId": "x", "id": "c"}
CALLS: Final[dict[str, dict[str, Any]]] = {
    "SendMessage": send_params("echo x", return_immediately=True, metadata={"a": [1]}),
    "SendStreamingMessage": send_params("echo x"),
    "GetTask": {**_IDS, "historyLength": 1},
    "ListTasks": {"pageSize": 2, "pageToken": "", "status": "TASK_STATE_WORKING"},
    "CancelTask": _IDS,
    "SubscribeToTask": _IDS,
    "CreateTaskPushNotificationConfig": {"taskId": "x", "url": "https://hook.invalid"},
    "GetTaskPushNotificationConfig": _CONFIG,
    "ListTaskPushNotificationConfigs": {"taskId": "x", "pageSize": 1},
    "DeleteTaskPushNotificationConfig": _CONFIG,
    "GetExtendedAgentCard": {},
}
"""Sound parameters of each method of 1.0."""


def _message_0_3(**fields: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": "echo x"}]
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": parts}
    return {"message": message, "configuration": {"blocking": False}, **fields}


OLD_CALLS: Final[dict[str, dict[str, Any]]] = {
    "message/send": _message_0_3(metadata={"a": 1}),
    "message/stream": _message_0_3(),
    "tasks/get": {"id": "x", "historyLength": 1},
    "tasks/cancel": {"id": "x"},
    "tasks/resubscribe": {"id": "x"},
    "tasks/pushNotificationConfig/set": {
        "taskId": "x",
        "pushNotificationConfig": {"url": "https://hook.invalid", "authentication": {}},
    },
    "tasks/pushNotificationConfig/get": {"id": "x", "pushNotificationConfigId": "c"},
    "tasks/pushNotificationConfig/list": {"id": "x"},
    "tasks/pushNotificationConfig/delete": {"id": "x", "pushNotificationConfigId": "c"},
    "agent/getAuthenticatedExtendedCard": {},
}
"""Sound parameters of each method of 0.3."""


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """Replace one value somewhere inside by anything."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        fields = cast("dict[str, Any]", value)
        name = draw(st.sampled_from(sorted(fields)))
        return {**fields, name: draw(damaged(fields[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        items = cast("list[Any]", value)
        return [draw(damaged(items[0])), *items[1:]]
    return draw(ANYTHING)


def examples(number: int) -> settings:
    """So many of them, without a time for each: the machine may be busy."""
    return settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
