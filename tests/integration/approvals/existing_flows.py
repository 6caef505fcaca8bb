"""Workflows that nobody wrote for A2A: nothing in here knows of this library."""

from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow


@dataclass
class Order:
    """What is ordered."""

    item: str
    count: int = 1


@workflow.defn(name="order-v1")
class OldOrder:
    """Ships an order once it was confirmed."""

    def __init__(self) -> None:
        self.confirmed: bool | None = None

    @workflow.run
    async def run(self, order: Order, priority: int) -> dict[str, object]:
        """Wait for the confirmation, ship."""
        if order.item == "nothing":
            raise ValueError("hunter2-SECRET")  # retried for ever, as Temporal does
        await workflow.wait_condition(lambda: self.confirmed is not None, timeout=timedelta(days=3))
        return {"shipped": order.item, "count": order.count, "confirmed": self.confirmed}

    @workflow.signal
    def confirm(self, yes: bool) -> None:
        """Confirm or refuse."""
        self.confirmed = yes


@workflow.defn(name="hello-v1")
class OldHello:
    """Greets."""

    @workflow.run
    async def run(self, name: str) -> str:
        """Greet."""
        return f"Hello {name}"


@workflow.defn(name="collect-v1")
class OldCollector:
    """Collects four words, each in a run of its own."""

    def __init__(self) -> None:
        self.words: list[str] = []

    @workflow.run
    async def run(self, purpose: str, words: list[str] | None = None) -> str:
        """Wait for one more word than the run before."""
        known = words or []
        await workflow.wait_condition(lambda: bool(self.words))
        known += self.words
        if len(known) < 4:
            workflow.continue_as_new(args=[purpose, known])
        return f"{purpose}: {' '.join(known)}"

    @workflow.signal
    def add(self, word: str) -> None:
        """Add a word."""
        self.words.append(word)


@workflow.defn(name="report-v1")
class OldReport:
    """Returns what was asked for, be it JSON or not."""

    @workflow.run
    async def run(self, kind: str) -> object:
        """Report."""
        nested: object = "core"
        for _ in range(60):
            nested = [nested]
        results: dict[str, object] = {
            "mean": {"mean": float("nan")},
            "large": {"count": 10**400},
            "nested": nested,
            "half a character": "\ud83d",
            "sum": {"sum": 3},
        }
        return results[kind]
