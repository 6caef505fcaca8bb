"""SendMessage waits for the end by default, and does not when it is told not to."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster, Options
from tests.support.processes import stopwatch
from tests.support.results import artifact_text, is_terminal, state, text_of
from tests.support.waiting import within


async def test_blocking_is_the_default(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async def blocking(return_immediately: bool | None) -> None:
            watch = stopwatch()
            task = await caller.send_task("sleep 2", return_immediately=return_immediately)
            assert watch.seconds >= 2
            assert state(task) == "COMPLETED"
            assert artifact_text(task, "sleep") == "slept 2"

        await all_of(blocking(None), blocking(False))

    await over_every_binding(cluster.caller, scenario)


async def test_return_immediately_answers_before_the_work_is_done(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await within(15, caller.start("sleep 30"))
        assert not is_terminal(state(task))
        assert task["contextId"]
        await caller.cancel(task["id"])

    await over_every_binding(cluster.caller, scenario)


async def test_a_direct_message_is_the_answer_in_every_mode(new_cluster: NewCluster) -> None:
    # How long the server waits for the agent's first word is an option; here, long enough for
    # the busiest machine.
    patient = Options(api=("--direct-message-wait=20",))
    async with new_cluster(options=patient) as cluster:

        async def scenario(caller: Caller) -> None:
            for mode in (None, False, True):
                answer = await caller.send("msg hi", return_immediately=mode)
                assert set(answer) == {"message"}, answer
                assert text_of(answer["message"]) == "hi"
                assert answer["message"]["contextId"]
            async with caller.stream("msg hi") as frames:
                received = await frames.to_the_end(within=30)
            assert [set(frame) for frame in received] == [{"message"}]

        await over_every_binding(cluster.caller, scenario)
