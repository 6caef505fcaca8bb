"""A whole number reaches clients as the integer it was, though protobuf makes it a double."""

import json

import pytest
from a2a.types.a2a_pb2 import Part, StreamResponse, Task
from google.protobuf.json_format import ParseDict

from a2a_temporal import create_app
from a2a_temporal._http.bodies import with_whole_numbers
from a2a_temporal._log.protojson import to_json
from tests.support.calls import BINDINGS
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_handler

NUMBERS = [0, 1, -1, 1.5, 100000, 2**53 - 1, 1e300, 0.1]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_log_writes_a_whole_number_as_one(number: float) -> None:
    written = to_json(ParseDict({"data": {"n": [number]}}, Part()))["data"]["n"][0]
    assert (written, type(written)) == (number, type(number))


def test_what_a_double_cannot_hold_exactly_is_not_shown_as_exact() -> None:
    written = to_json(ParseDict({"data": 2**53 + 1}, Part()))["data"]
    assert isinstance(written, float)


def test_text_that_looks_like_a_number_stays_text() -> None:
    text = '{"a":"1.0","b":[1.0,-0.0,2.50],"c":{"d":1.0}}'
    assert with_whole_numbers(text) == '{"a":"1.0","b":[1,-0.0,2.5],"c":{"d":1}}'


@pytest.mark.parametrize("binding", BINDINGS)
async def test_answers_of_1_0_hold_whole_numbers(binding: str) -> None:
    handler = await stub_handler()
    handler.metadata = {"n": 3, "text": "3.0"}
    async with in_process(create_app(handler)) as caller:
        for method, params in (("GetTask", {"id": "t"}), ("SubscribeToTask", {"id": "done"})):
            answer = await caller.over(binding).raw(method, params)
            assert '"n":3,' in answer.text.replace(" ", ""), answer.text
            assert "3.0" in answer.text
        listed = await caller.over(binding).raw("ListTasks", {})
        assert '"n":3,' in listed.text.replace(" ", ""), listed.text


async def test_answers_of_0_3_hold_whole_numbers() -> None:
    handler = await stub_handler()
    handler.metadata = {"n": 3}
    async with in_process(create_app(handler)) as caller:
        for method in ("tasks/get", "tasks/resubscribe"):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "done"}}
            answer = await caller.http.post("/", json=body)
            assert '"n":3}' in answer.text.replace(" ", ""), answer.text
        rest = await caller.http.get("/v1/tasks/done")
        assert rest.json()["metadata"] == {"n": 3}
        assert "3.0" not in rest.text


def test_json_of_events_is_unchanged_otherwise() -> None:
    event = ParseDict({"task": {"id": "t", "metadata": {"n": 1.0, "m": 1.5}}}, StreamResponse())
    assert json.dumps(to_json(event.task)["metadata"]) == '{"m": 1.5, "n": 1}'
    assert isinstance(event.task, Task)
