"""NaN and Infinity are no JSON, though Python reads them: such a message is refused."""

import json
import math

import pytest

from tests.support.calls import send_params
from tests.support.cluster import Cluster
from tests.support.results import Json

NUMBERS = (math.nan, math.inf, -math.inf)


def _with(place: str, number: float) -> Json:
    params = send_params("echo x")
    message: Json = params["message"]
    match place:
        case "data":
            message["parts"].append({"data": {"n": [number]}})
        case "part metadata":
            message["parts"][0]["metadata"] = {"n": number}
        case "message metadata":
            message["metadata"] = {"n": {"n": number}}
        case _:
            params["metadata"] = {"n": number}
    return params


@pytest.mark.parametrize("place", ["data", "part metadata", "message metadata", "metadata"])
async def test_such_a_message_is_refused(cluster: Cluster, place: str) -> None:
    caller = cluster.caller
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    for number in NUMBERS:
        params = _with(place, number)
        answer = await caller.http.post(
            f"{caller.url}/message:send", content=json.dumps(params), headers=headers
        )
        assert answer.status_code == 400, answer.text
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        answer = await caller.http.post(caller.url, content=json.dumps(call), headers=headers)
        error = answer.json()["error"]
        assert error["code"] == -32602, error
        assert "NaN" in error["message"]
