"""How many values a body holds is known before it is parsed."""

import json
import time
from typing import Any, cast

import pytest
from a2a.types import SendMessageRequest
from a2a.utils.errors import InvalidParamsError
from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal import HandlerOptions
from a2a_temporal._http.bodies import too_many_values
from a2a_temporal._server.validation import check_values
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app

_TEXTS = st.text(st.sampled_from('ab,[]{}"\\:\n é'), max_size=12)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXTS, inner, max_size=5),
    max_leaves=30,
)
MOST = HandlerOptions().maximum_message_values


def _count(value: Any) -> int:
    """Count the value and all within it; an empty list or object counts as two."""
    if isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).values())
    elif isinstance(value, list):
        items = cast("list[Any]", value)
    else:
        return 1
    return 1 + (sum(map(_count, items)) if items else 1)


@given(_VALUES, st.booleans())
def test_the_values_are_counted_and_what_strings_hold_is_not(value: Any, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert too_many_values(body, _count(value)) is None
    assert too_many_values(body, _count(value) - 1) is not None


def _message(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}}


_HEAVY: list[list[dict[str, Any]]] = [
    [{"text": "a"}] * MOST,
    [{"data": [1] * MOST}],
    [{"data": {str(number): 1 for number in range(MOST)}}],
    [{"text": "a", "metadata": {"a": [{}] * MOST}}],
    [{"text": "a"}, {"data": [[]] * MOST}],
]


@pytest.mark.parametrize("parts", _HEAVY)
async def test_a_request_of_too_many_values_is_refused_by_both_bindings(
    parts: list[dict[str, Any]],
) -> None:
    params = _message(parts)
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    old = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    async with in_process(await stub_app()) as caller:
        rest = await caller.http.post("/message:send", json=params, headers={"A2A-Version": "1.0"})
        assert (rest.status_code, rest.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
        for body in (call, old):
            answer = (await caller.http.post("/", json=body)).json()
            assert (answer["id"], answer["error"]["code"]) == (1, -32602)
            assert "HandlerOptions.maximum_message_values" in answer["error"]["message"]


async def test_a_text_full_of_commas_is_one_value() -> None:
    async with in_process(await stub_app()) as caller:
        answer = await caller.http.post(
            "/message:send",
            json=_message([{"text": '[{",\\"' * MOST}]),
            headers={"A2A-Version": "1.0"},
        )
        assert answer.status_code == 200


async def test_a_rest_body_that_names_a_member_twice_is_refused() -> None:
    body = b'{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [], "parts": []}}'
    async with in_process(await stub_app()) as caller:
        answer = await caller.http.post(
            "/message:send", content=body, headers={"A2A-Version": "1.0"}
        )
        assert answer.status_code == 400


def test_a_long_list_is_counted_by_its_length() -> None:
    request = SendMessageRequest()
    request.message.metadata.update({"list": [1] * 1_000_000})
    began = time.thread_time()
    with pytest.raises(InvalidParamsError):
        check_values(request, MOST)
    assert time.thread_time() - began < 0.1
