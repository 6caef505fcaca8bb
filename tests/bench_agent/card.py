"""The bench agent's card."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from a2a.types import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol

from tests.bench_agent.commands import COMMANDS

MEDIA_TYPES = ("text/plain", "application/json")


def bench_card(
    url: str,
    *,
    streaming: bool = True,
    push: bool = False,
    input_modes: Sequence[str] = MEDIA_TYPES,
    output_modes: Sequence[str] = MEDIA_TYPES,
    extensions: Sequence[str] = (),
    required_extensions: Sequence[str] = (),
    rpc_path: str = "/",
    grpc_port: int | None = None,
    extended: bool = False,
) -> AgentCard:
    """Describe the agent as it is served at a URL: JSON-RPC and REST, both at the root."""
    addresses = {
        TransportProtocol.JSONRPC: url + rpc_path.rstrip("/"),
        TransportProtocol.HTTP_JSON: url,
    }
    if grpc_port is not None:
        addresses[TransportProtocol.GRPC] = f"{urlsplit(url).hostname}:{grpc_port}"
    return AgentCard(
        name="bench",
        description="Does what the text of a message says, and keeps a ledger.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(
                url=address, protocol_binding=binding, protocol_version=PROTOCOL_VERSION_1_0
            )
            for binding, address in addresses.items()
        ],
        capabilities=AgentCapabilities(
            streaming=streaming,
            push_notifications=push,
            extended_agent_card=extended,
            extensions=[
                *(AgentExtension(uri=uri) for uri in extensions),
                *(AgentExtension(uri=uri, required=True) for uri in required_extensions),
            ],
        ),
        default_input_modes=input_modes,
        default_output_modes=output_modes,
        skills=[
            AgentSkill(
                id="commands",
                name="Commands",
                description=f"One or several, separated by ';': {', '.join(COMMANDS)}",
                tags=["test"],
                examples=["echo hello", "effect a; sleep 2; effect b"],
            )
        ],
    )
