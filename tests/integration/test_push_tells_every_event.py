"""P1: a receiver is told the same events however the message was sent, and with nobody there."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster
from tests.support.hook import Hook, hook
from tests.support.push import inline, set_config
from tests.support.waiting import eventually

EVENTS = "status 3; chunks 2 16 0.05"


@pytest.fixture
def cluster(pusher: Cluster) -> Cluster:
    return pusher


async def blocking(caller: Caller, receiver: Hook) -> None:
    await caller.send(EVENTS, configuration=inline(receiver.config()))


async def at_once(caller: Caller, receiver: Hook) -> None:
    await caller.start(EVENTS, configuration=inline(receiver.config()))


async def streaming(caller: Caller, receiver: Hook) -> None:
    async with caller.stream(EVENTS, configuration=inline(receiver.config())) as frames:
        await frames.next()


async def told(send: Callable[[Caller, Hook], Awaitable[None]], caller: Caller) -> list[str]:
    async with hook() as receiver:
        await send(caller, receiver)
        await receiver.told("COMPLETED")
        return [f"{each.kind} {each.state}".strip() for each in receiver.taken]


async def test_every_way_of_sending_makes_the_same_notifications(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        results: list[list[str]] = await all_of(
            told(blocking, caller), told(at_once, caller), told(streaming, caller)
        )
        for result in results:
            assert result[0] == "task SUBMITTED"
            assert result.count("statusUpdate WORKING") == 4
            assert "artifactUpdate" in result
            assert result[-1] == "statusUpdate COMPLETED"
            assert result.count("statusUpdate COMPLETED") == 1

    await over_every_binding(cluster.caller, scenario)


async def test_a_late_config_is_told_what_follows(cluster: Cluster) -> None:
    async with hook() as receiver:
        task = await cluster.caller.start("sleep 1; echo done")
        await eventually(lambda: cluster.ledger.lines(task["id"]), within=30)
        await set_config(cluster.caller, task["id"], receiver.config())
        await receiver.told("COMPLETED")
        assert "WORKING" not in receiver.states()
        assert "SUBMITTED" not in receiver.states()


async def test_changes_without_a_request_are_told(cluster: Cluster) -> None:
    async with hook() as released, hook() as terminated:
        one = await cluster.caller.start("auth", configuration=inline(released.config()))
        other = await cluster.caller.start("ask it", configuration=inline(terminated.config()))
        await released.told("AUTH_REQUIRED")
        cluster.release(one["id"])
        await released.told("COMPLETED")
        await terminated.told("INPUT_REQUIRED")
        await cluster.workflow(other["id"]).terminate("by the operator")
        await terminated.told("FAILED")
        assert terminated.states() == ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "FAILED"]
