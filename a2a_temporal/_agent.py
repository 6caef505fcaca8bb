"""``Agent``: a card and the code behind it, as one object that the command line can name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from a2a.server.agent_execution import AgentExecutor
from a2a.types import AgentCard, Message, Task, TaskPushNotificationConfig
from temporalio.client import Client

from a2a_temporal._log import wire
from a2a_temporal._server.handler import TemporalRequestHandler
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


async def start_task(
    client: Client,
    agent: Agent,
    message: Message | str,
    *,
    task_queue: str,
    owner: str = "",
    tenant: str = "",
    context_id: str = "",
    task_id: str = "",
    metadata: Mapping[str, Any] | None = None,
    push_config: TaskPushNotificationConfig | None = None,
) -> Task:
    """Begin a task of an agent from a process that does not serve it, such as a cron job.

    See :meth:`TemporalRequestHandler.start_task <a2a_temporal.TemporalRequestHandler.start_task>`
    for the other arguments, what is guaranteed, and what is raised.

    Args:
        client: Connected Temporal client.
        agent: The agent, with the card and the options that its servers have.
        message: The first message, or its text.
        task_queue: The queue that the agent's workers listen on.
        owner: Whose task it is.
        tenant: The A2A tenant.
        context_id: The conversation it belongs to.
        task_id: The id of the task.
        metadata: Of the request.
        push_config: A receiver of the task's events.
    """
    handler = TemporalRequestHandler(
        client,
        agent_card=agent.card,
        task_queue=task_queue,
        workflow=agent.served_workflow,
        options=agent.handler_options,
    )
    try:
        return await handler.start_task(
            message,
            owner=owner,
            tenant=tenant,
            context_id=context_id,
            task_id=task_id,
            metadata=metadata,
            push_config=push_config,
        )
    finally:
        await handler.aclose()
