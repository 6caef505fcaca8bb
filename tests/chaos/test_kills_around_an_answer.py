"""Server, worker and Temporal are killed at random moments around an answer.

Never acknowledged and lost, never applied twice. ``CHAOS_ROUNDS=100`` for the long form, and
``CHAOS_SEED`` to have the same moments again.
"""

import asyncio
import os
import random
from pathlib import Path

import httpx
import pytest

from tests.support.calls import Caller
from tests.support.cluster import Cluster, running_cluster
from tests.support.results import CallError, Json, state
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.waiting import eventually

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "10"))
SEED = int(os.environ.get("CHAOS_SEED", str(random.SystemRandom().randrange(10**6))))
VICTIMS = ("server", "worker", "temporal")
CUT_OFF = (CallError, httpx.TransportError)


@pytest.mark.timeout(60 + 40 * ROUNDS)
async def test_an_answer_is_never_lost_and_never_counts_twice(tmp_path: Path) -> None:
    dice = random.Random(SEED)
    async with (
        running_server(tmp_path) as temporal,
        running_cluster(temporal, tmp_path, apis=2, workers=1) as cluster,
    ):
        for number in range(ROUNDS):
            victim = VICTIMS[number % len(VICTIMS)]
            moment = dice.uniform(0, 0.2)
            said = f"seed {SEED}, round {number}: {victim} killed after {moment * 1000:.0f} ms"
            try:
                await _round(cluster, temporal, dice, victim=victim, moment=moment)
            except Exception as error:
                raise AssertionError(f"{said}: {error}") from error


async def _round(
    cluster: Cluster,
    temporal: TemporalServer,
    dice: random.Random,
    *,
    victim: str,
    moment: float,
) -> None:
    here, there = cluster.callers()
    task = await here.send_task("approve wire")
    answer = {
        "text": "approve",
        "task_id": task["id"],
        "message_id": f"yes-{task['id']}",
        "return_immediately": dice.random() < 0.5,
    }
    answering = asyncio.create_task(_acknowledged(here, answer))
    await asyncio.sleep(moment)
    await _kill_and_start(cluster, temporal, victim)
    acknowledged = await answering

    async def done() -> bool:
        try:
            return state(await there.get(task["id"])) == "COMPLETED"
        except CUT_OFF:
            return False

    if not acknowledged:
        # It may have been stored or not; the same answer again is harmless in both cases.
        await eventually(lambda: _acknowledged(there, answer), within=30, what="a repeated answer")
    await eventually(done, within=40, what="COMPLETED")
    assert cluster.ledger.count(task["id"], "effect") == 1, cluster.ledger.lines(task["id"])
    assert _decisions(await there.get(task["id"])) == 1


async def _acknowledged(caller: Caller, answer: Json) -> bool:
    try:
        await caller.send(answer["text"], **{k: v for k, v in answer.items() if k != "text"})
    except CUT_OFF as error:
        # -32004: the task has ended, by this very answer
        return isinstance(error, CallError) and error.code == -32004
    return True


async def _kill_and_start(cluster: Cluster, temporal: TemporalServer, victim: str) -> None:
    if victim == "server":
        api = cluster.apis[0]
        api.process.kill()
        api.process.start()
        await api.ready(cluster.http)
    elif victim == "worker":
        cluster.workers[0].kill()
        await cluster.restart(cluster.workers[0])
    else:
        temporal.process.kill()
        await temporal.start()


def _decisions(task: Json) -> int:
    """The number of decisions the task's history tells of."""
    extension = "https://a2a-temporal.dev/extensions/approvals/v1"
    messages = [*task.get("history", []), task["status"].get("message", {})]
    about = [message.get("metadata", {}).get(extension, {}) for message in messages]
    return sum("record" in each for each in about)
