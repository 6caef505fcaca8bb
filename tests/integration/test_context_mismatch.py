"""A message that names another context than its task has is refused before it changes anything."""

import uuid

from tests.support.calls import Caller, over_every_binding, refused, refused_to_open
from tests.support.cluster import Cluster
from tests.support.results import artifact_text, state


async def test_a_message_of_another_context_leaves_no_trace(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        parked = await caller.send_task("ask colour?", context_id=f"c1-{uuid.uuid4()}")
        task_id = parked["id"]
        before = await caller.get(task_id)
        before_it = await cluster.requests(task_id)

        wrong = {"task_id": task_id, "context_id": "c2"}
        await refused(caller.send("green", **wrong), code=-32602, status=400)
        await refused_to_open(caller.stream("green", **wrong), code=-32602, status=400)

        assert await caller.get(task_id) == before
        assert await cluster.requests(task_id) == before_it
        answered = await caller.send_task("blue", task_id=task_id, context_id=parked["contextId"])
        assert state(answered) == "COMPLETED"
        assert artifact_text(answered, "answer") == "blue"

    await over_every_binding(cluster.caller, scenario)


async def test_a_repeated_message_that_names_another_context_is_refused(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        message_id, context_id = f"m-{uuid.uuid4()}", f"c1-{uuid.uuid4()}"
        parked = await caller.send_task("ask colour?", message_id=message_id, context_id=context_id)

        wrong = {"message_id": message_id, "context_id": f"c2-{uuid.uuid4()}"}
        await refused(caller.send("ask colour?", **wrong), code=-32602, status=400)
        await refused_to_open(caller.stream("ask colour?", **wrong), code=-32602, status=400)

        for same in ({"context_id": context_id}, {}):
            again = await caller.send_task("ask colour?", message_id=message_id, **same)
            assert again["id"] == parked["id"]

    await over_every_binding(cluster.caller, scenario)
