"""A blocking send comes back when the agent asks, and never with the question already answered."""

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.frames import state_in
from tests.support.results import artifact_text, state, status_text


async def test_a_question_is_answered_with_a_blocking_send(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        asked = await caller.send_task("ask Which colour?")
        assert state(asked) == "INPUT_REQUIRED"
        assert status_text(asked) == "Which colour?"

        done = await caller.send_task("blue", task_id=asked["id"])

        assert state(done) == "COMPLETED"
        assert artifact_text(done, "answer") == "blue"

    await over_every_binding(cluster.caller, scenario)


async def test_the_answer_to_the_first_question_brings_the_second(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        here, there = cluster.callers(binding=caller.binding)
        first = await here.send_task("ask2 2")
        assert status_text(first) == "First question?"

        # The second question takes two seconds: what stood there before would come back at once.
        second = await there.send_task("one", task_id=first["id"])
        assert state(second) == "INPUT_REQUIRED"
        assert status_text(second) == "Second question?"

        done = await here.send_task("two", task_id=first["id"])
        assert state(done) == "COMPLETED"
        answers = [a["parts"][0]["text"] for a in done["artifacts"] if a["name"] == "answer"]
        assert answers == ["one", "two"]

    await over_every_binding(cluster.caller, scenario)


async def test_a_credential_is_waited_for_with_streams_open(cluster: Cluster) -> None:
    secret = "s3cret-credential"

    async def scenario(caller: Caller) -> None:
        async with caller.stream("auth") as frames:
            task_id = (await frames.next())["task"]["id"]
            asking = await frames.until_state("AUTH_REQUIRED")
            assert asking["statusUpdate"]["status"]["message"]["parts"]

            cluster.release(task_id, secret)

            received = await frames.to_the_end(within=30)
        assert [state_in(frame) for frame in received if state_in(frame)][-2:] == [
            "WORKING",
            "COMPLETED",
        ]
        done = await caller.get(task_id)
        assert artifact_text(done, "auth") == "authorized"
        assert secret not in str(done) + str(received)

    await over_every_binding(cluster.caller, scenario)


async def test_a_blocking_send_returns_when_a_credential_is_needed(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        asked = await caller.send_task("auth")
        assert state(asked) == "AUTH_REQUIRED"
        assert status_text(asked)
        await caller.cancel(asked["id"])

        by_message = await caller.send_task("auth-message")
        assert state(by_message) == "AUTH_REQUIRED"
        done = await caller.send_task("here it is", task_id=by_message["id"])
        assert state(done) == "COMPLETED"

    await over_every_binding(cluster.caller, scenario)
