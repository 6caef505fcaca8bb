"""The bench agent's card."""

from collections.abc import Sequence

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
) -> AgentCard:
    """Describe the agent as it is served at a URL: JSON-RPC and REST, both at the root."""
    bindings = (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON)
    return AgentCard(
        name="bench",
        description="Does what the text of a message says, and keeps a ledger.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=PROTOCOL_VERSION_1_0)
            for binding in bindings
        ],
        capabilities=AgentCapabilities(
            streaming=streaming,
            push_notifications=push,
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
