"""Which path leads where; the REST routes' `/{tenant}` must not swallow the others."""

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from a2a_temporal import create_app
from tests.support.calls import send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app, stub_handler
from tests.support.waiting import within

VERSION = {"A2A-Version": "1.0"}


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/.well-known/agent.json"])
async def test_the_card_is_served_at_both_well_known_paths_with_a_validator(path: str) -> None:
    async with in_process(await stub_app(cache_control="public, max-age=5")) as caller:
        card = await caller.http.get(path)
        again = await caller.http.get(path, headers={"If-None-Match": card.headers["etag"]})
    assert card.json()["name"] == "stub"
    assert card.headers["cache-control"] == "public, max-age=5"
    assert again.status_code == 304


async def test_rest_calls_take_the_tenant_from_the_path() -> None:
    handler = await stub_handler()
    async with in_process(create_app(handler)) as caller:
        await caller.http.get("/tasks/t", headers=VERSION)
        await caller.http.get("/t1/tasks/t", headers=VERSION)
    assert [context.tenant for context in handler.contexts] == ["", "t1"]


async def test_a_rest_prefix_stands_before_the_tenant_as_the_official_client_calls_it() -> None:
    handler = await stub_handler()
    async with in_process(create_app(handler, rest_prefix="/api", rpc_path="/rpc")) as caller:
        plain = await caller.http.get("/api/tasks/t", headers=VERSION)
        tenant = await caller.http.get("/api/t1/tasks/t", headers=VERSION)
        outside = await caller.http.get("/tasks/t", headers=VERSION)
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params("x")}
        rpc = await caller.http.post("/rpc", json=body, headers=VERSION)
    assert (plain.status_code, tenant.status_code, outside.status_code) == (200, 200, 404)
    assert [context.tenant for context in handler.contexts] == ["", "t1", ""]
    assert "result" in rpc.json()


async def test_own_routes_come_before_the_tenants() -> None:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"page {request.path_params['name']}")

    app = await stub_app(routes=[Route("/inbox/tasks/{name}", page)])
    async with in_process(app) as caller:
        response = await caller.http.get("/inbox/tasks/one")
    assert response.text == "page one"


async def test_the_process_is_alive_but_not_ready_while_temporal_is_down() -> None:
    async with in_process(await stub_app()) as caller:
        alive = await caller.http.get("/healthz")
        ready = await caller.http.get("/readyz")
    assert (alive.status_code, ready.status_code) == (200, 503)
    assert ready.text == "not ready"


async def test_the_lifespan_closes_the_handler_and_survives_a_temporal_that_is_down() -> None:
    handler = await stub_handler()
    app = create_app(handler)
    lifespan = app.router.lifespan_context(app)
    await within(10, lifespan.__aenter__(), what="the start without Temporal")
    assert handler.closed == 0
    await within(5, lifespan.__aexit__(None, None, None), what="the end")
    assert handler.started == 0
    assert handler.closed == 1


async def test_a_ping_of_no_seconds_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="ping_seconds must be above 0, not 0"):
        await stub_app(ping_seconds=0)
