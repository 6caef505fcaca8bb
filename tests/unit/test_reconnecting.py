"""A call whose connection was closed under it is made again; whatever else fails, fails at once."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._reconnecting import reconnecting

CLOSED = RPCError("operation was canceled", RPCStatusCode.CANCELLED, b"")


class Call:
    """Raises what it is given, one after the other, then answers."""

    def __init__(self, *errors: RPCError) -> None:
        self.errors = list(errors)
        self.made = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


async def test_a_call_that_met_the_close_is_made_again() -> None:
    call = Call(CLOSED, CLOSED)
    assert await reconnecting(call) == "answer"
    assert call.made == 3


async def test_it_is_not_made_for_ever() -> None:
    call = Call(*[CLOSED] * 100)
    with pytest.raises(RPCError, match="operation was canceled"):
        await reconnecting(call)
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
async def test_any_other_failure_is_told_at_once(error: RPCError) -> None:
    call = Call(error)
    with pytest.raises(RPCError):
        await reconnecting(call)
    assert call.made == 1
