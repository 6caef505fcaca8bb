"""Ids that clients choose have a length: each event and message of a task repeats them."""

from tests.support.calls import Caller, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.waiting import eventually

LONGEST, LONGEST_CONTEXT = "x" * 512, "x" * 4096


async def test_ids_that_are_too_long_are_refused(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        too_long = LONGEST + "x"
        for sent in (
            caller.send("echo x", message_id=too_long),
            caller.send("echo x", context_id=f"{LONGEST_CONTEXT}x"),
            caller.send("echo x", task_id=too_long),
        ):
            await refused(sent, code=-32602, status=400)
        task = await caller.send_task(
            "echo x", context_id=f"{LONGEST_CONTEXT[1:]}{caller.binding[0]}"
        )

        async def listed() -> list[str]:
            found = await caller.list(contextId=task["contextId"])
            return [each["id"] for each in found["tasks"]]

        assert await eventually(listed, within=30) == [task["id"]]

    await over_every_binding(cluster.caller, scenario)
