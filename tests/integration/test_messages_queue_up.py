"""Messages to a working task wait in line: each is handled once, in order, one at a time."""

from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster
from tests.support.frames import state_in, terminal_frames
from tests.support.results import state, text_of, user_texts


async def test_five_messages_at_once_are_handled_one_after_another(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep 1.5")
        callers = cluster.callers(binding=caller.binding)
        texts = [f"sleep 0.3; echo number {n}" for n in range(5)]
        async with caller.subscribe(task["id"]) as frames:
            answers = await all_of(
                *(
                    callers[n % 2].send_task(text, task_id=task["id"])
                    for n, text in enumerate(texts)
                )
            )
            received = await frames.to_the_end(within=30)

        assert {state(answer) for answer in answers} == {"COMPLETED"}
        assert len(terminal_frames(received)) == 1
        assert state_in(received[-1]) == "COMPLETED"
        done = await caller.get(task["id"])
        asked = user_texts(done)
        assert asked[0] == "sleep 1.5"
        assert sorted(asked[1:]) == texts
        # The order of the history is the order in which they were handled.
        echoed = [text_of(a) for a in done["artifacts"] if a["name"] == "echo"]
        assert echoed == [text.removeprefix("sleep 0.3; echo ") for text in asked[1:]]
        # One at a time: a start is always followed by its own stop.
        kinds = [line.kind for line in cluster.ledger.lines(task["id"], "start", "stop")]
        assert kinds == ["start", "stop"] * 6

    await over_every_binding(cluster.caller, scenario)


async def test_a_message_sent_twice_is_handled_once(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep 1")
        again = {"task_id": task["id"], "message_id": f"once-{task['id']}"}
        here, there = cluster.callers(binding=caller.binding)

        answers = await all_of(
            here.send_task("effect once", **again),
            there.send_task("effect once", **again),
            here.send_task("effect once", **again),
        )

        assert {state(answer) for answer in answers} == {"COMPLETED"}
        assert cluster.ledger.count(task["id"], "effect") == 1
        assert user_texts(answers[0]) == ["sleep 1", "effect once"]

    await over_every_binding(cluster.caller, scenario)
