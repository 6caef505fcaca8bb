"""Test your agent against the real thing: Temporal, worker, server and client in one process.

::

    @pytest_asyncio.fixture(scope="session")
    async def temporal() -> AsyncIterator[Client]:
        async with temporal_server() as client:
            yield client

    async def test_silence_escalates(temporal: Client) -> None:
        async with running_agent(temporal, ExpenseApproval) as agent:
            task = await agent.send("Taxi, 40 EUR")
            task = await agent.expire(task)          # three days pass in no time
            await agent.approve(task, by="dora", groups=["cfo"])
            assert state_of(await agent.settled(task)) == "completed"

Nothing is mocked. docs/testing.md shows the rest.
"""

from a2a_temporal._log.answers import RefusedError
from a2a_temporal._log.requests import OpenRequest, Record
from a2a_temporal._server.approvals import Outcome
from a2a_temporal._testing.agent import RunningAgent, running_agent
from a2a_temporal._testing.cards import card_of
from a2a_temporal._testing.processes import RunningProcesses, running_processes
from a2a_temporal._testing.temporal import temporal_server
from a2a_temporal._testing.user import User, state_of, status_text

__all__ = [
    "OpenRequest",
    "Outcome",
    "Record",
    "RefusedError",
    "RunningAgent",
    "RunningProcesses",
    "User",
    "card_of",
    "running_agent",
    "running_processes",
    "state_of",
    "status_text",
    "temporal_server",
]
