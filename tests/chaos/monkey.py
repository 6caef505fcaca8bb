"""Faults: a plan drawn from the seed, and the hands that carry it out and put things right."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from tests.chaos.fleet import Fleet
from tests.chaos.journal import Exit, Fault, Journal
from tests.support.processes import Process

KILL, FREEZE, TERMINATE = "kill", "freeze", "terminate"

SMALL = 12
"""Events of history that every turn exceeds: with so few, tasks of a storm go on in new runs."""

_TARGETS = ("api-1", "api-2", "worker-1", "worker-2", "temporal")
_ACTIONS = (KILL, FREEZE, TERMINATE)
_STOP_SECONDS = 25.0
_LOOK_EVERY = 0.1


@dataclass(frozen=True, kw_only=True)
class Blow:
    """One thing to do: when, to whom, what, and how long it lasts."""

    at: float
    target: str
    action: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Weather:
    """What kind of storm a seed makes; different seeds try different weaknesses.

    Attributes:
        pause: Mean seconds between two blows.
        targets: How often each process is struck, relative to the others.
        actions: How often it is killed, frozen and told to stop, likewise.
        long_polls: Budget of a handler; with few, most followers are cold.
        continue_as_new_after: Events of history after which a task goes on in a new run.
    """

    pause: float
    targets: tuple[float, ...]
    actions: tuple[float, ...]
    long_polls: int
    continue_as_new_after: int

    @property
    def env(self) -> dict[str, str]:
        """The environment of the processes."""
        return {
            "CHAOS_LONG_POLLS": str(self.long_polls),
            "CHAOS_CONTINUE_AS_NEW_AFTER": str(self.continue_as_new_after),
        }


def weather(seed: int) -> Weather:
    """Draw the weather of a seed."""
    luck = random.Random(f"{seed}/weather")
    return Weather(
        pause=luck.choice((1.5, 3.0, 6.0)),
        targets=tuple(luck.uniform(0.2, 3) for _ in _TARGETS),
        actions=tuple(luck.uniform(0.2, 3) for _ in _ACTIONS),
        long_polls=luck.choice((3, 200)),
        continue_as_new_after=luck.choice((12, 40, 1000)),
    )


def plan(seed: int, seconds: float) -> list[Blow]:
    """Draw what happens to the processes within so many seconds; the same for the same seed."""
    luck = random.Random(f"{seed}/monkey")
    kind = weather(seed)
    blows: list[Blow] = []
    at = luck.uniform(1, 3)
    while at < seconds:
        target = luck.choices(_TARGETS, kind.targets)[0]
        action = luck.choices(_ACTIONS, kind.actions)[0]
        longest = 6.0 if action == FREEZE else 3.0
        blows.append(Blow(at=at, target=target, action=action, seconds=luck.uniform(0.2, longest)))
        at += luck.expovariate(1 / kind.pause)
    return blows


class Monkey:
    """Carries out a plan, and starts again whatever ends by itself."""

    def __init__(self, fleet: Fleet, journal: Journal) -> None:
        self._fleet = fleet
        self._journal = journal
        self._in_hand: set[str] = set()
        self._processes = {**fleet.processes, "temporal": fleet.temporal.process}

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncGenerator[None]:
        """Note, and start again, what ends by itself while the block lasts."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def run(self, blows: list[Blow]) -> None:
        """Carry out a plan; afterwards every process has been started again."""
        begun = time.monotonic()
        hands: list[asyncio.Task[None]] = []
        for blow in blows:
            await asyncio.sleep(max(0.0, begun + blow.at - time.monotonic()))
            if blow.target not in self._in_hand:
                self._in_hand.add(blow.target)
                hands.append(asyncio.create_task(self._strike(blow)))
        await asyncio.gather(*hands)

    async def _strike(self, blow: Blow) -> None:
        process = self._processes[blow.target]
        begun, pid = time.time(), process.pid
        try:
            if blow.action == FREEZE:
                process.pause()
                await asyncio.sleep(blow.seconds)
                process.resume()
                return
            if blow.action == TERMINATE:
                await self._terminate(process)
            process.kill()
            await asyncio.sleep(blow.seconds)
            process.start()
        finally:
            self._in_hand.discard(blow.target)
            self._journal.counts[f"{blow.action} {blow.target.split('-')[0]}"] += 1
            self._journal.faults.append(
                Fault(at=begun, until=time.time(), target=blow.target, action=blow.action, pid=pid)
            )

    async def _terminate(self, process: Process) -> None:
        process.terminate()
        try:
            code = await process.exited(within=_STOP_SECONDS)
        except AssertionError:
            self._journal.complain(f"{process.name} did not stop within {_STOP_SECONDS} s")
            return
        if code not in (0, -15, 130):
            self._journal.complain(
                f"{process.name} ended with {code} when it was told to stop:\n{process.tail(20)}"
            )

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            for name, process in self._processes.items():
                code = process.exit_code
                if name in self._in_hand or code is None:
                    continue
                self._journal.exits.append(
                    Exit(
                        at=time.time(),
                        name=name,
                        code=code,
                        pid=process.pid,
                        tail=process.tail(20),
                    )
                )
                process.start()
