"""Every process is killed in the middle of its work and started again: what is left afterwards?"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.conformance.suites.ground import Ground
from tests.support.calls import Caller
from tests.support.hook import Hook, hook
from tests.support.push import get_config, set_config
from tests.support.results import CallError, Json, state
from tests.support.waiting import eventually

_WITHIN = 60.0

Check = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class _Tasks:
    """Four tasks of one context, each in a situation of its own."""

    context_id: str
    done: str
    asking: str
    holding: str
    working: str


async def probe(ground: Ground) -> int:
    """Make tasks, kill and restart servers and workers, check; returns how many checks failed."""
    caller = Caller(http=ground.cluster.http, url=ground.url)
    async with hook() as receiver:
        tasks = await _started(caller, receiver)
        await _kill_and_restart(ground)
        return await _report(_checks(caller, receiver, tasks))


async def _started(caller: Caller, receiver: Hook) -> _Tasks:
    context_id = str(uuid.uuid4())
    done = await caller.send_task("tck-complete-task", context_id=context_id)
    asking = await caller.send_task("tck-multi-turn", context_id=context_id)
    holding = await caller.start("tck-cancel", context_id=context_id)
    working = await caller.start("sleep 15", context_id=context_id)
    await set_config(caller, working["id"], {"id": "p", "url": receiver.url})

    async def both_work() -> bool:
        states = [state(await caller.get(each["id"])) for each in (holding, working)]
        return states == ["WORKING", "WORKING"]

    await eventually(both_work, within=_WITHIN, what="two tasks at work")
    return _Tasks(context_id, done["id"], asking["id"], holding["id"], working["id"])


async def _kill_and_restart(ground: Ground) -> None:
    cluster = ground.cluster
    for process in [*(api.process for api in ground.replicas), *cluster.workers]:
        process.kill()
    for api in ground.replicas:
        api.process.start()
    await asyncio.gather(*(api.ready(cluster.http) for api in ground.replicas))
    await asyncio.gather(*(cluster.restart(worker) for worker in cluster.workers))


def _checks(caller: Caller, receiver: Hook, tasks: _Tasks) -> dict[str, Check]:
    async def readable() -> bool:
        return state(await caller.get(tasks.done)) == "COMPLETED"

    async def listed() -> bool:
        async def all_four() -> bool:
            found = await caller.list(contextId=tasks.context_id)
            return len(found["tasks"]) == 4

        return await eventually(all_four, within=_WITHIN)

    async def answered() -> bool:
        return state(await caller.send_task("done", task_id=tasks.asking)) == "COMPLETED"

    async def config_kept() -> bool:
        return (await get_config(caller, tasks.working, "p"))["url"] == receiver.url

    async def resubscribed() -> bool:
        async with caller.subscribe(tasks.working) as frames:
            seen: list[Json] = await frames.to_the_end(within=_WITHIN)
        return "TASK_STATE_COMPLETED" in str(seen[-1])

    async def finished() -> bool:
        return state(await caller.get(tasks.working)) == "COMPLETED"

    async def told() -> bool:
        return bool(await receiver.told("COMPLETED", within=_WITHIN))

    async def canceled() -> bool:
        return state(await caller.cancel(tasks.holding)) == "CANCELED"

    return {
        "a completed task is readable": readable,
        "all four tasks are listed": listed,
        "a question can be answered": answered,
        "a push config is kept": config_kept,
        "a subscription to work under way reaches its end": resubscribed,
        "work under way is finished": finished,
        "the end is pushed": told,
        "a task that works can be canceled": canceled,
    }


async def _report(checks: dict[str, Check]) -> int:
    failed = 0
    for name, check in checks.items():
        why = ""
        try:
            ok = await check()
        except (AssertionError, CallError) as error:
            ok, why = False, f": {error}"
        failed += not ok
        print(f"  {'pass' if ok else 'FAIL'} {name}{why}")
    print(f"restart probe: {len(checks) - failed} passed, {failed} failed", flush=True)
    return failed
