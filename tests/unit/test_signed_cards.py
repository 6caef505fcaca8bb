"""What is signed is what is served: the SDK's verifier accepts it."""

from typing import Any

import grpc.aio
import pytest
from a2a.client import A2ACardResolver
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.grpc_handler import GrpcServerCallContextBuilder
from a2a.server.routes.common import StarletteUser
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    GetExtendedAgentCardRequest,
)
from a2a.utils.signing import (
    InvalidSignaturesError,
    create_agent_card_signer,
    create_signature_verifier,
)
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import ParseDict
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from a2a_temporal import (
    HandlerOptions,
    TemporalRequestHandler,
    connect,
    create_app,
    create_grpc_server,
)
from a2a_temporal._cli.agents import served_card
from tests.bench_agent.flow import BenchTask
from tests.support.http_app import URL, in_process

KEY = ec.generate_private_key(ec.SECP256R1())
sign = create_agent_card_signer(KEY, {"alg": "ES256", "kid": "k", "jku": None, "typ": "JOSE"})  # type: ignore[arg-type]
verify = create_signature_verifier(lambda kid, jku: KEY.public_key(), ["ES256"])  # type: ignore[arg-type,return-value]


def _card(**fields: Any) -> AgentCard:
    return AgentCard(
        name="signed",
        description="Signs, ünïcode too.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=URL, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=False, extended_agent_card=True
        ),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        **fields,
    )


async def _handler(card: AgentCard, **options: Any) -> TemporalRequestHandler:
    client = await connect(address="127.0.0.1:9", lazy=True, env={})
    return TemporalRequestHandler(
        client, agent_card=card, task_queue="q", options=HandlerOptions(**options)
    )


async def _served(handler: TemporalRequestHandler, **app: Any) -> AgentCard:
    """Fetch the card as the official client does, which verifies it."""
    async with in_process(create_app(handler, **app)) as caller:
        resolver = A2ACardResolver(caller.http, URL)
        return await resolver.get_agent_card(signature_verifier=verify)


async def test_a_card_that_was_signed_is_served_as_it_was_signed() -> None:
    card = sign(_card())
    assert await _served(await _handler(card)) == card
    assert await _served(await _handler(card), trust_forwarded=True) == card


async def test_an_agent_that_asks_people_serves_its_signed_card_too() -> None:
    client = await connect(address="127.0.0.1:9", lazy=True, env={})
    card = sign(_card())
    handler = TemporalRequestHandler(client, agent_card=card, task_queue="q", workflow=BenchTask)
    assert await _served(handler) == card


async def test_a_server_signs_what_it_serves() -> None:
    served = await _served(await _handler(_card(), card_signer=sign))
    assert served.capabilities.extensions
    assert {each.protocol_version for each in served.supported_interfaces} == {"1.0", "0.3"}
    served.name = "forged"
    with pytest.raises(InvalidSignaturesError):
        verify(served)


async def _extended(handler: TemporalRequestHandler) -> AgentCard:
    """Return the extended card as an authenticated caller gets it over JSON-RPC."""
    app = create_app(handler, middleware=[Middleware(AuthenticationMiddleware, backend=_Ann())])
    async with in_process(app) as caller:
        answer = await caller.call("GetExtendedAgentCard", {})
    return ParseDict(answer, AgentCard(), ignore_unknown_fields=True)


async def test_the_extended_card_is_signed_as_well() -> None:
    extended = _card()
    extended.description = "More."
    verify(await _extended(await _handler(_card(), card_signer=sign, extended_agent_card=extended)))
    verify(await _extended(await _handler(_card(), extended_agent_card=sign(_card()))))


async def test_a_signature_of_the_card_before_it_was_modified_is_not_shown() -> None:
    async def modifier(card: AgentCard, _: ServerCallContext) -> AgentCard:
        card.description = "For you."
        return card

    card = sign(_card())
    shown = await _extended(await _handler(card, extended_card_modifier=modifier))
    assert not shown.signatures
    options = {"card_signer": sign, "extended_card_modifier": modifier}
    verify(await _extended(await _handler(card, **options)))


async def test_grpc_signs_the_extended_card() -> None:
    handler = await _handler(_card(), card_signer=sign, extended_agent_card=_card())
    server = create_grpc_server(handler, context_builder=_AnnOverGrpc())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
        card = await stub.GetExtendedAgentCard(
            GetExtendedAgentCardRequest(), metadata=(("a2a-version", "1.0"),)
        )
    await server.stop(None)
    verify(card)


def test_the_command_line_does_not_change_a_signed_card() -> None:
    card = sign(_card())
    assert served_card(card, "http://elsewhere", replace=False) == card
    with pytest.raises(ValueError, match="the card is signed"):
        served_card(card, "http://elsewhere", replace=True)


class _Ann(AuthenticationBackend):
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser]:
        return AuthCredentials(), SimpleUser("ann")


class _AnnOverGrpc(GrpcServerCallContextBuilder):
    def build(self, context: Any) -> ServerCallContext:
        return ServerCallContext(user=StarletteUser(SimpleUser("ann")))
