"""The public card of an agent, and the extended one for authenticated callers (3.1.11)."""

from collections.abc import Awaitable, Callable

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard, AgentExtension
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError, UnsupportedOperationError

from a2a_temporal._log.hitl import HITL_EXTENSION
from a2a_temporal._log.requests import APPROVALS_EXTENSION

CardSigner = Callable[[AgentCard], AgentCard]
"""Adds a signature to a card and returns it; ``a2a.utils.signing`` makes such functions."""

CardModifier = Callable[[AgentCard, ServerCallContext], Awaitable[AgentCard]]
"""Makes the card that one caller sees, out of a copy it may change."""


_ASKING = {
    APPROVALS_EXTENSION: "What waits for people, and what they decided, in the status message.",
    HITL_EXTENSION: "Approvals and questions, asked and answered typed.",
}


def asking(card: AgentCard) -> AgentCard:
    """Return the card of an agent that asks people, with the extensions it speaks declared.

    A signed card stays as it was signed.
    """
    if card.signatures:
        return card
    known = {each.uri for each in card.capabilities.extensions}
    declaring = AgentCard()
    declaring.CopyFrom(card)
    declaring.capabilities.extensions.extend(
        AgentExtension(uri=uri, description=text)
        for uri, text in _ASKING.items()
        if uri not in known
    )
    return declaring


def signed(card: AgentCard, signer: CardSigner | None) -> AgentCard:
    """Return a card as it is served: with a signature, if there is a signer and it has none."""
    if signer is None or card.signatures:
        return card
    copy = AgentCard()
    copy.CopyFrom(card)
    return signer(copy)


async def extended_card(
    public: AgentCard,
    extended: AgentCard | None,
    modifier: CardModifier | None,
    context: ServerCallContext,
) -> AgentCard:
    """Return the extended card for a caller.

    Raises:
        UnsupportedOperationError: The public card does not declare one, or nobody is logged in.
        ExtendedAgentCardNotConfiguredError: It is declared, but there is none.
    """
    if not public.capabilities.extended_agent_card:
        raise UnsupportedOperationError("This agent has no extended card.")
    if not context.user.is_authenticated:
        raise UnsupportedOperationError("The extended card is for authenticated callers only.")
    if extended is None and modifier is None:
        raise ExtendedAgentCardNotConfiguredError
    base = extended or public
    card = AgentCard()
    card.CopyFrom(base)
    if modifier is None:
        return card
    card = await modifier(card, context)
    # A signature that was made for the card before it was modified would be refused by clients.
    if card != base and list(card.signatures) == list(base.signatures):
        card.ClearField("signatures")
    return card
