"""A malformed call is the client's error: it is answered as one, and leaves no traceback."""

import logging
from typing import Any

import pytest

from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app

_CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "t"}}


@pytest.mark.parametrize(
    ("call", "code", "answered_id"),
    [
        (_CALL | {"params": {"id": 5}}, -32602, 7),
        (_CALL | {"params": ["t"]}, -32602, 7),
        (_CALL | {"params": "t"}, -32602, 7),
        (_CALL | {"method": "SendMessage", "params": {"message": 1}}, -32602, 7),
        (_CALL | {"method": "tasks/gone"}, -32601, 7),
        (_CALL | {"method": 5}, -32600, 7),
        (_CALL | {"jsonrpc": "1.0"}, -32600, 7),
        (_CALL | {"id": True}, -32600, None),
        (_CALL | {"id": [1]}, -32600, None),
        ([_CALL], -32600, None),
        ("call", -32600, None),
        (5, -32600, None),
    ],
)
async def test_a_malformed_call(
    call: object, code: int, answered_id: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with in_process(await stub_app()) as caller:
        answer = await caller.http.post("/", json=call, headers={"A2A-Version": "1.0"})
    assert answer.status_code == 200
    assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, answered_id)
    assert [each.getMessage() for each in caplog.records if each.exc_info] == []
