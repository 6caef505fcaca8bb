"""However an agent publishes an artifact, stream and GetTask hold the same, once each, in order."""

from tests.bench_agent.commands import chunk_text
from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, all_of, over_every_binding
from tests.support.cluster import Cluster
from tests.support.frames import rebuilt_artifacts
from tests.support.results import Json, artifact_text, state, text_of
from tests.support.waiting import eventually


async def _streamed(caller: Caller, command: str, *, end: str = "COMPLETED") -> Json:
    """Stream a command; the artifacts a client has built must be those of GetTask."""
    async with caller.stream(command) as frames:
        received = await frames.to_the_end(within=30)
    task = await caller.get(received[0]["task"]["id"])
    assert state(task) == end, task
    held = {a["artifactId"]: text_of(a) for a in task.get("artifacts", [])}
    assert rebuilt_artifacts(received) == held
    return task


async def test_chunks_make_one_artifact(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for pause in ("0", "0.03"):
            task = await _streamed(caller, f"chunks 30 100 {pause}")
            wanted = "".join(chunk_text(n, 100) for n in range(30))
            assert artifact_text(task, "chunks") == wanted

    await over_every_binding(cluster.caller, scenario)


async def test_an_append_without_a_beginning_creates_the_artifact(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("append all of it") as frames:
            received = await frames.to_the_end(within=30)
        (update,) = [f["artifactUpdate"] for f in received if "artifactUpdate" in f]
        assert not update.get("append")
        task = await caller.get(received[0]["task"]["id"])
        assert artifact_text(task, "append") == "all of it"

    await over_every_binding(cluster.caller, scenario)


async def test_the_same_id_without_append_replaces(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await _streamed(caller, "replace")
        assert artifact_text(task, "replace") == "new text"

    await over_every_binding(cluster.caller, scenario)


async def test_a_chunk_behind_the_last_one_fails_the_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await _streamed(caller, "after-last", end="FAILED")
        assert artifact_text(task, "after-last") == "first last "

    await over_every_binding(cluster.caller, scenario)


async def test_interleaved_artifacts_keep_apart(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await _streamed(caller, "interleave 6; fan 5 300")
        texts = [text_of(a) for a in task["artifacts"]]
        for half in ("left", "right"):
            assert "".join(f"{half} {n}\n" for n in range(6)) in texts
        assert sorted(texts[2:]) == [chunk_text(n, 300) for n in range(5)]

    await over_every_binding(cluster.caller, scenario)


async def test_a_crash_in_the_middle_leaves_every_chunk_once(new_cluster: NewCluster) -> None:
    async with new_cluster() as cluster:
        (worker,) = cluster.workers
        streaming: list[str] = []

        async def scenario(caller: Caller) -> None:
            async with caller.stream("chunks 10 64 0.3") as frames:
                for _ in range(3):
                    await frames.until(lambda frame: "artifactUpdate" in frame)
                streaming.append(caller.binding)
                received = await frames.to_the_end(within=40)
            task = await caller.get(received[0]["task"]["id"])
            wanted = "".join(chunk_text(n, 64) for n in range(10))
            assert artifact_text(task, "chunks") == wanted
            assert list(rebuilt_artifacts(received).values()) == [wanted]

        async def crash() -> None:
            await eventually(lambda: len(streaming) == len(BINDINGS), within=30)
            worker.kill()
            await cluster.restart(worker)

        await all_of(over_every_binding(cluster.caller, scenario), crash())


async def test_a_large_artifact_in_chunks_arrives_whole(cluster: Cluster) -> None:
    task = await _streamed(cluster.caller, "chunks 20 100000 0")
    wanted = "".join(chunk_text(n, 100_000) for n in range(20))
    assert artifact_text(task, "chunks") == wanted


async def test_an_artifact_too_large_for_one_entry_fails_the_task(cluster: Cluster) -> None:
    async def failed() -> Json | None:
        task = await cluster.caller.send_task("big 3000000")
        return task if state(task) == "FAILED" else None

    task = await eventually(failed, within=30)
    assert "bytes" in text_of(task["status"]["message"])
