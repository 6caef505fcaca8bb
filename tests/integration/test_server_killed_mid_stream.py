"""A server process dies in the middle of a stream: the client goes on at another one."""

import httpx
import pytest

from tests.bench_agent.commands import chunk_text
from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, all_of, over_every_binding
from tests.support.frames import Frame, rebuilt_artifacts, state_in, terminal_frames
from tests.support.results import artifact_text, state
from tests.support.waiting import eventually

CHUNKS, SIZE = 20, 1024


def _is_chunk(frame: Frame) -> bool:
    return "artifactUpdate" in frame


async def test_a_resubscription_elsewhere_completes_the_artifact(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(apis=2) as cluster:
        streaming: list[str] = []

        async def scenario(caller: Caller) -> None:
            async with caller.stream(f"chunks {CHUNKS} {SIZE} 0.3") as frames:
                task_id = (await frames.next())["task"]["id"]
                for _ in range(5):
                    await frames.until(_is_chunk)
                streaming.append(caller.binding)
                await eventually(lambda: frames.closed, within=30)
                assert terminal_frames(frames.received) == []

            other = cluster.callers(binding=caller.binding)[1]
            async with other.subscribe(task_id) as frames:
                snapshot = (await frames.next(within=30))["task"]
                assert len(artifact_text(snapshot, "chunks")) >= 5 * SIZE
                received = await frames.to_the_end(within=30)

            assert state_in(received[-1]) == "COMPLETED"
            assert len(terminal_frames(received)) == 1
            assert all(_is_chunk(frame) or "statusUpdate" in frame for frame in received[1:])
            wanted = "".join(chunk_text(n, SIZE) for n in range(CHUNKS))
            assert list(rebuilt_artifacts(received).values()) == [wanted]
            done = await other.get(task_id)
            assert artifact_text(done, "chunks") == wanted
            assert len(snapshot["artifacts"][0]["parts"]) + sum(map(_is_chunk, received)) == CHUNKS

        async def kill_the_server() -> None:
            await eventually(lambda: len(streaming) == len(BINDINGS), within=20)
            cluster.apis[0].process.kill()

        await all_of(over_every_binding(cluster.caller, scenario), kill_the_server())


async def test_a_blocking_send_is_repeated_at_another_server(new_cluster: NewCluster) -> None:
    async with new_cluster(apis=2) as cluster:
        first, second = cluster.callers()
        again = {"message_id": "repeated"}

        async def blocked() -> None:
            with pytest.raises(httpx.TransportError):
                await first.send_task("effect once; sleep 4", **again)

        async def kill_the_server() -> None:
            await eventually(lambda: cluster.ledger.lines(None, "tick"), within=30)
            cluster.apis[0].process.kill()

        await all_of(blocked(), kill_the_server())
        done = await second.send_task("effect once; sleep 4", **again)

        assert state(done) == "COMPLETED"
        assert cluster.ledger.count(done["id"], "effect") == 1
