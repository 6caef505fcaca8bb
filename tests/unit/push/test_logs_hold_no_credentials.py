"""No record of any logger holds what a client has sent as credentials, whatever else is wrong."""

import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from a2a.types import AgentCapabilities, AgentCard
from temporalio.client import Client

from a2a_temporal import TemporalRequestHandler, create_app
from tests.support.calls import Caller
from tests.support.http_app import in_process
from tests.support.results import Json

SECRET = "hunter2-of-the-receiver"
LEFT_OUT: Json = {"token": SECRET, "authentication": {"scheme": "Bearer", "credentials": SECRET}}
CONFIGS: list[Json] = [
    LEFT_OUT,
    {**LEFT_OUT, "url": ["x"]},
    {**LEFT_OUT, "url": "https://hooks.example.com/", "id": 7},
    {"url": "https://hooks.example.com/", "token": [SECRET]},
    {"url": "https://hooks.example.com/", "token": {"value": SECRET}},
    {"url": "https://hooks.example.com/", "authentication": SECRET},
    {"url": "https://hooks.example.com/", "authentication": {"schemes": SECRET}},
]


@pytest_asyncio.fixture
async def caller() -> AsyncIterator[Caller]:
    """A caller of a server that has no Temporal."""
    card = AgentCard(name="x", version="1", capabilities=AgentCapabilities(push_notifications=True))
    client = await Client.connect("127.0.0.1:1", lazy=True)
    handler = TemporalRequestHandler(client, agent_card=card, task_queue="none")
    async with in_process(create_app(handler)) as caller:
        yield caller
    await handler.aclose()


@pytest.mark.parametrize("config", CONFIGS)
async def test_a_refused_config_leaves_no_secret_in_any_log(
    caller: Caller, config: Json, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    task = "tasks/t/pushNotificationConfigs"
    message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}
    with_message: Json = {
        "message": message,
        "configuration": {"blocking": False, "pushNotificationConfig": config},
    }
    for version, method, params in (
        ("1.0", "CreateTaskPushNotificationConfig", {"taskId": "t", **config}),
        (
            "0.3",
            "tasks/pushNotificationConfig/set",
            {"taskId": "t", "pushNotificationConfig": config},
        ),
        ("0.3", "message/send", with_message),
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await caller.http.post("/", json=body, headers={"A2A-Version": version})
        assert "error" in answer.json()
    for path, body in (
        (f"/{task}", config),
        (f"/v1/{task}", {"config": {"pushNotificationConfig": config}}),
        (f"/v1/{task}", {"pushNotificationConfig": config}),
    ):
        headers = {} if path.startswith("/v1") else {"A2A-Version": "1.0"}
        answer = await caller.http.post(path, json=body, headers=headers)
        assert answer.status_code >= 400
    assert caplog.records
    assert SECRET not in caplog.text
