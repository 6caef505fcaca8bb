"""``Agent``: a card and the code behind it, as one object that the command line can name."""

from dataclasses import dataclass

from a2a.server.agent_execution import AgentExecutor
from a2a.types import AgentCard

from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._worker.options import AgentOptions


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What ``a2a-temporal serve``, ``worker`` and ``dev`` run: ``a2a-temporal dev module:agent``.

    Attributes:
        card: The public card. Leave ``supported_interfaces`` empty, and the server fills in the
            URLs it is reached under.
        executor: Does the work, in worker processes; None for an agent that only has workflows.
        handler_options: For the request handler; defaults when None.
        agent_options: For the workers; defaults when None.
    """

    card: AgentCard
    executor: AgentExecutor | None = None
    handler_options: HandlerOptions | None = None
    agent_options: AgentOptions | None = None
