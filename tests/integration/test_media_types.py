"""What the card does not list is refused before a task exists; what it lists reaches the agent."""

import uuid

from a2a.types import Task

from tests.support.calls import Caller, over_every_binding, refused, refused_to_open
from tests.support.cluster import Cluster
from tests.support.in_process import CALL, new_task_queue, request, served
from tests.support.results import artifact_data, artifact_text, state
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

PNG = "iVBORw0KGgo="


async def test_an_unlisted_media_type_makes_no_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        context_id = f"media-{uuid.uuid4()}"
        for part in (
            {"raw": PNG, "mediaType": "image/png"},
            {"url": "https://example.com/a.png", "mediaType": "image/png"},
        ):
            parts = [{"text": "echo x"}, part]
            sent = caller.send(parts=parts, context_id=context_id)
            await refused(sent, code=-32005, status=400)
            stream = caller.stream(parts=parts, context_id=context_id)
            await refused_to_open(stream, code=-32005, status=400)

        # The next one is accepted; once visibility shows it, it would have shown the others.
        accepted = await caller.send_task("echo fine", context_id=context_id)

        async def visible() -> list[str]:
            return await cluster.workflows_of_context(context_id)

        assert await eventually(visible, within=30) == [accepted["id"]]

    await over_every_binding(cluster.caller, scenario)


async def test_an_unlisted_media_type_does_not_reach_a_waiting_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        parked = await caller.send_task("ask colour?")
        before_it = await cluster.requests(parked["id"])
        part = {"raw": PNG, "mediaType": "image/png"}
        answer = caller.send(parts=[part], task_id=parked["id"])
        await refused(answer, code=-32005, status=400)
        assert await cluster.requests(parked["id"]) == before_it
        await caller.cancel(parked["id"])

    await over_every_binding(cluster.caller, scenario)


async def test_by_default_the_agent_judges_media_types_itself(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    message = request("say:hello", wait=False)
    message.message.parts.add(raw=b"x", media_type="image/png")
    async with served(client, queue) as server:
        task = await server.handler.on_message_send(message, CALL)
    assert isinstance(task, Task)


async def test_listed_and_unnamed_media_types_are_accepted(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        plain = await caller.send_task(parts=[{"text": "echo a", "mediaType": "text/plain"}])
        unnamed = await caller.send_task(parts=[{"text": "echo a"}])
        assert artifact_text(plain, "echo") == artifact_text(unnamed, "echo") == "a"
        data = {"numbers": [1, 2.5, -3], "text": "ä", "nested": {"none": None, "yes": True}}
        echoed = await caller.send_task(
            parts=[{"text": "echo-data"}, {"data": data, "mediaType": "application/json"}]
        )
        assert artifact_data(echoed, "echo-data") == data

    await over_every_binding(cluster.caller, scenario)


async def test_accepted_output_modes_reach_the_agent(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task(
            "whoami", configuration={"acceptedOutputModes": ["text/plain", "application/json"]}
        )
        assert state(task) == "COMPLETED"
        configuration = artifact_data(task, "whoami")["configuration"]
        assert configuration["acceptedOutputModes"] == ["text/plain", "application/json"]

    await over_every_binding(cluster.caller, scenario)


async def test_output_modes_the_agent_lacks_are_its_own_business(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        wanted = {"acceptedOutputModes": ["application/pdf"]}
        task = await caller.send_task("whoami", configuration=wanted)
        assert artifact_data(task, "whoami")["configuration"] == wanted

    await over_every_binding(cluster.caller, scenario)
