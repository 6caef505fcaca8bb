"""Whatever an exception is made of, its task fails at once; Temporal is told what it can store."""

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import TaskState
from a2a.utils.errors import UnsupportedOperationError

from a2a_temporal.errors import PublicError
from tests.support.in_process import Written, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

NO_UNICODE = "caf\udce9"


class _NoText(Exception):
    def __str__(self) -> str:
        raise AttributeError("detail")


def _caused_by(cause: Exception) -> Exception:
    failure = RuntimeError("with a cause")
    failure.__cause__ = cause
    return failure


FAILURES = {
    "no text": _NoText(),
    "no Unicode": ValueError(f"cannot read {NO_UNICODE}"),
    "a cause without a text": _caused_by(_NoText()),
    "a cause that is no Unicode": _caused_by(ValueError(NO_UNICODE)),
    "a page of HTML": ValueError("<br>" * 800_000),
    "a cause that is a page of HTML": _caused_by(ValueError("<br>" * 800_000)),
}
PUBLIC = {
    "no Unicode": PublicError(f"cannot read {NO_UNICODE}"),
    "no Unicode, of the protocol": UnsupportedOperationError(f"cannot read {NO_UNICODE}"),
    "far too long": PublicError("cannot read " + "é" * 330_000),
    "too long for any request": UnsupportedOperationError("cannot read " + "x" * 9_000_000),
}


async def _failing(temporal: TemporalServer, failure: Exception) -> str:
    """Let an agent raise; return what the client reads of it."""

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        raise failure

    written = Written(turn)
    async with running(await temporal.client(), written) as agent:
        task = await within(30, agent.send("go"), what="the end of the task")
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert written.turns == 1, "it was run again, unasked"
    return task.status.message.parts[0].text


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
async def test_an_agent_fails_once(temporal: TemporalServer, failure: Exception) -> None:
    assert (await _failing(temporal, failure)).startswith("The agent failed. Reference: ")


@pytest.mark.parametrize("failure", PUBLIC.values(), ids=PUBLIC.keys())
async def test_a_client_reads_what_can_be_read(
    temporal: TemporalServer, failure: Exception
) -> None:
    text = await _failing(temporal, failure)
    assert text.startswith("cannot read ")
    assert len(text) < 50_000
