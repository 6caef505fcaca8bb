"""Who is believed, and from where."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from a2a_temporal.inbox import Anonymous, BearerTokens, Person, ProxyHeaders, SignInError

PEOPLE = {"ann-secret-token": Person("ann", ("finance",))}


def request_from(
    address: str | None = "10.0.0.1",
    *,
    host: str = "inbox.example",
    session: dict[str, Any] | None = None,
    headers: list[tuple[str, str]] | None = None,
) -> Request:
    pairs = [("host", host), *(headers or [])]
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": "/",
            "query_string": b"",
            "server": ("127.0.0.1", 80),
            "client": (address, 5000) if address else None,
            "headers": [(name.lower().encode(), value.encode()) for name, value in pairs],
            "session": session if session is not None else {},
        }
    )


async def test_a_known_token_in_the_header_is_a_verified_person() -> None:
    request = request_from(headers=[("Authorization", "Bearer ann-secret-token")])
    assert await BearerTokens(PEOPLE).authenticate(request) == Person(
        "ann", ("finance",), verified=True
    )


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer other", "Basic ann-secret-token", "ann-secret-token"]
)
async def test_any_other_header_is_nobody(header: str) -> None:
    request = request_from(headers=[("Authorization", header)])
    assert await BearerTokens(PEOPLE).authenticate(request) is None


async def test_a_wrong_header_is_not_mended_by_a_session() -> None:
    session: dict[str, Any] = {}
    tokens = BearerTokens(PEOPLE)
    await tokens.sign_in(request_from(session=session), {"token": "ann-secret-token"})
    assert await tokens.authenticate(request_from(session=session)) is not None
    wrong = request_from(session=session, headers=[("Authorization", "Bearer wrong-token")])
    assert await tokens.authenticate(wrong) is None


async def test_a_session_ends_when_its_token_is_taken_away() -> None:
    session: dict[str, Any] = {}
    await BearerTokens(PEOPLE).sign_in(request_from(session=session), {"token": "ann-secret-token"})
    assert "ann-secret-token" not in json.dumps(session)
    assert await BearerTokens({}).authenticate(request_from(session=session)) is None


async def test_an_unknown_token_does_not_sign_in() -> None:
    with pytest.raises(SignInError):
        await BearerTokens(PEOPLE).sign_in(request_from(), {"token": "x"})


@pytest.mark.parametrize("text", ["", "[]", '{"long-enough": "ann"}', '{"short": {"name": "ann"}}'])
def test_a_file_that_holds_no_tokens_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"tokens\.json"):
        BearerTokens.from_file(path)


async def test_a_file_names_people_groups_and_tenant(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    ann = {"name": "ann", "groups": ["finance"], "tenant": "acme"}
    path.write_text(json.dumps({"ann-secret-token": ann}))
    request = request_from(headers=[("Authorization", "Bearer ann-secret-token")])
    assert await BearerTokens.from_file(path).authenticate(request) == Person(
        "ann", ("finance",), verified=True, tenant="acme"
    )


@pytest.mark.parametrize(
    "person",
    [
        {"name": ""},
        {"name": " "},
        {"name": None},
        {"name": 7},
        {"name": "ann", "groups": [""]},
        {"name": "ann", "groups": [None]},
        {"name": "ann", "tenant": 5},
        {"name": "ann", "operator": "no"},
    ],
)
def test_a_token_for_nobody_or_for_something_unclear_is_refused(
    person: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"ann-secret-token": person}))
    with pytest.raises(ValueError, match=r"tokens\.json"):
        BearerTokens.from_file(path)


def test_a_token_without_a_name_is_refused_in_code_as_well() -> None:
    with pytest.raises(ValueError, match="no name"):
        BearerTokens({"ann-secret-token": Person(" ")})


USER = [("X-Forwarded-User", "ann"), ("X-Forwarded-Groups", "finance, board,")]


async def test_headers_of_the_trusted_proxy_are_believed() -> None:
    proxy = ProxyHeaders(["10.0.0.0/24", "::1"])
    found = await proxy.authenticate(request_from("10.0.0.7", headers=USER))
    assert found == Person("ann", ("finance", "board"), verified=True)
    assert await proxy.authenticate(request_from("::ffff:10.0.0.7", headers=USER)) == found


@pytest.mark.parametrize("address", ["10.0.1.7", "192.168.0.1", "testclient", "", None])
async def test_the_same_headers_from_elsewhere_are_not(address: str | None) -> None:
    proxy = ProxyHeaders(["10.0.0.0/24"])
    assert await proxy.authenticate(request_from(address, headers=USER)) is None


@pytest.mark.parametrize(
    "headers", [[], [("X-Forwarded-User", " ")], [*USER, ("X-Forwarded-User", "root")]]
)
async def test_no_name_or_two_names_is_nobody(headers: list[tuple[str, str]]) -> None:
    assert await ProxyHeaders(["10.0.0.1"]).authenticate(request_from(headers=headers)) is None


def test_a_proxy_without_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="addresses"):
        ProxyHeaders([])


async def test_at_this_machine_a_claimed_name_is_taken_but_not_verified() -> None:
    session: dict[str, Any] = {}
    anybody = Anonymous()
    here = request_from("127.0.0.1", host="localhost:8080", session=session)
    assert await anybody.authenticate(here) is None
    await anybody.sign_in(here, {"name": " ann ", "groups": "finance, "})
    found = await anybody.authenticate(here)
    assert found == Person("ann", ("finance",), operator=True)
    assert found is not None
    assert not found.verified


@pytest.mark.parametrize(
    ("address", "host", "headers"),
    [
        ("10.0.0.1", "localhost", []),
        ("127.0.0.1", "evil.example", []),  # a foreign name that resolves to this machine
        ("127.0.0.1", "127.evil.example", []),
        ("127.0.0.1", "localhost", [("X-Forwarded-For", "10.0.0.1")]),
        ("127.0.0.1", "localhost", [("X-Forwarded-Proto", "https")]),
        ("127.0.0.1", "localhost", [("Forwarded", "for=10.0.0.1")]),
        ("127.0.0.1", "localhost", [("X-Real-IP", "10.0.0.1")]),
        ("127.0.0.1", "localhost", [("Via", "1.1 proxy")]),
        ("127.0.0.1", "localhost", [("CF-Connecting-IP", "203.0.113.9")]),
        ("127.0.0.1", "localhost", [("True-Client-IP", "203.0.113.9")]),
        ("127.0.0.1", "localhost", [("X-Original-Host", "inbox.example")]),
        (None, "localhost", []),
    ],
)
async def test_nobody_else_gets_in_without_signing_in(
    address: str | None, host: str, headers: list[tuple[str, str]]
) -> None:
    request = request_from(address, host=host, headers=headers)
    assert await Anonymous("ann").authenticate(request) is None
    with pytest.raises(SignInError):
        await Anonymous().sign_in(request, {"name": "ann"})


async def test_a_proxy_that_says_nothing_is_known_by_its_old_http() -> None:
    request = request_from("127.0.0.1", host="localhost")
    assert await Anonymous("ann").authenticate(request) is not None
    request.scope["http_version"] = "1.0"
    assert await Anonymous("ann").authenticate(request) is None
