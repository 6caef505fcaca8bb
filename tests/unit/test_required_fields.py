"""What lacks a required field is refused as the SDK refuses it, and nothing else is."""

import random
from typing import Any, cast

import pytest
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.message import Message

from a2a_temporal._log.protojson import from_json
from a2a_temporal._server.validation import check_required

_REQUESTS: list[tuple[type[Message], dict[str, Any]]] = [
    (
        SendMessageRequest,
        {
            "message": {
                "messageId": "m",
                "role": "ROLE_USER",
                "parts": [{"text": "a"}, {"data": {"b": [1]}}],
                "metadata": {"c": 1},
            },
            "configuration": {
                "taskPushNotificationConfig": {
                    "url": "https://x",
                    "authentication": {"scheme": "Bearer"},
                }
            },
        },
    ),
    (TaskPushNotificationConfig, {"taskId": "t", "url": "u", "authentication": {"scheme": "s"}}),
    (GetTaskRequest, {"id": "t", "historyLength": 0}),
    (CancelTaskRequest, {"id": "t"}),
    (ListTasksRequest, {}),
]


def _without(value: Any, chance: random.Random) -> Any:
    """Leave out some members, at any depth."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: _without(v, chance) for k, v in fields.items() if chance.random() > 0.2}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_without(each, chance) for each in items if chance.random() > 0.2]
    return value


def _refusal(check: Any, request: Message) -> Any:
    try:
        check(request)
    except InvalidParamsError as error:
        return error.message, error.data
    return None


@pytest.mark.parametrize(("kind", "whole"), _REQUESTS, ids=[kind.__name__ for kind, _ in _REQUESTS])
def test_a_request_is_refused_as_by_the_sdk(kind: type[Message], whole: dict[str, Any]) -> None:
    chance = random.Random(7)
    seen: set[bool] = set()
    for _ in range(300):
        request = from_json(_without(whole, chance), kind())
        expected = _refusal(validate_proto_required_fields, request)
        assert _refusal(check_required, request) == expected
        seen.add(expected is None)
    assert _refusal(check_required, from_json(whole, kind())) is None
    assert seen == {True, False} or not whole
