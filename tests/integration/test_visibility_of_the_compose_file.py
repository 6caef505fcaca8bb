"""Temporal as docker-compose.yml sets it up answers many lists at once."""

import asyncio
from pathlib import Path
from typing import Any

import yaml
from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest

from tests.support.compose import config
from tests.support.temporal_server import running_server

# What a production server has by default; the development server raises it to 100.
DEFAULT = {"frontend.namespaceRPS.visibility": 10}
AT_ONCE = 40


async def test_as_many_lists_at_once_as_a_few_clients_ask_for(tmp_path: Path) -> None:
    """A server's own lists would wait for their turn, so Temporal is asked directly."""
    settings = {**DEFAULT, **_dynamic_config()}
    arguments = [f"--dynamic-config-value={name}={value}" for name, value in settings.items()]
    async with running_server(tmp_path, arguments=arguments) as temporal:
        client = await temporal.client()
        request = ListWorkflowExecutionsRequest(namespace=client.namespace, page_size=50)
        listing = [
            client.workflow_service.list_workflow_executions(request, retry=False)
            for _ in range(AT_ONCE)
        ]
        answers = await asyncio.gather(*listing, return_exceptions=True)
    assert [each for each in answers if isinstance(each, BaseException)] == []


def _dynamic_config() -> dict[str, Any]:
    """The settings of the file, by name."""
    given = yaml.safe_load(config("temporal"))
    return {name: values[0]["value"] for name, values in given.items()}
