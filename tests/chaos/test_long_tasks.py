"""A task lives through fifty runs under load, and no client can tell (CASES.md, T6)."""

import asyncio
import random
import uuid

import pytest

from tests.chaos import checker
from tests.chaos.following import Following
from tests.chaos.journal import Journal, Seen
from tests.chaos.views import messages_of_clients
from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, all_of
from tests.support.cluster import Cluster
from tests.support.frames import terminal_frames
from tests.support.hook import hook
from tests.support.push import list_configs, pushing, set_config
from tests.support.results import CallError, Json, is_terminal, state, text_of
from tests.support.waiting import eventually, within

RUNS = 50
CLIENTS = 4
SHORT_RUNS = pushing("--continue-as-new-after=4")


@pytest.mark.timeout(400)
async def test_fifty_runs_under_load_are_one_task(new_cluster: NewCluster) -> None:
    journal = Journal()
    async with (
        hook() as receiver,
        new_cluster(apis=2, workers=2, options=SHORT_RUNS) as cluster,
    ):
        task = await cluster.caller.send_task("ask begin?")
        task_id = str(task["id"])
        config = await set_config(cluster.caller, task_id, receiver.config(id="mine"))
        followers = [_follower(cluster, journal, task_id, seed) for seed in range(6)]
        async with cluster.callers()[1].subscribe(task_id) as uncut:
            looking = asyncio.create_task(_look(cluster, journal, task_id))
            sent = await all_of(*(_send_some(cluster, task_id, n) for n in range(CLIENTS)))
            done = await _end(cluster, task_id)
            received = await uncut.to_the_end(within=60)
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        await all_of(*(follower.settle(done) for follower in followers))

        await receiver.told("COMPLETED", within=60)
        configs = await list_configs(cluster.caller, task_id)
        assert [each["id"] for each in configs["configs"]] == [config["id"]]
        assert await eventually(lambda: cluster.runs(task_id), within=10) > RUNS

    ids = [message_id for each in sent for message_id in each]
    assert sorted(messages_of_clients(done)[1:-1]) == sorted(ids)
    assert done["contextId"] == task["contextId"]
    # Every message was handled in its turn: the artifacts stand in the order of the messages.
    echoed = [text_of(each) for each in done["artifacts"] if each["name"] == "echo"]
    assert echoed == [*messages_of_clients(done)[1:-1], "the end"]
    assert len(terminal_frames(received)) == 1
    wrong = [
        *journal.complaints,
        *checker.streams_agree(journal.streamed),
        *checker.terminal_stays(journal.seen),
        *checker.never_backwards(journal.seen, {}),
        *checker.effects_once([], cluster.ledger.lines(), {}),
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.timeout(300)
async def test_a_cancel_in_the_moment_of_the_switch_counts(new_cluster: NewCluster) -> None:
    async with new_cluster(apis=2, workers=1, options=SHORT_RUNS) as cluster:

        async def canceled_somewhere(number: int) -> None:
            luck = random.Random(number)
            caller = cluster.callers()[number % 2].over(BINDINGS[number // 2 % 2])
            task_id = (await caller.send_task("ask begin?"))["id"]
            sending = asyncio.create_task(_send_until_refused(caller, task_id))
            await asyncio.sleep(luck.uniform(0.2, 3))
            canceled = await caller.cancel(task_id)
            assert state(canceled) == "CANCELED", canceled
            await within(30, sending)
            assert state(await caller.get(task_id)) == "CANCELED"

            async def closed() -> bool:
                status = await cluster.workflow_status(task_id)
                return status is not None and status.name == "CANCELED"

            await eventually(closed, within=15)

        for _ in range(3):
            await all_of(*(canceled_somewhere(number) for number in range(6)))


def _follower(cluster: Cluster, journal: Journal, task_id: str, seed: int) -> Following:
    luck = random.Random(seed)

    def caller() -> Caller:
        return luck.choice(cluster.callers()).over(luck.choice(BINDINGS))

    return Following(callers=caller, luck=luck, journal=journal, task_id=task_id)


async def _send_some(cluster: Cluster, task_id: str, number: int) -> list[str]:
    """Send messages to a task as fast as it answers; every third is sent twice."""
    caller = cluster.callers()[number % 2].over(BINDINGS[number // 2])
    sent: list[str] = []
    for count in range(RUNS // CLIENTS + 1):
        message_id = f"{number}-{count}-{uuid.uuid4().hex[:6]}"
        text = f"effect {message_id}; echo {message_id}; ask next?"
        again = 2 if count % 3 == 0 else 1
        answers: list[Json] = await all_of(
            *(caller.send_task(text, task_id=task_id, message_id=message_id) for _ in range(again))
        )
        assert all(state(answer) == "INPUT_REQUIRED" for answer in answers)
        sent.append(message_id)
    return sent


async def _look(cluster: Cluster, journal: Journal, task_id: str) -> None:
    """Read the task on both replicas in turn: no look may show less than the one before."""
    while True:
        for caller in cluster.callers():
            asked = journal.clock()
            task = await caller.get(task_id)
            journal.seen.append(
                Seen(
                    task_id=task_id,
                    asked=asked,
                    answered=journal.clock(),
                    source="get",
                    task=task,
                )
            )
        await asyncio.sleep(0.1)


async def _end(cluster: Cluster, task_id: str) -> Json:
    await cluster.caller.send_task("echo the end", task_id=task_id)

    async def ended() -> Json | None:
        task = await cluster.caller.get(task_id)
        return task if is_terminal(state(task)) else None

    return await eventually(ended, within=30)


async def _send_until_refused(caller: Caller, task_id: str) -> None:
    while True:
        try:
            await caller.send_task("echo on; ask next?", task_id=task_id)
        except CallError as error:
            if error.code != -32004:
                raise
            return
