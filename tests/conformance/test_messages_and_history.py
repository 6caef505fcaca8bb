"""What messages, histories, contexts and times are on the wire."""

import re
import uuid

from tests.support.calls import Caller, over_every_binding, refused, send_params
from tests.support.cluster import Cluster
from tests.support.results import Json, artifact_data, artifact_text, state

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")


async def test_history_is_as_long_as_asked_for(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("ask colour?; ask number?")
        await caller.send_task("red", task_id=task["id"])
        task = await caller.send_task("7", task_id=task["id"])
        whole = (await caller.get(task["id"]))["history"]
        assert len(whole) >= 5
        for length in (1, 2, len(whole), len(whole) + 10):
            trimmed = (await caller.get(task["id"], history_length=length))["history"]
            assert trimmed == whole[-length:]
        assert "history" not in await caller.get(task["id"], history_length=0)
        await refused(caller.get(task["id"], history_length=-1), code=-32602, status=400)
        sent = await caller.send_task("echo x", configuration={"historyLength": 0})
        assert "history" not in sent

    await over_every_binding(cluster.caller, scenario)


async def test_a_message_that_is_none_is_refused(cluster: Cluster) -> None:
    good = send_params("echo x")["message"]
    wrong: list[Json] = [
        {},
        {"message": {}},
        {"message": {**good, "messageId": ""}},
        {"message": {**good, "parts": []}},
        {"message": {**good, "parts": [{}]}},
        {"message": {**good, "role": "ROLE_AGENT"}},
        {"message": {**good, "role": "ROLE_KING"}},
        {"message": {**good, "parts": "text"}},
        {"message": {**good, "parts": [{"text": 5}]}},
        {"message": [good]},
        {"message": good, "configuration": {"historyLength": -1}},
        {"message": good, "configuration": {"returnImmediately": "yes"}},
    ]

    async def scenario(caller: Caller) -> None:
        for params in wrong:
            for method in ("SendMessage", "SendStreamingMessage"):
                response = await caller.raw(method, params)
                assert response.headers["content-type"] == "application/json", params
                error = response.json()["error"]
                assert error["code"] in (-32602, 400), (params, error)

    await over_every_binding(cluster.caller, scenario)


async def test_unknown_fields_are_ignored(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        params = send_params("echo kept")
        params["message"]["shoeSize"] = 42
        params["weather"] = {"sunny": True}
        answer = (await caller.raw("SendMessage", params)).json()
        task = answer.get("result", answer)["task"]
        assert artifact_text(task, "echo") == "kept"

    await over_every_binding(cluster.caller, scenario)


async def test_every_answer_names_its_context(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        assert (await caller.send_task("echo x"))["contextId"]
        message = (await caller.send("msg hi"))["message"]
        assert message["contextId"]
        chosen = str(uuid.uuid4())
        assert (await caller.send("msg hi", context_id=chosen))["message"]["contextId"] == chosen

    await over_every_binding(cluster.caller, scenario)


async def test_referenced_tasks_are_named_to_the_agent(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        params = send_params("whoami")
        params["message"]["referenceTaskIds"] = ["one", "two"]
        answer = (await caller.raw("SendMessage", params)).json()
        task = answer.get("result", answer)["task"]
        assert artifact_data(task, "whoami")["referenceTaskIds"] == ["one", "two"]

    await over_every_binding(cluster.caller, scenario)


async def test_a_message_is_accepted_while_a_credential_is_awaited(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("auth-message")
        assert state(task) == "AUTH_REQUIRED"
        assert task["status"]["message"]["parts"]
        assert state(await caller.send_task("here it is", task_id=task["id"])) == "COMPLETED"

    await over_every_binding(cluster.caller, scenario)


async def test_timestamps_are_utc_with_milliseconds(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("status 3; ask colour?") as stream:
            for frame in await stream.to_the_end():
                ((_, event),) = frame.items()
                if "status" in event:
                    assert TIMESTAMP.fullmatch(event["status"]["timestamp"]), event

    await over_every_binding(cluster.caller, scenario)
