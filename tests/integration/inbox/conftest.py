"""An office: an agent that asks, an inbox, and people whose names no other test uses."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from a2a.types import Task
from starlette.applications import Starlette
from temporalio.client import Client

from a2a_temporal.inbox import BearerTokens, Person, create_inbox
from a2a_temporal.testing import RunningAgent, running_agent, temporal_server
from tests.integration.inbox.office_flow import Office as OfficeWorkflow
from tests.support.inbox import Visitor


class Office:
    """What a test needs.

    Attributes:
        agent: The agent; its user is ``carl``.
        inbox: The application.
        group: A group that ``ann`` and ``bob`` belong to.
    """

    def __init__(self, agent: RunningAgent, suffix: str) -> None:
        self.agent = agent
        self.suffix = suffix
        self.group = self.name("finance")
        self.carl = agent.as_user(self.name("carl"))
        self.tokens = {
            self.token("ann"): Person(self.name("ann"), (self.group,)),
            self.token("bob"): Person(self.name("bob"), (self.group,)),
            self.token("carl"): Person(self.name("carl")),
            self.token("eve"): Person(self.name("eve")),
        }
        self.inbox = self.new_inbox()

    def new_inbox(self, client: Client | None = None, **options: Any) -> Starlette:
        """Return one more process's worth of inbox, with a client of its own if one is given."""
        tokens = BearerTokens(self.tokens)
        options = {
            "secret": "0123456789abcdef" * 2,
            "temporal_ui": "https://temporal.example",
        } | options
        return create_inbox(client or self.agent.temporal, authenticator=tokens, **options)

    def name(self, who: str) -> str:
        """Return somebody's name in this test."""
        return f"{who}-{self.suffix}"

    def token(self, who: str) -> str:
        """Return the token somebody signs in with."""
        return f"token-of-{self.name(who)}"

    def visit(self, who: str, inbox: Starlette | None = None) -> Visitor:
        """Let somebody sign in."""
        return Visitor(inbox or self.inbox, token=self.token(who))

    async def ask(self, *, wait: bool = True, **wish: Any) -> Task:
        """Let carl ask for something; of the group, unless it says otherwise."""
        if not {"choices", "auth", "approvers"} & set(wish):
            wish["approvers"] = [self.group]
        return await self.carl.send(json.dumps(wish), wait=wait)


@pytest_asyncio.fixture(scope="session")
async def inbox_temporal() -> AsyncIterator[Client]:
    """A client of the Temporal server of these tests."""
    async with temporal_server() as client:
        yield client


@pytest_asyncio.fixture
async def office(inbox_temporal: Client) -> AsyncIterator[Office]:
    """An office of its own."""
    async with running_agent(inbox_temporal, OfficeWorkflow, max_cached_workflows=0) as agent:
        office = Office(agent, uuid.uuid4().hex[:8])
        yield office
        await office.inbox.state.approvals.aclose()
        await agent.replay()
