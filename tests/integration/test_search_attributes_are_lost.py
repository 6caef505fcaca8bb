"""The namespace loses the search attributes of tasks while servers run: nothing needs a restart."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from temporalio.api.operatorservice.v1 import RemoveSearchAttributesRequest

from tests.support.calls import Caller, CallError, refused
from tests.support.cluster import Cluster, running_cluster
from tests.support.results import Json, artifact_text, state
from tests.support.temporal_server import NAMESPACE, running_server
from tests.support.waiting import eventually


async def _goes_on(caller: Caller) -> None:
    """New tasks are made and listed again after errors that say to try again."""
    made = await _patiently(lambda: caller.send_task("echo again"))
    assert artifact_text(made, "echo") == "again"

    async def listed() -> bool:
        page = await _patiently(caller.list)
        return made["id"] in [task["id"] for task in page["tasks"]]

    await eventually(listed, within=20)


async def _patiently(call: Callable[[], Awaitable[Json]]) -> Json:
    """Make a call again for as long as it is answered with the retryable error."""

    async def answered() -> Json | None:
        try:
            return await call()
        except CallError as error:
            if error.code != -32603:
                raise
            return None

    return await eventually(answered, within=30, every=0.5)


async def _lose_attributes(cluster: Cluster) -> None:
    await cluster.client.operator_service.remove_search_attributes(
        RemoveSearchAttributesRequest(
            namespace=NAMESPACE, search_attributes=["A2aState", "A2aUpdatedAt"]
        )
    )


async def test_attributes_that_an_operator_removes_are_registered_again(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path) as temporal,
        running_cluster(temporal, tmp_path, apis=2, workers=1) as cluster,
    ):
        parked = await cluster.caller.send_task("ask colour?")
        for caller in cluster.callers():
            assert (await _patiently(caller.list))["pageSize"]
        await _lose_attributes(cluster)
        for caller in cluster.callers():
            await _goes_on(caller)
        done = await cluster.caller.send_task("blue", task_id=parked["id"])
        assert artifact_text(done, "answer") == "blue"


async def test_a_temporal_that_comes_back_empty_is_used_as_a_new_one(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path) as temporal,
        running_cluster(temporal, tmp_path, apis=1, workers=1) as cluster,
    ):
        caller = cluster.caller
        parked = await caller.send_task("ask colour?")
        async with caller.subscribe(parked["id"]) as frames:
            await frames.next()
            temporal.lose_everything()
            await temporal.start()
            with pytest.raises(CallError, match="-32001"):
                await frames.to_the_end(within=30)
        await refused(caller.get(parked["id"]), code=-32001)
        await _goes_on(caller)
        asked = await caller.send_task("ask colour?")
        assert state(asked) == "INPUT_REQUIRED"
