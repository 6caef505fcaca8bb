"""How the request handler behaves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard

from a2a_temporal._push_options import PushOptions
from a2a_temporal._server.cards import CardModifier, CardSigner

_ANSWERED_WITHIN = timedelta(seconds=9.5)


def user_name(call_context: ServerCallContext) -> str:
    """Return the authenticated user's name; all anonymous callers share the empty name."""
    return call_context.user.user_name


def no_groups(call_context: ServerCallContext) -> frozenset[str]:
    """Return no groups: approvers are named one by one."""
    return frozenset()


@dataclass(frozen=True)
class HandlerOptions:
    """Settings of :class:`~a2a_temporal.TemporalRequestHandler`.

    Attributes:
        agent: Identity of the agent among the workflows of the namespace; the card's name when
            empty. Changing it hides the tasks made under the old one.
        owner_of: Tells whose tasks a caller sees.
        groups_of: Tells the groups an authenticated caller belongs to, as approvers are named by.
        known_as: Tells the name under which an authenticated caller decides, where that is not the
            user's name: every way to answer must give a person the same one.
        idempotent_sends: A repeated first message (same messageId, owner and tenant) returns the
            task it made, for as long as the namespace keeps closed workflows. Off, each makes a
            task of its own. A message to a task may never reuse a messageId of it for other
            content.
        validate_input_modes: Refuse a part whose media type the card does not declare
            (ContentTypeNotSupportedError). As with ``DefaultRequestHandler``, it is off by default.
        client_task_ids: A first message may name the task it makes (orchestrators derive such ids
            from their own). The specification lets only the server choose; the ids are shared by
            all owners, so a client that guesses one learns that it is taken. A text must begin each
            id: give one in a namespace that other applications use too, or a client may take the id
            that a workflow of theirs is yet to have. To a task with such an id, a
            message with the content of the first one is the first one again, whatever its
            messageId.
        direct_message_wait: How long a stream, or a send with returnImmediately, waits for the
            agent's first word, so that an agent that answers with a Message gets through as one.
            Zero for agents that always make tasks.
        cancel_wait: How long CancelTask waits for the agent's code to stop.
        blocking_limit: How long a blocking SendMessage waits at most; then it answers with the
            task as it is. ``None`` waits for as long as the client does.
        read_timeout: Bound of every single call to Temporal: of one page where a log has many.
            An operation takes up to ten seconds in all, or this if it is longer.
        maximum_message_bytes: Largest message that is accepted, in bytes of JSON. By default 1.4
            MB, or 20 MB with ExternalStorage on the client's data converter.
        maximum_message_values: How many values a message may hold: parts, list items and members
            of objects, at any depth. Each costs far more than its two bytes, here, in the worker
            and in every reader of the task.
        stream_write_timeout: A stream ends once its client has taken nothing of what waits for it
            for this long; it may subscribe again. Nothing is kept for it meanwhile.
        maximum_waiting_messages: How many messages may wait for a task's agent; further ones are
            refused until it has handled some. Temporal takes 10,000 signals a run, and an agent
            that finds them used up by messages cannot say any more how its turn ended. A workflow
            with a ``TaskRun`` takes 5,000 messages a run instead, handled or not.
        long_polls: Temporal long polls this process holds at once; a namespace allows about 1,200
            for each frontend. Quiet streams beyond it are woken by one shared query.
        forwarded_headers: Request headers (lower case) the agent's code may see. Never put one
            here that carries a credential: they are kept in the workflow's history.
        extended_agent_card: The card for authenticated callers; offered where the public
            card says ``capabilities.extended_agent_card``.
        extended_card_modifier: Makes the card of one caller out of it (or of the public card).
        card_signer: Signs the cards as they are served, for example one made by the SDK's
            ``create_agent_card_signer``. A card that has signatures already is served as it was
            signed, so it declares nothing of what this library adds.
        push: Limits of push notifications; give the workers' plugin the same.
    """

    agent: str = ""
    owner_of: Callable[[ServerCallContext], str] = user_name
    groups_of: Callable[[ServerCallContext], frozenset[str]] = no_groups
    known_as: Callable[[ServerCallContext], str] = user_name
    idempotent_sends: bool = True
    validate_input_modes: bool = False
    client_task_ids: bool | str = False
    direct_message_wait: timedelta = timedelta(milliseconds=500)
    cancel_wait: timedelta = timedelta(seconds=8)
    blocking_limit: timedelta | None = None
    read_timeout: timedelta = timedelta(seconds=5)
    maximum_message_bytes: int | None = None
    maximum_message_values: int = 50_000
    stream_write_timeout: timedelta = timedelta(seconds=60)
    maximum_waiting_messages: int = 1000
    long_polls: int = 200
    forwarded_headers: frozenset[str] = field(
        default=frozenset({"a2a-version", "traceparent", "tracestate", "accept-language"})
    )
    extended_agent_card: AgentCard | None = None
    extended_card_modifier: CardModifier | None = None
    card_signer: CardSigner | None = None
    push: PushOptions = field(default_factory=PushOptions)

    @property
    def answered_within(self) -> timedelta:
        """How long an operation takes at most until it waits for nothing but the agent.

        Ten seconds are promised for an outage; a sent signal is waited for nearly as long.
        """
        return max(_ANSWERED_WITHIN, self.read_timeout)

    def __post_init__(self) -> None:
        for name in ("cancel_wait", "read_timeout", "stream_write_timeout"):
            if getattr(self, name) <= timedelta(0):
                raise ValueError(f"HandlerOptions.{name} must be positive.")
        for name in ("long_polls", "maximum_message_values", "maximum_waiting_messages"):
            if getattr(self, name) < 1:
                number = getattr(self, name)
                raise ValueError(f"HandlerOptions.{name} must be at least 1, got {number}")
        secret = self.forwarded_headers & {"authorization", "cookie", "proxy-authorization"}
        if secret:
            raise ValueError(
                f"HandlerOptions.forwarded_headers must not hold {sorted(secret)!r}: forwarded "
                "headers are kept in the workflow's history."
            )
