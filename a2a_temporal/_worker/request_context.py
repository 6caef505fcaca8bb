"""What an agent is told of the request that began its turn, rebuilt in another process."""

from dataclasses import dataclass
from typing import Any

from a2a.auth.user import User
from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import Message, SendMessageConfiguration, SendMessageRequest, Task

from a2a_temporal._log.protojson import from_json
from a2a_temporal._worker.turn import TurnInput


@dataclass(frozen=True)
class CallUser(User):
    """The user of the request that began the turn, as the server authenticated them."""

    name: str
    authenticated: bool

    @property
    def is_authenticated(self) -> bool:
        """Whether the server knew who this is."""
        return self.authenticated

    @property
    def user_name(self) -> str:
        """The name the server knew."""
        return self.name


def request_context(turn_input: TurnInput, task: Task | None) -> RequestContext:
    """Rebuild the RequestContext of the call that began the turn, in this other process."""
    request = turn_input.request
    params = SendMessageRequest(
        tenant=turn_input.tenant, message=from_json(turn_input.message, Message())
    )
    if request.get("configuration"):
        params.configuration.CopyFrom(
            from_json(request["configuration"], SendMessageConfiguration())
        )
    if request.get("metadata"):
        from_json(request["metadata"], params.metadata)
    state: dict[str, Any] = {
        "headers": dict(request.get("headers") or {}),
        "scopes": list(request.get("scopes") or []),
    }
    call_context = ServerCallContext(
        user=CallUser(request.get("user", ""), bool(request.get("authenticated", False))),
        tenant=turn_input.tenant,
        requested_extensions=set(request.get("extensions") or []),
        state=state,
    )
    return RequestContext(
        call_context,
        params,
        task_id=turn_input.task_id,
        context_id=turn_input.context_id,
        task=task,
    )
