"""A proxy that adds a path: cards, the extended one too, name what clients reach."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.helpers import new_text_message
from a2a.types import GetExtendedAgentCardRequest, Role, SendMessageRequest, TaskState

from tests.support.calls import BINDINGS, Caller
from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.processes import free_port
from tests.support.results import Json
from tests.support.round_robin import round_robin
from tests.support.sdk import official_client
from tests.support.serving import served
from tests.support.temporal_server import TemporalServer

PREFIX = "/agents/bench"


@dataclass(frozen=True, kw_only=True)
class _Proxied:
    cluster: Cluster
    grpc_port: int
    url: str

    @property
    def caller(self) -> Caller:
        return replace(self.cluster.caller, url=self.url)


@pytest_asyncio.fixture(scope="module")
async def proxied(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[_Proxied]:
    """A server that believes its proxy."""
    port = free_port()
    options = Options(api=("--extended-card", "--trust-forwarded", f"--grpc-port={port}"))
    folder = tmp_path_factory.mktemp("proxied")
    async with (
        running_cluster(temporal, folder, apis=1, workers=1, options=options) as cluster,
        served(round_robin([cluster.apis[0].url], prefix=PREFIX)) as url,
    ):
        yield _Proxied(cluster=cluster, grpc_port=port, url=f"{url}{PREFIX}")


def _urls(card: Json) -> set[tuple[str, str, str]]:
    return {
        (each["protocolBinding"], each["protocolVersion"], each["url"].rstrip("/"))
        for each in card["supportedInterfaces"]
        if each["protocolBinding"] in BINDINGS
    }


async def test_every_card_names_the_proxy_in_every_version(proxied: _Proxied) -> None:
    expected = {(each, version, proxied.url) for each in BINDINGS for version in ("1.0", "0.3")}
    public = await proxied.cluster.http.get(f"{proxied.url}/.well-known/agent-card.json")
    assert _urls(public.json()) == expected
    for binding in BINDINGS:
        extended = await proxied.caller.over(binding).as_user("alice").extended_card()
        assert _urls(extended) == expected, binding


async def test_a_client_of_0_3_gets_the_extended_card_over_every_binding(
    proxied: _Proxied,
) -> None:
    alice = {"Authorization": "Bearer alice"}
    http = proxied.cluster.http
    body = {"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}
    rpc = await http.post(f"{proxied.url}/", json=body, headers=alice)
    rest = await http.get(f"{proxied.url}/v1/card", headers=alice)
    for card in (rpc.json()["result"], rest.json()):
        assert card["url"].rstrip("/") == proxied.url
        assert "secret" in [skill["id"] for skill in card["skills"]]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{proxied.grpc_port}") as channel:
        stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub
        old = stub(channel)
        request = a2a_v0_3_pb2.GetAgentCardRequest()
        card = await old.GetAgentCard(request, metadata=(("authorization", "Bearer alice"),))
    assert "secret" in [skill.id for skill in card.skills]


async def test_the_official_client_works_by_the_card_alone(proxied: _Proxied) -> None:
    for binding in BINDINGS:
        async with official_client(proxied.url, binding=binding, token="alice") as client:
            message = new_text_message("echo hi", role=Role.ROLE_USER)
            request = SendMessageRequest(message=message)
            responses = [each async for each in client.send_message(request)]
            assert responses[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
            card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
            assert "secret" in [skill.id for skill in card.skills]
