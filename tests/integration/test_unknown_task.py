"""A taskId the server did not give out is not found, and nothing comes into being under it."""

import uuid

from tests.support.calls import Caller, over_every_binding, refused, refused_to_open
from tests.support.cluster import Cluster
from tests.support.results import state


async def _not_found(caller: Caller, task_id: str) -> list[str]:
    """Try everything with an id; return the texts of the refusals."""
    errors = [
        await refused(caller.get(task_id), code=-32001, status=404),
        await refused(caller.cancel(task_id), code=-32001, status=404),
        await refused(caller.send("echo hi", task_id=task_id), code=-32001, status=404),
        await refused(caller.start("echo hi", task_id=task_id), code=-32001, status=404),
        await refused_to_open(caller.stream("echo hi", task_id=task_id), code=-32001, status=404),
        await refused_to_open(caller.subscribe(task_id), code=-32001, status=404),
    ]
    return [error.message.replace(task_id, "<id>") for error in errors]


async def test_an_id_that_never_was_is_not_found(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for unknown in (str(uuid.uuid4()), "tsak-with-a-typo"):
            await _not_found(caller, unknown)
            assert not await cluster.known_to_temporal(unknown)

    await over_every_binding(cluster.caller, scenario)


async def test_an_id_that_temporal_would_not_take_is_not_found(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task_id = "x" * 1001
        await refused(caller.get(task_id), code=-32001, status=404)
        await refused(caller.cancel(task_id), code=-32001, status=404)
        await refused_to_open(caller.subscribe(task_id), code=-32001, status=404)

    await over_every_binding(cluster.caller, scenario)


async def test_the_task_of_another_user_is_not_found(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        alice, bob = caller.as_user("alice"), caller.as_user("bob")
        task = await alice.send_task("ask colour?")
        before_it = await cluster.requests(task["id"])

        unlike = await _not_found(bob, task["id"])
        assert unlike == await _not_found(bob, str(uuid.uuid4()))
        await _not_found(caller.as_user(None), task["id"])
        await _not_found(alice.as_user("alice", tenant="elsewhere"), task["id"])

        assert await cluster.requests(task["id"]) == before_it
        assert state(await alice.send_task("blue", task_id=task["id"])) == "COMPLETED"

    await over_every_binding(cluster.caller, scenario)


async def test_a_deleted_task_is_not_found(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("echo done")
        await cluster.delete(task["id"])
        await _not_found(caller, task["id"])
        assert not await cluster.known_to_temporal(task["id"])

    await over_every_binding(cluster.caller, scenario)


async def test_an_unknown_bearer_token_is_refused(cluster: Cluster) -> None:
    response = await cluster.caller.as_user("mallory").raw("GetTask", {"id": "x"})
    assert response.status_code == 401
