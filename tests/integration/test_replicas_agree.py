"""Any server answers the same, and an answer given at one keeps what came through the others."""

from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import artifact_text, state, user_texts


async def test_every_server_reads_the_same_task_at_the_same_time(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        here, there = cluster.callers(binding=caller.binding)
        for command in ("chunks 3 20 0; ask colour?", "reject", "boom", "whoami"):
            task = await here.send_task(command)
            assert await there.get(task["id"]) == await here.get(task["id"]) == task

    await over_every_binding(cluster.caller, scenario)


async def test_an_answer_at_one_server_keeps_what_was_written_through_the_other(
    cluster: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        here, there = cluster.callers(binding=caller.binding)
        parked = await here.send_task("echo first; ask colour?")
        answered = await there.send_task("echo second; ask size?", task_id=parked["id"])
        done = await here.send_task("large", task_id=parked["id"])

        assert state(done) == "COMPLETED"
        assert user_texts(done) == [
            "echo first; ask colour?",
            "echo second; ask size?",
            "large",
        ]
        kept = {a["artifactId"]: a for a in done["artifacts"]}
        for artifact in [*parked["artifacts"], *answered["artifacts"]]:
            assert kept[artifact["artifactId"]] == artifact

    await over_every_binding(cluster.caller, scenario)


async def test_answers_at_two_servers_at_once_are_both_kept(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        here, there = cluster.callers(binding=caller.binding)
        parked = await here.send_task("ask colour?")
        # Each works for a while: the other comes before the task has ended.
        answers = ["pause 1; echo blue", "pause 1; echo green"]
        await all_of(
            here.send_task(answers[0], task_id=parked["id"]),
            there.send_task(answers[1], task_id=parked["id"]),
        )
        done = await here.get(parked["id"])
        assert state(done) == "COMPLETED"
        assert sorted(user_texts(done)[1:]) == answers
        texts = {part["text"] for a in done["artifacts"] for part in a["parts"]}
        assert {"blue", "green"} <= texts
        assert artifact_text(done, "answer") in answers

    await over_every_binding(cluster.caller, scenario)
