"""Temporal itself dies and comes back: calls fail fast and honestly, no task is lost."""

from pathlib import Path

from tests.support.calls import BINDINGS, Caller, CallError, all_of, refused
from tests.support.cluster import Cluster, running_cluster
from tests.support.frames import rebuilt_artifacts, state_in, terminal_frames
from tests.support.results import Json, artifact_text, state, user_texts
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually, within


async def _fails_honestly(caller: Caller, parked: Json) -> None:
    """Every call is answered in time by a generic error that says nothing of the inside."""
    caller = caller.once()
    calls = (
        caller.get(parked["id"]),
        caller.cancel(parked["id"]),
        caller.start("echo new"),
        caller.start("blue", task_id=parked["id"]),
    )
    errors = await all_of(
        *(within(20, refused(call, code=-32603), what="the error") for call in calls)
    )
    for error in errors:
        for inside in ("rpc", "temporal", "127.0.0.1", "traceback"):
            assert inside not in error.message.lower(), error


async def _everything_survived(cluster: Cluster, parked: Json, working: Json) -> None:
    caller = cluster.caller

    answer = {"task_id": parked["id"], "message_id": f"answer-{parked['id']}"}

    async def answered() -> Json | None:
        """Send the same answer until it gets through, as a client does on a retryable error."""
        try:
            return await caller.once().send_task("blue", **answer)
        except CallError as error:
            if error.code != -32603:
                raise
            return None

    done = await eventually(answered, within=30)
    assert artifact_text(done, "answer") == "blue"
    assert user_texts(done) == ["ask colour?", "blue"]

    async def completed() -> bool:
        return state(await caller.get(working["id"])) == "COMPLETED"

    await eventually(completed, within=60)


async def test_tasks_and_streams_survive_the_death_of_temporal(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path) as temporal,
        running_cluster(temporal, tmp_path, apis=1, workers=1) as cluster,
    ):
        caller = cluster.caller
        parked = await caller.send_task("ask colour?")
        working = await caller.start("sleep 5")
        async with caller.stream("chunks 10 64 0.5") as frames:
            for _ in range(2):
                await frames.until(lambda frame: "artifactUpdate" in frame)

            temporal.process.kill()
            await all_of(*(_fails_honestly(caller.over(name), parked) for name in BINDINGS))
            card = await cluster.http.get(f"{caller.url}/.well-known/agent-card.json")
            assert card.status_code == 200
            await temporal.start()

            await _everything_survived(cluster, parked, working)
            received = await frames.to_the_end(within=60)
        if terminal_frames(received):
            task_id = received[0]["task"]["id"]
            done = await caller.get(task_id)
            assert state_in(received[-1]) == state(done) == "COMPLETED"
            assert list(rebuilt_artifacts(received).values()) == [artifact_text(done, "chunks")]
