"""What the storm runs: the bench agent and the payments, served and worked on by one fleet."""

import os
from datetime import timedelta
from pathlib import Path

from a2a.types import AgentCapabilities, AgentCard
from temporalio import activity

from a2a_temporal import Agent, AgentOptions, HandlerOptions, PushOptions
from tests.bench_agent.agent import BenchAgent
from tests.bench_agent.card import bench_card
from tests.bench_agent.ledger import Ledger, OutOfBand
from tests.chaos.payments import PAY, Payments

_LEDGER = os.environ.get("LEDGER")

ledger = Ledger(path=Path(_LEDGER) if _LEDGER else None)


@activity.defn(name=PAY)
async def pay(task_id: str, step: str, key: str) -> None:
    """Pay: one line in the ledger."""
    ledger.write(task=task_id, kind="effect", step=step, attempt=activity.info().attempt, key=key)


HANDLER_OPTIONS = HandlerOptions(
    long_polls=int(os.environ.get("CHAOS_LONG_POLLS", "200")),
    push=PushOptions(
        initial_interval=timedelta(seconds=0.2),
        maximum_interval=timedelta(seconds=2),
        allowed_hosts=("127.0.0.1",),
    ),
)

AGENT_OPTIONS = AgentOptions(
    # The monkey takes many workers: a turn must not fail because it was unlucky.
    maximum_attempts=100,
    heartbeat_interval=timedelta(seconds=0.5),
    heartbeat_timeout=timedelta(seconds=3),
    continue_as_new_after=int(os.environ.get("CHAOS_CONTINUE_AS_NEW_AFTER", "40")),
)

bench = Agent(
    card=bench_card("http://127.0.0.1", push=True),
    executor=BenchAgent(
        ledger=ledger,
        out_of_band=OutOfBand(folder=Path(f"{_LEDGER}.auth") if _LEDGER else None),
    ),
    workflows=[Payments],
    activities=[pay],
    handler_options=HANDLER_OPTIONS,
    agent_options=AGENT_OPTIONS,
)

payments = Agent(
    card=AgentCard(
        name="payments",
        description="Pays what was approved.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    ),
    workflow=Payments,
    handler_options=HANDLER_OPTIONS,
)


def served_at(agent: Agent, url: str) -> AgentCard:
    """Return an agent's card with one address."""
    card = AgentCard()
    card.CopyFrom(agent.card)
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(bench_card(url).supported_interfaces)
    return card
