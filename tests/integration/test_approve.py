"""Approvals over real processes: the effect only after a yes, once, whoever answers and where."""

from tests.support.calls import Caller, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.results import CallError, Json, state, status_text
from tests.support.waiting import eventually

APPROVALS = "https://a2a-temporal.dev/extensions/approvals/v1"


async def test_a_yes_takes_effect_once(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for answer in ({"text": "approve"}, {"data": {"approved": True}}):
            here, there = cluster.callers(binding=caller.binding)
            task = await here.as_user("alice").send_task("approve wire-100")
            assert state(task) == "INPUT_REQUIRED"
            assert cluster.ledger.count(task["id"], "effect") == 0
            done = await there.as_user("alice").send_task(parts=[answer], task_id=task["id"])
            assert (state(done), done["id"]) == ("COMPLETED", task["id"])
            (line,) = cluster.ledger.lines(task["id"], "effect")
            assert line.step == "wire-100"

    await over_every_binding(cluster.caller, scenario)


async def test_a_no_takes_no_effect_and_says_why(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("approve wire-100")
        reason = {"data": {"approved": False, "comment": "too much"}}
        done = await caller.send_task(parts=[reason], task_id=task["id"])
        assert (state(done), status_text(done)) == ("REJECTED", "Not done: too much.")
        assert cluster.ledger.count(task["id"], "effect") == 0
        await refused(caller.send("approve", task_id=task["id"]), code=-32004)

    await over_every_binding(cluster.caller, scenario)


async def test_unclear_words_ask_again(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("approve wire-100")
        again = await caller.send_task("well, why not", task_id=task["id"])
        assert state(again) == "INPUT_REQUIRED"
        assert "neither a yes nor a no" in status_text(again)
        assert state(await caller.send_task("yes", task_id=task["id"])) == "COMPLETED"

    await over_every_binding(cluster.caller, scenario)


async def test_each_step_only_with_its_own_yes(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        alice, carol = caller.as_user("alice"), caller.as_user("carol")
        task = await alice.send_task("approve2 a b")
        task_id = task["id"]
        (first,) = _asked(task)

        async def approve(who: Caller) -> Json | CallError:
            try:
                return await who.send_task("approve", task_id=task_id, return_immediately=True)
            except CallError as error:
                return error

        await all_of(approve(alice), approve(carol))

        async def second_asked() -> str:
            asked = _asked(await alice.get(task_id))
            return asked[0] if asked and asked[0] != first else ""

        second = await eventually(second_asked, within=20, what="the second request")
        repeated = await carol.send_task("approve", task_id=task_id)
        stale = await carol.send_task(
            parts=[{"data": {"approved": True, "request": first}}], task_id=task_id
        )
        assert [state(each) for each in (repeated, stale)] == ["INPUT_REQUIRED"] * 2
        assert [line.step for line in cluster.ledger.lines(task_id, "effect")] == ["a"]
        done = await carol.send_task(
            parts=[{"data": {"approved": True, "request": second}}], task_id=task_id
        )
        assert state(done) == "COMPLETED"
        assert [line.step for line in cluster.ledger.lines(task_id, "effect")] == ["a", "b"]
        await refused(caller.as_user("bob").send("approve", task_id=task_id), code=-32001)

    await over_every_binding(cluster.caller, scenario)


async def test_after_the_deadline_no_answer_counts(cluster: Cluster) -> None:
    caller = cluster.caller
    task = await caller.send_task("approve-within 1 wire-100")

    async def failed() -> bool:
        return state(await caller.get(task["id"])) == "FAILED"

    await eventually(failed, within=30)
    await refused(caller.send("approve", task_id=task["id"]), code=-32004)
    assert cluster.ledger.count(task["id"], "effect") == 0


async def test_orchestrating_code_that_raises_fails_its_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for kind in ("", "result", "base", "group", "exit", "canceled", "timeout"):
            task = await caller.send_task(f"boom-wf {kind}".strip())
            assert state(task) == "FAILED", kind
            assert "hunter2" not in str(task)

    await over_every_binding(cluster.caller, scenario)


async def test_a_child_workflow_works_for_its_task(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("child hello")
    assert state(task) == "COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "hello"}]


def _asked(task: Json) -> list[str]:
    message = task["status"].get("message", {})
    about = message.get("metadata", {}).get(APPROVALS, {})
    return [request["id"] for request in about.get("requests", [])]
