"""``Agent``: a card and the code behind it, as one object that the command line can name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from a2a.server.agent_execution import AgentExecutor
from a2a.types import AgentCard

from a2a_temporal._log import wire
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._worker.options import AgentOptions


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What ``a2a-temporal serve``, ``worker`` and ``dev`` run: ``a2a-temporal dev module:agent``.

    Attributes:
        card: The public card. Leave ``supported_interfaces`` empty, and the server fills in the
            URLs it is reached under.
        executor: Does the work, in worker processes; None for an agent that is a workflow.
        workflow: The workflow that is the agent: a class with a ``TaskRun``, the name of a workflow
            type, or a :class:`~a2a_temporal.PlainWorkflow`. None for an agent that is an executor.
        workflows: Further workflows for the workers, such as children.
        activities: Activities for the workers.
        handler_options: For the request handler; defaults when None.
        agent_options: For the workers; defaults when None.

    Raises:
        ValueError: Neither an executor nor a workflow was given.
    """

    card: AgentCard
    executor: AgentExecutor | None = None
    workflow: type[Any] | str | PlainWorkflow | None = None
    workflows: Sequence[type[Any]] = ()
    activities: Sequence[Callable[..., Any]] = ()
    handler_options: HandlerOptions | None = None
    agent_options: AgentOptions | None = None

    def __post_init__(self) -> None:
        if self.executor is None and self.workflow is None:
            raise ValueError(
                f"Agent {self.card.name!r} has nothing to run. Give it an executor or a workflow."
            )

    @property
    def served_workflow(self) -> type[Any] | str | PlainWorkflow:
        """What the request handler starts for each task."""
        return self.workflow if self.workflow is not None else wire.AGENT_WORKFLOW

    @property
    def worker_workflows(self) -> list[type[Any]]:
        """The workflow classes a worker runs for this agent, next to the plugin's own."""
        own = [self.workflow] if isinstance(self.workflow, type) else []
        return list(dict.fromkeys([*own, *self.workflows]))
