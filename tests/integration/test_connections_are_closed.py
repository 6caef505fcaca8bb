"""Temporal closes its connections now and then; nobody's call may fail for that.

A frontend does so after five minutes and waits a little for what is under way. Here it does so each
second, under load.
"""

import asyncio
from pathlib import Path

from a2a.types import ListTasksRequest, TaskState

from tests.support.in_process import CALL, agent_worker, new_task_queue, served
from tests.support.temporal_server import running_server

SECONDS = 20
CLIENTS = 6
QUICK_CLOSE = [
    '--dynamic-config-value=frontend.keepAliveMaxConnectionAge="1s"',
    '--dynamic-config-value=frontend.keepAliveMaxConnectionAgeGrace="70s"',
]


async def test_no_call_fails_because_its_connection_is_closed(tmp_path: Path) -> None:
    async with running_server(tmp_path, arguments=QUICK_CLOSE) as server:
        queue = new_task_queue()
        async with (
            agent_worker(await server.client(), queue),
            served(await server.client(), queue) as agent,
        ):
            until = asyncio.get_running_loop().time() + SECONDS

            async def use_it() -> int:
                rounds = 0
                while asyncio.get_running_loop().time() < until:
                    asked = await agent.send("chunks:1 ask")
                    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
                    assert (await agent.get(asked.id)).id == asked.id
                    await agent.handler.on_list_tasks(ListTasksRequest(page_size=1), CALL)
                    if rounds % 2:
                        # Not asked how far it is: a worker may have to wait for work that was lost.
                        assert await agent.cancel(asked.id) is not None
                    else:
                        ended = await agent.send("chunks:1", task_id=asked.id)
                        assert ended.status.state == TaskState.TASK_STATE_COMPLETED
                    rounds += 1
                return rounds

            rounds = await asyncio.gather(*(use_it() for _ in range(CLIENTS)))
            assert min(rounds) > 1
