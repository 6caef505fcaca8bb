"""The storm: everything at once, then the verdict. `CHAOS_SEED=n` makes the same plans again."""

import asyncio
import os
import random
from collections import defaultdict
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.worker import Replayer

from a2a_temporal import A2APlugin
from a2a_temporal._log.wire import AGENT_WORKFLOW, EVENTS_SIGNAL, PUSH_WORKFLOW
from a2a_temporal._testing.replaying import replay_all
from tests.bench_agent.agent import BenchAgent
from tests.bench_agent.ledger import Ledger, OutOfBand
from tests.chaos import checker
from tests.chaos.agents import AGENT_OPTIONS
from tests.chaos.client import RefusedError
from tests.chaos.episodes import COMPLETED, PARKED, PAYMENTS, Player
from tests.chaos.fleet import Fleet, running_fleet
from tests.chaos.journal import Journal
from tests.chaos.monkey import SMALL, Monkey, plan, weather
from tests.chaos.payments import Payments
from tests.chaos.report import report
from tests.support.hook import Hook, hook
from tests.support.results import Json, is_terminal, state
from tests.support.waiting import eventually

SECONDS = float(os.environ.get("CHAOS_SECONDS", "150"))
CLIENTS = int(os.environ.get("CHAOS_CLIENTS", "10"))
SEED = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1, 1_000_000))

CALMS_DOWN_WITHIN = 240.0
MANY_SECONDS = 30.0
MANY_CLIENTS = 5
"""A storm this long, of so many clients, has tasks with many events."""
PAYMENT_TYPE = "Payments"


@pytest.mark.timeout(SECONDS + 900)
async def test_nothing_is_lost_doubled_or_contradicted(tmp_path: Path) -> None:
    print(f"\nCHAOS_SEED={SEED} CHAOS_SECONDS={SECONDS:.0f} CHAOS_CLIENTS={CLIENTS}")
    print(weather(SEED), flush=True)
    journal = Journal()
    async with running_fleet(tmp_path, env=weather(SEED).env) as fleet, hook() as receiver:
        monkey = Monkey(fleet, journal)
        async with monkey.watching():
            players = await _storm(fleet, journal, monkey, receiver)
            await _answer_what_is_parked(players[0])
        finals = await _finals(fleet, journal, players)
        await _wait_for_receiver(journal, receiver, finals)
        lost = {task_id: await _lost_attempts(fleet.engine, task_id) for task_id in finals}
        lines = fleet.ledger.lines()
        wrong = [
            *journal.complaints,
            *await _orphans(fleet, finals),
            *await _unreplayable(fleet),
            *await _never_in_a_new_run(fleet, journal),
        ]
    wrong += [
        *checker.acknowledged_once(journal.said, finals),
        *checker.settled(finals, journal.expected),
        *checker.streams_agree(journal.streamed),
        *checker.terminal_stays(journal.seen),
        *checker.never_backwards(journal.seen, lost),
        *checker.effects_once(journal.said, lines, finals),
        *checker.silent_after_cancel(journal.seen, lines, journal.faults),
        *checker.nothing_crashed(journal.exits, lines),
        *checker.nothing_leaked(journal.refusals),
        *checker.receivers_were_told(journal.hooked, _told(receiver), finals),
    ]
    print(report(journal, finals, lines, seed=SEED, seconds=SECONDS), flush=True)
    assert not wrong, f"CHAOS_SEED={SEED}: {len(wrong)} faults:\n" + "\n".join(wrong)


async def _storm(fleet: Fleet, journal: Journal, monkey: Monkey, receiver: Hook) -> list[Player]:
    calm = asyncio.Event()
    players = [
        Player(
            f"client{number}-{SEED}",
            seed=f"{SEED}/client/{number}",
            fleet=fleet,
            journal=journal,
            hook=receiver,
        )
        for number in range(CLIENTS)
    ]
    playing = [asyncio.create_task(player.play(calm)) for player in players]
    await monkey.run(plan(SEED, SECONDS))
    await fleet.heal()
    calm.set()
    _, hanging = await asyncio.wait(playing, timeout=CALMS_DOWN_WITHIN)
    for task in hanging:
        journal.complain(f"{CALMS_DOWN_WITHIN} s later there hangs {task.get_stack()}")
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)
    return players


async def _answer_what_is_parked(player: Player) -> None:
    """Answer half of what was left parked: it is alive."""
    parked = [task_id for task_id, ends in player.journal.expected.items() if ends == PARKED]
    for task_id in sorted(parked)[::2]:
        try:
            await player.say(player.message("go on", task_id=task_id))
            player.journal.expected[task_id] = COMPLETED
            await player.finished(task_id)
        except (AssertionError, RefusedError) as error:
            player.journal.complain(f"a parked task took no answer: {error!r}")


async def _finals(fleet: Fleet, journal: Journal, players: list[Player]) -> dict[str, Json]:
    """Return what all tasks are now, which is the same on every replica and in every list."""
    finals: dict[str, Json] = {}
    for task_id in sorted(journal.tasks):
        agent = PAYMENTS if await _is_payment(fleet.engine, task_id) else ""
        answers = [await players[0].get(task_id, agent=agent) for _ in range(2)]
        for caller in fleet.callers():
            url = f"{caller.url}{agent}"
            answers.append(await type(caller)(http=caller.http, url=url).get(task_id))
        finals[task_id] = answers[0]
        if any(answer != answers[0] for answer in answers):
            journal.complain(f"replicas disagree on task {task_id}: {answers}")
    for context_id, tasks in journal.contexts.items():
        for agent in ("", PAYMENTS):
            mine = {t for t in tasks if (await _is_payment(fleet.engine, t)) == bool(agent)}

            async def all_of_them(
                context_id: str = context_id, agent: str = agent, mine: set[str] = mine
            ) -> bool:
                listed = await players[0].listed(context_id, agent=agent)
                assert listed == mine, f"listed {listed ^ mine} wrongly"
                return True

            try:
                await eventually(all_of_them, within=15, what=f"ListTasks of {context_id}")
            except AssertionError as error:
                journal.complain(str(error))
    return finals


_payments: dict[str, bool] = {}


async def _is_payment(client: Client, task_id: str) -> bool:
    if task_id not in _payments:
        described = await client.get_workflow_handle(task_id).describe()
        _payments[task_id] = described.workflow_type == PAYMENT_TYPE
    return _payments[task_id]


async def _lost_attempts(client: Client, task_id: str) -> int:
    """Count the turns of a task, in all its runs, in which a further attempt has spoken."""
    attempts: dict[int, set[int]] = defaultdict(set)
    runs = client.list_workflows(f"WorkflowId = '{task_id}'")
    async for run in runs:
        handle = client.get_workflow_handle(task_id, run_id=run.run_id)
        async for event in handle.fetch_history_events():
            if event.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
                continue
            signaled = event.workflow_execution_signaled_event_attributes
            if signaled.signal_name == EVENTS_SIGNAL:
                (entry,) = await client.data_converter.decode(signaled.input.payloads[:1])
                attempts[entry["turn"]].add(entry["attempt"])
    return sum(len(each) - 1 for each in attempts.values())


async def _orphans(fleet: Fleet, finals: dict[str, Json]) -> list[str]:
    """Look at every workflow there is: whoever began it, it has ended or is parked."""
    found: list[str] = []
    (caller, *_) = fleet.callers()
    query = f"ExecutionStatus = 'Running' AND WorkflowType != '{PUSH_WORKFLOW}'"
    async for workflow in fleet.engine.list_workflows(query):
        if workflow.id in finals and state(finals[workflow.id]) == "INPUT_REQUIRED":
            continue

        async def over(task_id: str = workflow.id) -> bool:
            task = await caller.get(task_id)
            status = (await fleet.engine.get_workflow_handle(task_id).describe()).status
            assert is_terminal(state(task)), f"{state(task)}, workflow {status}"
            assert status != WorkflowExecutionStatus.RUNNING, state(task)
            return True

        try:
            await eventually(over, within=30, what=f"the end of workflow {workflow.id}")
        except AssertionError as error:
            found.append(str(error))
    return found


async def _never_in_a_new_run(fleet: Fleet, journal: Journal) -> list[str]:
    """Count the switches of runs: where the history of a run is short there are some."""
    query = f"ExecutionStatus = 'ContinuedAsNew' AND WorkflowType = '{AGENT_WORKFLOW}'"
    switches = (await fleet.engine.count_workflows(query)).count
    journal.counts["agents that went on in a new run"] = switches
    limit = weather(SEED).continue_as_new_after
    few = SECONDS < MANY_SECONDS or CLIENTS < MANY_CLIENTS
    if limit > SMALL or switches or few:
        return []
    return [f"no agent went on in a new run, though histories were to have {limit} events"]


async def _unreplayable(fleet: Fleet) -> list[str]:
    agent = BenchAgent(ledger=Ledger(path=None), out_of_band=OutOfBand(folder=None))
    replayer = Replayer(
        workflows=[Payments],
        plugins=[A2APlugin(agent_executor=agent, options=AGENT_OPTIONS)],
        data_converter=fleet.engine.data_converter,
    )
    failures = await replay_all(replayer, fleet.engine, fleet.task_queue)
    return [f"run {run} does not replay: {error}" for run, error in failures.items()]


async def _wait_for_receiver(journal: Journal, receiver: Hook, finals: dict[str, Json]) -> None:
    def told() -> bool:
        wrong = checker.receivers_were_told(journal.hooked, _told(receiver), finals)
        assert not wrong, wrong
        return True

    try:
        await eventually(told, within=60, every=0.5)
    except AssertionError:
        return  # the verdict says it


def _told(receiver: Hook) -> dict[str, list[str]]:
    told: dict[str, list[str]] = defaultdict(list)
    for each in receiver.taken:
        event = each.json[each.kind]
        if each.state:
            told[str(event.get("taskId") or event.get("id"))].append(each.state)
    return told
