"""A call to Temporal outlives its connection, ends in time, and raises nothing but RPCError."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsResponse
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway, is_late

CLOSED = RPCError("operation was canceled", RPCStatusCode.CANCELLED, b"")


class Call:
    """A method of a service that raises what it is given, one after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.made = 0

    async def __call__(self, request: str, **_: Any) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return f"answer to {request}"


@pytest.fixture
async def gateway() -> Gateway:
    return Gateway(await Client.connect("127.0.0.1:9", lazy=True))


async def test_a_call_that_met_the_close_is_made_again(gateway: Gateway) -> None:
    call = Call(CLOSED, CLOSED)
    assert await gateway.call(call, "request") == "answer to request"
    assert call.made == 3


async def test_it_is_not_made_for_ever(gateway: Gateway) -> None:
    call = Call(*[CLOSED] * 100)
    with pytest.raises(RPCError, match="operation was canceled"):
        await gateway.call(call, "request")
    assert call.made < 10


@pytest.mark.parametrize(
    "error",
    [
        RPCError("Timeout expired", RPCStatusCode.CANCELLED, b""),
        RPCError("operation was canceled", RPCStatusCode.UNAVAILABLE, b""),
        RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b""),
    ],
    ids=["timeout", "unavailable", "not-found"],
)
async def test_any_other_failure_is_raised_at_once(gateway: Gateway, error: RPCError) -> None:
    call = Call(error)
    with pytest.raises(RPCError) as raised:
        await gateway.call(call, "request")
    assert (raised.value, call.made) == (error, 1)


async def test_a_call_that_never_answers_ends_in_time() -> None:
    client = await Client.connect("127.0.0.1:9", lazy=True)

    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(RPCError) as raised:
        await Gateway(client, timeout=timedelta(milliseconds=1)).call(never, "request")
    assert is_late(raised.value)


async def test_a_client_that_cannot_connect_is_unavailable(gateway: Gateway) -> None:
    with pytest.raises(RPCError) as raised:
        await gateway.describe("task")
    assert raised.value.status == RPCStatusCode.UNAVAILABLE, raised.value


async def _counted(monkeypatch: pytest.MonkeyPatch, gateway: Gateway, *errors: RPCError) -> int:
    """Count at a server that fails so, and then for as long as the client is not to retry."""
    failures = list(errors)

    async def count(*_: Any, retry: bool, **__: Any) -> CountWorkflowExecutionsResponse:
        if not retry and failures:
            raise failures.pop(0) if len(failures) > 1 else failures[0]
        return CountWorkflowExecutionsResponse(count=3)

    service = gateway.client.workflow_service
    monkeypatch.setattr(service, "count_workflow_executions", count)
    return await gateway.count("a query")


@pytest.mark.parametrize(
    "status",
    [
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.ABORTED,
        RPCStatusCode.DATA_LOSS,
        RPCStatusCode.OUT_OF_RANGE,
    ],
)
async def test_visibility_that_fails_for_a_moment_is_left_to_the_clients_own_retries(
    monkeypatch: pytest.MonkeyPatch, gateway: Gateway, status: RPCStatusCode
) -> None:
    assert await _counted(monkeypatch, gateway, RPCError("not now", status, b"")) == 3


async def test_visibility_without_a_call_to_spare_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, gateway: Gateway
) -> None:
    exhausted = RPCError("rate limit", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
    passing = RPCError("not now", RPCStatusCode.UNAVAILABLE, b"")
    assert await _counted(monkeypatch, gateway, exhausted, exhausted, passing) == 3


async def test_what_the_client_does_not_retry_fails_at_once(
    monkeypatch: pytest.MonkeyPatch, gateway: Gateway
) -> None:
    with pytest.raises(RPCError):
        await _counted(
            monkeypatch, gateway, RPCError("no query", RPCStatusCode.INVALID_ARGUMENT, b"")
        )
