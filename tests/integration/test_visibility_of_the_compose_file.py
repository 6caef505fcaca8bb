"""Temporal as docker-compose.yml sets it up answers many lists at once."""

import asyncio
from pathlib import Path
from typing import Any

import yaml
from a2a.types import ListTasksRequest

from tests.support.compose import config
from tests.support.in_process import CALL, agent_worker, new_task_queue, served
from tests.support.temporal_server import running_server

# What a production server has by default; the development server raises it to 100.
DEFAULT = {"frontend.namespaceRPS.visibility": 10}
AT_ONCE = 40


async def test_as_many_lists_at_once_as_a_few_clients_ask_for(tmp_path: Path) -> None:
    settings = {**DEFAULT, **_dynamic_config()}
    arguments = [f"--dynamic-config-value={name}={value}" for name, value in settings.items()]
    async with running_server(tmp_path, arguments=arguments) as temporal:
        client = await temporal.client()
        queue = new_task_queue()
        async with agent_worker(client, queue), served(client, queue) as serving:
            await serving.send("ask")
            listing = [
                serving.handler.on_list_tasks(ListTasksRequest(page_size=50), CALL)
                for _ in range(AT_ONCE)
            ]
            answers = await asyncio.gather(*listing, return_exceptions=True)
    assert [each for each in answers if isinstance(each, BaseException)] == []


def _dynamic_config() -> dict[str, Any]:
    """The settings of the file, by name."""
    given = yaml.safe_load(config("temporal"))
    return {name: values[0]["value"] for name, values in given.items()}
