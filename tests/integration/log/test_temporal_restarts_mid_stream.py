"""The Temporal server is killed in the middle of streams and comes back: they go on."""

from pathlib import Path

from tests.support.in_process import Scripted, running
from tests.support.streams import watching
from tests.support.temporal_server import running_server, stopped_and_started
from tests.support.waiting import eventually


async def test_streams_go_on_after_the_server_was_killed(tmp_path: Path) -> None:
    async with running_server(tmp_path) as server:
        client = await server.client()
        scripted = Scripted()
        async with running(client, scripted) as agent:
            parked = (await agent.send("ask")).id
            working = await agent.start("say:a chunks:5 gate chunks:5")
            async with (
                watching(agent.subscribe(parked)) as quiet,
                watching(agent.subscribe(working)) as busy,
            ):
                await quiet.until(1)
                await eventually(lambda: len(busy.chunks) == 5, within=20, what="five chunks")
                await stopped_and_started(server)
                assert not quiet.ended
                assert not busy.ended
                scripted.gate.set()
                await busy.end(within=60)
                await agent.send("chunks:2", task_id=parked, wait=False)
                await quiet.end(within=60)
            assert busy.chunks == [f"1.{index} " for index in range(5)] * 2
            assert busy.last_state == "TASK_STATE_COMPLETED"
            assert quiet.chunks == ["2.0 ", "2.1 "]
            assert quiet.last_state == "TASK_STATE_COMPLETED"
