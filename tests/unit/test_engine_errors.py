"""What Temporal answers, and what an A2A client reads of it."""

import asyncio

import pytest
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError, TaskNotFoundError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._server.engine_errors import (
    TOO_LARGE,
    UNAVAILABLE,
    engine_errors,
    is_closed_workflow,
    is_missing_workflow,
    is_passing,
)

GONE = "workflow not found for ID: 4f0c"
CLOSED = "workflow execution already completed"
OF_A_NAME = "workflow not found for ID: a-namespace-check"
NAMESPACE = "Namespace reports is not found."
LIMIT = "Blob data size exceeds limit."


def rpc(status: RPCStatusCode, message: str) -> RPCError:
    return RPCError(message, status, b"")


TABLE: list[tuple[Exception, type[A2AError], str]] = [
    (rpc(RPCStatusCode.NOT_FOUND, GONE), TaskNotFoundError, "Task not found"),
    (rpc(RPCStatusCode.NOT_FOUND, NAMESPACE), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.INVALID_ARGUMENT, LIMIT), InvalidParamsError, TOO_LARGE),
    (rpc(RPCStatusCode.INVALID_ARGUMENT, "no mapping defined"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.UNAVAILABLE, "connection refused"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.CANCELLED, "Timeout expired"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.DEADLINE_EXCEEDED, "deadline"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.RESOURCE_EXHAUSTED, "rate limit"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.PERMISSION_DENIED, "token of x"), InternalError, UNAVAILABLE),
    (rpc(RPCStatusCode.UNAUTHENTICATED, "key of x"), InternalError, UNAVAILABLE),
    (RuntimeError("Failed client connect: tcp 10.0.0.1"), InternalError, UNAVAILABLE),
    (ConnectionRefusedError("10.0.0.1:7233"), InternalError, UNAVAILABLE),
    (asyncio.TimeoutError(), InternalError, UNAVAILABLE),
]


@pytest.mark.parametrize(("raised", "expected", "text"), TABLE, ids=lambda each: str(each)[:40])
async def test_a_client_reads_what_it_can_do_and_nothing_of_the_inside(
    raised: Exception, expected: type[A2AError], text: str
) -> None:
    with pytest.raises(A2AError) as caught:
        async with engine_errors():
            raise raised
    assert type(caught.value) is expected, "the SDK maps exact classes only"
    assert caught.value.message == text


async def test_an_a2a_error_passes_as_it_is() -> None:
    with pytest.raises(InvalidParamsError, match="as it is"):
        async with engine_errors():
            raise InvalidParamsError("as it is")


@pytest.mark.parametrize(
    ("message", "missing", "closed"),
    [
        (GONE, True, False),
        (OF_A_NAME, True, False),
        (CLOSED, True, True),
        (NAMESPACE, False, False),
    ],
)
def test_not_found_has_three_meanings(message: str, missing: bool, closed: bool) -> None:
    error = rpc(RPCStatusCode.NOT_FOUND, message)
    assert is_missing_workflow(error) is missing
    assert is_closed_workflow(error) is closed


@pytest.mark.parametrize(
    ("status", "passes"),
    [
        (RPCStatusCode.UNAVAILABLE, True),
        (RPCStatusCode.RESOURCE_EXHAUSTED, True),
        (RPCStatusCode.CANCELLED, True),
        (RPCStatusCode.INVALID_ARGUMENT, False),
        (RPCStatusCode.PERMISSION_DENIED, False),
    ],
)
def test_a_reader_waits_only_for_what_may_pass(status: RPCStatusCode, passes: bool) -> None:
    assert is_passing(rpc(status, "")) is passes
