"""The card that is served: what it says of versions and of the URLs behind a proxy."""

import pytest
from a2a.types import AgentCard, AgentInterface
from starlette.datastructures import Headers

from a2a_temporal._http.cards import as_reached, with_v0_3
from tests.support.http_app import in_process
from tests.support.results import Json
from tests.support.stub_handler import stub_app

PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


def _card(*interfaces: tuple[str, str, str]) -> AgentCard:
    return AgentCard(
        name="x",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for url, binding, version in interfaces
        ],
    )


def _urls(card: AgentCard) -> list[str]:
    return [each.url for each in card.supported_interfaces]


CARD = _card(
    ("http://inner:8000/", "JSONRPC", "1.0"),
    ("http://inner:8000/api", "HTTP+JSON", "1.0"),
    ("inner:9000", "GRPC", "1.0"),
)


@pytest.mark.parametrize(
    ("headers", "urls"),
    [
        (
            {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "agents.example.com"},
            ["https://agents.example.com/", "https://agents.example.com/api"],
        ),
        (
            {
                "X-Forwarded-Proto": "https, http",
                "X-Forwarded-Host": "a.example.com, inner",
                "X-Forwarded-Prefix": "/reports/",
            },
            ["https://a.example.com/reports/", "https://a.example.com/reports/api"],
        ),
        (
            {"X-Forwarded-Host": "a.example.com", "X-Forwarded-Port": "8443"},
            ["http://a.example.com:8443/", "http://a.example.com:8443/api"],
        ),
        (
            {"X-Forwarded-Host": "[2001:db8::1]:80", "X-Forwarded-Prefix": "//evil/../x y"},
            ["http://[2001:db8::1]:80/", "http://[2001:db8::1]:80/api"],
        ),
    ],
)
def test_the_urls_are_those_the_proxy_was_asked_for(
    headers: dict[str, str], urls: list[str]
) -> None:
    assert _urls(as_reached(CARD, Headers(headers))) == [*urls, "inner:9000"]


def test_an_endpoint_at_a_bare_host_ends_in_a_slash_under_a_prefix() -> None:
    card = _card(("http://inner", "JSONRPC", "1.0"), ("http://inner", "HTTP+JSON", "1.0"))
    headers = Headers({"X-Forwarded-Host": "a.example.com", "X-Forwarded-Prefix": "/x"})
    assert _urls(as_reached(card, headers)) == ["http://a.example.com/x/", "http://a.example.com/x"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Host": "evil/path"},
        {"X-Forwarded-Host": "user@evil"},
        {"X-Forwarded-Host": "a.example.com", "X-Forwarded-Proto": "javascript"},
    ],
)
def test_headers_that_make_no_sense_change_nothing(headers: dict[str, str]) -> None:
    assert as_reached(CARD, Headers(headers)) == CARD


def test_a_client_of_0_3_finds_the_interfaces_that_serve_it() -> None:
    declared = with_v0_3(CARD)
    assert _urls(declared) == [*_urls(CARD), "http://inner:8000/", "http://inner:8000/api"]
    assert with_v0_3(declared) == declared


async def test_a_signed_card_is_shown_as_it_was_signed() -> None:
    signed = AgentCard()
    signed.CopyFrom(CARD)
    signed.signatures.add(protected="e30", signature="c2ln")
    headers = Headers({"X-Forwarded-Host": "a.example.com"})
    assert with_v0_3(signed) == signed
    assert as_reached(signed, headers) == signed


@pytest.mark.parametrize("path", PATHS)
async def test_forwarded_headers_count_only_where_they_are_trusted(path: str) -> None:
    headers = {"X-Forwarded-Host": "evil.example.com"}

    async def served(*, trust_forwarded: bool = False) -> tuple[Json, str]:
        app = await stub_app(trust_forwarded=trust_forwarded)
        async with in_process(app) as caller:
            response = await caller.http.get(path, headers=headers)
        return response.json(), response.headers.get("vary", "")

    card, vary = await served()
    assert "evil" not in str(card)
    assert not vary
    card, vary = await served(trust_forwarded=True)
    assert {each["url"] for each in card["supportedInterfaces"]} == {"http://evil.example.com"}
    assert "X-Forwarded-Host" in vary


async def test_both_paths_serve_one_card_with_one_tag_and_the_fields_of_0_3() -> None:
    async with in_process(await stub_app()) as caller:
        new, old = [await caller.http.get(path) for path in PATHS]
        assert new.json() == old.json()
        assert new.headers["etag"] == old.headers["etag"]
        assert new.json()["url"]
        assert new.json()["protocolVersion"] == "0.3"
        head = await caller.http.head(PATHS[0])
        assert head.status_code == 200
    async with in_process(await stub_app(enable_v0_3=False)) as caller:
        assert (await caller.http.get(PATHS[0])).headers["etag"]
