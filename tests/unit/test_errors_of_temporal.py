"""What Temporal answers, and what an A2A client reads of it."""

import asyncio
from datetime import timedelta

import pytest
from a2a.utils.errors import A2AError, InternalError, InvalidParamsError, TaskNotFoundError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import is_closed_workflow, is_missing_workflow, with_deadline
from a2a_temporal._server.errors import (
    TOO_LARGE,
    UNAVAILABLE,
    UnavailableError,
    errors_of_temporal,
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
    (rpc(RPCStatusCode.NOT_FOUND, NAMESPACE), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.INVALID_ARGUMENT, LIMIT), InvalidParamsError, TOO_LARGE),
    (rpc(RPCStatusCode.INVALID_ARGUMENT, "no mapping defined"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.UNAVAILABLE, "connection refused"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.CANCELLED, "Timeout expired"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.DEADLINE_EXCEEDED, "deadline"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.RESOURCE_EXHAUSTED, "rate limit"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.PERMISSION_DENIED, "token of x"), UnavailableError, UNAVAILABLE),
    (rpc(RPCStatusCode.UNAUTHENTICATED, "key of x"), UnavailableError, UNAVAILABLE),
    (RuntimeError("Failed client connect: tcp 10.0.0.1"), UnavailableError, UNAVAILABLE),
    (ConnectionRefusedError("10.0.0.1:7233"), UnavailableError, UNAVAILABLE),
    (asyncio.TimeoutError(), UnavailableError, UNAVAILABLE),
]


@pytest.mark.parametrize(("raised", "expected", "text"), TABLE, ids=lambda each: str(each)[:40])
async def test_a_client_reads_what_it_can_do_and_nothing_of_the_inside(
    raised: Exception, expected: type[A2AError], text: str
) -> None:
    with pytest.raises(A2AError) as caught, errors_of_temporal():
        raise raised
    assert type(caught.value) is expected, "the SDK maps exact classes only"
    assert caught.value.message == text


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (RPCStatusCode.INVALID_ARGUMENT, "Workflow type is not set."),
        (RPCStatusCode.UNIMPLEMENTED, "unknown method"),
        (RPCStatusCode.DATA_LOSS, "history of x"),
    ],
)
async def test_what_no_repetition_helps_is_no_temporary_failure(
    status: RPCStatusCode, message: str
) -> None:
    with pytest.raises(InternalError) as caught, errors_of_temporal():
        raise rpc(status, message)
    assert type(caught.value) is InternalError
    assert "reference" in caught.value.message
    assert message not in caught.value.message


async def test_an_a2a_error_passes_as_it_is() -> None:
    with pytest.raises(InvalidParamsError, match="as it is"), errors_of_temporal():
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


async def test_a_caller_that_leaves_just_when_the_answer_comes_has_left() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(with_deadline(timedelta(seconds=20), answer))
    await asyncio.sleep(0)
    answer.set_result("too late")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_what_is_awaited_has_stopped_when_its_time_is_over_or_its_caller_gone() -> None:
    stopped: list[str] = []

    async def call(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            stopped.append(name)

    with pytest.raises(asyncio.TimeoutError):
        await with_deadline(timedelta(milliseconds=1), call("late"))
    assert stopped == ["late"]

    waiting = asyncio.create_task(with_deadline(timedelta(seconds=20), call("left")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert stopped == ["late", "left"]
