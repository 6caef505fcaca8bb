"""The caller of an operation, and the part of a call that the agent's code may see."""

import uuid
from dataclasses import dataclass
from typing import Any, Protocol, cast

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import SendMessageConfiguration, SendMessageRequest
from a2a.utils.errors import InvalidParamsError
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes

from a2a_temporal._log import wire
from a2a_temporal._log.indexing import keyword, keywords
from a2a_temporal._log.names import normals
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState
from a2a_temporal._server.options import HandlerOptions

_NAMESPACE = uuid.UUID("2c9c6f52-3f3c-5d39-8f45-3b1f3b4a9c11")


class TenantRequest(Protocol):
    """Any request of the protocol: each names a tenant."""

    tenant: str


@dataclass(frozen=True)
class Caller:
    """The scope of a call: a task is visible to its owner and to those asked to decide about it.

    ``names`` are the caller's own name, when authenticated, and the groups they belong to, in the
    form in which names are compared; owners are compared as they are. A caller who ``repeats`` an
    answer may see its task, although nothing is open for that caller any more.
    """

    agent: str
    owner: str
    tenant: str
    names: frozenset[str] = frozenset()
    repeats: bool = False

    def may_see(self, state: LogState) -> bool:
        """Say whether a task exists for this caller."""
        start = state.start
        if (start.agent, start.tenant) != (self.agent, self.tenant):
            return False
        if start.owner == self.owner or (self.names & state.asking and not state.terminal):
            return True
        return self.repeats and bool(self.names & normals(state.approvers))

    def may_be_shown(self, state: LogState) -> bool:
        """Say whether a task may turn out to exist for this caller, by the start of its log.

        Only workflows of authors ask others than the owner.
        """
        start = state.start
        if (start.agent, start.tenant) != (self.agent, self.tenant):
            return False
        return start.owner == self.owner or bool(self.names)

    def may_be_shown_by(self, started: WorkflowExecutionStartedEventAttributes) -> bool | None:
        """Say the same by the search attributes, never encrypted; ``None`` without them."""
        wanted = {
            wire.AGENT_ATTRIBUTE: self.agent,
            wire.TENANT_ATTRIBUTE: self.tenant,
            wire.OWNER_ATTRIBUTE: self.owner,
        }
        known = keywords(started.search_attributes)
        if not known.keys() >= wanted.keys():
            return None
        foreign = {name for name, value in wanted.items() if known[name] != keyword(value)}
        asked = self.names and started.workflow_type.name != wire.AGENT_WORKFLOW
        return not foreign or (foreign == {wire.OWNER_ATTRIBUTE} and bool(asked))

    def owns(self, state: LogState) -> bool:
        """Say whether a task is this caller's own, not one that others ask him to decide."""
        return self.may_see(state) and state.start.owner == self.owner

    def task_id(self, message_id: str) -> str:
        """Return the id of the task that this caller's message makes, always the same."""
        name = "\x1f".join((self.agent, self.tenant, self.owner, message_id))
        return str(uuid.uuid5(_NAMESPACE, name))


def caller_of(
    request: TenantRequest, context: ServerCallContext, agent: str, options: HandlerOptions
) -> Caller:
    """Return the caller of a request.

    Raises:
        InvalidParamsError: The route and the body name different tenants.
    """
    if request.tenant and context.tenant and request.tenant != context.tenant:
        raise InvalidParamsError(
            f"The request names tenant {request.tenant!r} but was sent to tenant "
            f"{context.tenant!r}. Name the same one in both places."
        )
    names = frozenset[str]()
    if context.user.is_authenticated:
        names = normals([options.known_as(context), *options.groups_of(context)])
    return Caller(agent, options.owner_of(context), context.tenant or request.tenant, names)


def describe_call(
    request: SendMessageRequest, context: ServerCallContext, options: HandlerOptions
) -> dict[str, Any]:
    """Return the part of a call that the agent's code may see: plain JSON, never a credential."""
    headers = cast("dict[str, str]", context.state.get("headers", {}))
    auth = context.state.get("auth")
    configuration = SendMessageConfiguration()
    configuration.CopyFrom(request.configuration)
    configuration.ClearField("task_push_notification_config")
    known_as = options.known_as(context) if context.user.is_authenticated else ""
    described: dict[str, Any] = {
        "user": context.user.user_name,
        "known_as": known_as if known_as != context.user.user_name else "",
        "authenticated": context.user.is_authenticated,
        "scopes": list(getattr(auth, "scopes", [])),
        "groups": sorted(options.groups_of(context)),
        "extensions": sorted(context.requested_extensions),
        "headers": {
            name: headers[name] for name in sorted(headers) if name in options.forwarded_headers
        },
        "configuration": to_json(configuration),
        "metadata": to_json(request.metadata),
    }
    return {name: value for name, value in described.items() if value}
