"""A message with only a taskId belongs to the context of its task, everywhere."""

import json

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import artifact_data


async def test_a_follow_up_without_context_carries_that_of_its_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        parked = await caller.send_task("ask who am I?")
        context_id = parked["contextId"]
        assert context_id
        async with (
            caller.subscribe(parked["id"]) as subscription,
            caller.stream("whoami", task_id=parked["id"]) as stream,
        ):
            received = await subscription.to_the_end(within=30)
            received += await stream.to_the_end(within=30)
        done = await caller.get(parked["id"])

        assert artifact_data(done, "whoami")["contextId"] == context_id
        assert {message["contextId"] for message in done["history"]} == {context_id}
        assert {message["taskId"] for message in done["history"]} == {done["id"]}
        assert _context_ids(received) == {context_id}

    await over_every_binding(cluster.caller, scenario)


async def test_a_context_the_client_chose_is_kept(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("whoami", context_id="chosen by the client")
        assert task["contextId"] == "chosen by the client"
        assert artifact_data(task, "whoami")["contextId"] == "chosen by the client"

    await over_every_binding(cluster.caller, scenario)


def _context_ids(frames: object) -> set[str]:
    """Find every contextId, however deep."""
    found: set[str] = set()

    def collect(pairs: list[tuple[str, object]]) -> None:
        found.update(str(value) for key, value in pairs if key == "contextId")

    json.loads(json.dumps(frames), object_pairs_hook=collect)
    return found
