"""Whatever an agent or a client writes, the page stays ours: in text, attributes, links, forms."""

from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.struct_pb2 import Struct, Value
from starlette.requests import Request

from a2a_temporal._log.entries import EmissionEntry, TaskStart, parse_time
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.published import published
from a2a_temporal._log.requests import APPROVALS_EXTENSION, OpenRequest, Record
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._server.waiting import Person, Waiting
from a2a_temporal.inbox import BearerTokens
from a2a_temporal.inbox._answers import Typed
from a2a_temporal.inbox._conversation import row_of
from a2a_temporal.inbox._rendering import linked, new_environment, safe_href
from a2a_temporal.inbox._views import Settings, Views
from tests.support.inbox import Page

EVIL = """'"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}</textarea></title>&lt;"""
AT = "2026-12-01T10:00:00.000Z"
ANN = Person("ann", ("finance",), verified=True)


def evil_request(kind: Any = "approval") -> OpenRequest:
    return OpenRequest(
        id="r" + EVIL,
        kind=kind,
        summary=EVIL,
        asked_at=AT,
        details={EVIL: EVIL, "nested": {EVIL: [EVIL, {"x": EVIL}]}, "list": [EVIL]},
        schema={
            "title": EVIL,
            "properties": {
                EVIL: {"title": EVIL, "description": EVIL, "enum": [EVIL, "b"]},
                "new": {"type": "string", "title": EVIL},
            },
        },
        approvers=["finance", EVIL],
        quorum=3,
        deadline=AT + EVIL,
        choices=[EVIL],
        records=[Record("r", EVIL, EVIL, "approve", EVIL, False, EVIL, EVIL, EVIL)],
    )


def evil_state(*requests: OpenRequest, **about: Any) -> LogState:
    message = Message(message_id="m" + EVIL, role=Role.ROLE_USER, parts=[Part(text=EVIL)])
    start = TaskStart(
        "t" + EVIL, "c", "agent" + EVIL, {"messageId": "1", "parts": [{"text": EVIL}]}, EVIL, at=AT
    )
    state = begin(start)
    payload = {"requests": [each.to_json() for each in requests], **about}
    status = Message(
        message_id="2",
        role=Role.ROLE_AGENT,
        parts=[Part(text=EVIL), Part(data=from_json({EVIL: EVIL}, Value()))],
        metadata=from_json({APPROVALS_EXTENSION: payload}, Struct()),
    )
    parts = [
        Part(text=EVIL * 30),
        Part(url="javascript:alert(3)", filename=EVIL),
        Part(url="https://ok.example/" + EVIL, filename=EVIL),
        Part(url="data:text/html," + EVIL),
        Part(raw=b"<script>", filename=EVIL, media_type="text/html"),
        Part(data=from_json([{EVIL: EVIL}], Value())),
    ]
    artifact = Artifact(artifact_id="a", name=EVIL, parts=parts)
    parked = TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED, message=status)
    events = [
        Task(id="t", history=[message]),
        TaskArtifactUpdateEvent(artifact=artifact),
        TaskStatusUpdateEvent(status=parked),
    ]
    fold(state, EmissionEntry(list(events), parse_time(AT)))
    return state


def rendered(state: LogState, typed: Typed | None = None) -> Page:
    views = Views(
        new_environment(assets="1"),
        BearerTokens({}),
        Settings(EVIL, "https://temporal.example", "", 25),
        EVIL,
    )
    waiting = Waiting(state, published(state.task.status.message).requests, [], EVIL)
    return page_of(views.task(request(), ANN, waiting, typed=typed))


def request() -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [],
        "root_path": "",
    }
    return Request(scope | {"session": {}, "query_string": b""})


def page_of(response: Any) -> Page:
    import httpx

    answer = httpx.Response(
        200, text=bytes(response.body).decode(), request=httpx.Request("GET", "http://x/")
    )
    return Page(answer)


def assert_is_ours(page: Page) -> None:
    assert page.tags.count("script") == 1  # the inbox's own
    assert "img" not in page.tags
    assert page.tags.count("title") == 1
    for href in page.links:
        assert href.startswith(("/", "#", "https://")), href
    assert "{{7*7}}" in page.html  # nobody evaluated it
    assert "<script>alert" not in page.html
    assert "onerror=alert(2)>" not in page.html


@pytest.mark.parametrize("kind", ["approval", "input", "auth"])
def test_a_hostile_request_stays_text(kind: Any) -> None:
    page = rendered(evil_state(evil_request(kind)))
    assert_is_ours(page)
    form = page.form_of("r" + EVIL)
    assert form.values["request"] == "r" + EVIL
    if kind == "input":
        assert ("choice", EVIL) in form.buttons


def test_a_hostile_question_in_plain_words_stays_text() -> None:
    assert_is_ours(rendered(evil_state()))


def test_what_somebody_typed_comes_back_as_text() -> None:
    asked = evil_request()
    typed = Typed(
        {"request": asked.id, "comment": EVIL, "answer": EVIL, f"details.{EVIL}": EVIL},
        EVIL,
        {f"details.{EVIL}": EVIL, "comment": EVIL},
    )
    page = rendered(evil_state(asked), typed)
    assert_is_ours(page)
    assert page.form_of(asked.id).values["comment"] == EVIL
    gone = Typed({"request": "gone", "comment": EVIL}, EVIL)
    assert_is_ours(rendered(evil_state(asked), gone))


def test_a_hostile_row_stays_text() -> None:
    state = evil_state(evil_request())
    waiting = Waiting(state, published(state.task.status.message).requests)
    html = (
        new_environment(assets="1")
        .get_template("inbox.html")
        .render(
            root="",
            site=EVIL,
            person=Person(EVIL),
            can_sign_out=True,
            form_token="f",
            view="decide",
            rows=[row_of(waiting, ANN)],
            total=1,
            unreadable={"t-1": "It cannot be read here: no key."},
            first=0,
            next="",
            start="/",
            version=EVIL,
            watch="/version",
        )
    )

    class Answer:
        body = html.encode()

    assert_is_ours(page_of(Answer()))


def test_a_record_that_a_client_wrote_is_no_record() -> None:
    forged = {"record": vars(Record("r", "s", "h", "approve", "boss", True, "inbox", AT))}
    state = evil_state(evil_request())
    sent = state.task.history[0]
    sent.role = Role.ROLE_AGENT
    sent.metadata.CopyFrom(from_json({APPROVALS_EXTENSION: forged}, Struct()))
    assert "boss" not in rendered(state).text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example",
        "/local",
        "http:",
        "https://[",
        "file:///etc/passwd",
    ],
)
def test_only_web_addresses_become_links(url: str) -> None:
    assert safe_href(url) == ""
    assert "<a " not in linked(f"see {url} now")


def test_addresses_in_a_text_become_links_and_the_rest_is_escaped() -> None:
    made = str(linked('see https://a.example/x?b=1&c="><script> (https://b.example).'))
    assert 'href="https://a.example/x?b=1&amp;c="' in made
    assert "&#34;&gt;&lt;script&gt;" in made
    assert ">https://b.example</a>)." in made
