"""Cards for agents under test."""

from typing import Any

from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol

from a2a_temporal._server.plain import PlainWorkflow

URL = "http://agent.test"


def card_of(code: type[Any] | PlainWorkflow) -> AgentCard:
    """Describe the class of a workflow or an executor well enough for a test."""
    name = code.__name__ if isinstance(code, type) else code.type
    about = (code.__doc__ or name).strip().splitlines()[0]
    return AgentCard(
        name=name,
        description=about,
        version="0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[AgentSkill(id=name, name=name, description=about, tags=["test"])],
    )


def served(card: AgentCard) -> AgentCard:
    """Return the card as the app under test serves it: over JSON-RPC, without a socket."""
    made = AgentCard()
    made.CopyFrom(card)
    del made.supported_interfaces[:]
    made.supported_interfaces.append(
        AgentInterface(
            url=f"{URL}/",
            protocol_binding=TransportProtocol.JSONRPC,
            protocol_version=PROTOCOL_VERSION_1_0,
        )
    )
    return made
