"""``Agent``: a card and the code behind it, and the one way to make its server and its worker."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import temporalio.client
import temporalio.worker
from a2a.server.agent_execution import AgentExecutor
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types import AgentCard, Message, Task, TaskPushNotificationConfig
from starlette.applications import Starlette
from starlette.authentication import AuthenticationBackend
from starlette.middleware import Middleware
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import Replayer, Worker

from a2a_temporal._app import create_app
from a2a_temporal._http.authentication import authenticating
from a2a_temporal._log import wire
from a2a_temporal._server.handler import TemporalRequestHandler, workflow_name
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._worker.options import AgentOptions
from a2a_temporal._worker.plugin import A2APlugin, check_executor

Plugin = temporalio.client.Plugin | temporalio.worker.Plugin
Interceptor = temporalio.client.Interceptor | temporalio.worker.Interceptor


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What ``a2a-temporal serve``, ``worker`` and ``dev`` run: ``a2a-temporal dev module:agent``.

    The command line, the test kit and your own processes make its parts in one way:
    :meth:`client`, :meth:`handler`, :meth:`app`, :meth:`worker`, :meth:`replayer`.

    Attributes:
        card: The public card. Leave ``supported_interfaces`` empty, and the server fills in the
            URLs it is reached under.
        executor: Does the work, in worker processes; None for an agent that is a workflow.
        workflow: The workflow that is the agent: a class with a ``TaskRun``, the name of a workflow
            type, or a :class:`~a2a_temporal.PlainWorkflow`. None for an agent that is an executor.
        workflows: Further workflows for the workers, such as children.
        activities: Activities for the workers.
        handler_options: For the request handler; ``push`` is for the workers as well.
        agent_options: For the workers; defaults when None.
        plugins: Temporal plugins, such as those of agent frameworks; each is given to the client,
            the worker and the replayer as far as it is made for them.
        interceptors: Temporal interceptors of clients and workers.
        data_converter: For the payloads of servers and workers. A codec or an external storage that
            it does not have stays the client's.
        authentication: Who calls, over HTTP and gRPC: Starlette's interface. It raises
            ``AuthenticationError`` to refuse a call (401, UNAUTHENTICATED), and returns None for an
            anonymous caller. The card and the probes are open to everybody.
        middleware: Starlette middleware of the HTTP server, outside of ``authentication``.
        context_builder: Makes user and tenant of an HTTP call; the SDK's builder when None.

    Raises:
        TypeError: A value is of the wrong kind.
        ValueError: Neither an executor nor a workflow was given.
    """

    card: AgentCard
    executor: AgentExecutor | None = None
    workflow: type[Any] | str | PlainWorkflow | None = None
    workflows: Sequence[type[Any]] = ()
    activities: Sequence[Callable[..., Any]] = ()
    handler_options: HandlerOptions | None = None
    agent_options: AgentOptions | None = None
    plugins: Sequence[Plugin] = ()
    interceptors: Sequence[Interceptor] = ()
    data_converter: DataConverter | None = None
    authentication: AuthenticationBackend | None = None
    middleware: Sequence[Middleware] = ()
    context_builder: ServerCallContextBuilder | None = None

    def __post_init__(self) -> None:
        _check_kinds(self.card, self.executor)
        if self.executor is None and self.workflow is None:
            raise ValueError(
                f"Agent {self.card.name!r} has nothing to run. Give it an executor or a workflow."
            )
        if self.workflow is not None:
            workflow_name(self.workflow)

    @property
    def served_workflow(self) -> type[Any] | str | PlainWorkflow:
        """What the request handler starts for each task."""
        return self.workflow if self.workflow is not None else wire.AGENT_WORKFLOW

    @property
    def worker_workflows(self) -> list[type[Any]]:
        """The workflow classes a worker runs for this agent, next to the plugin's own."""
        own = [self.workflow] if isinstance(self.workflow, type) else []
        return list(dict.fromkeys([*own, *self.workflows]))

    def client(self, client: Client) -> Client:
        """Return a client on the same connection that has this agent's plugins and converter.

        One that has them already is returned as it is.

        Raises:
            ValueError: A plugin or the data converter would drop the client's payload codec.
        """
        config = client.config()
        plugins = _missing(self.plugins, temporalio.client.Plugin, config["plugins"])
        interceptors = _missing(
            self.interceptors, temporalio.client.Interceptor, config["interceptors"]
        )
        given = client.data_converter
        converter = self._converter(given)
        if not plugins and not interceptors and (self.plugins or converter == given):
            return client
        config["plugins"] = [*config["plugins"], *plugins]
        config["interceptors"] = [*config["interceptors"], *interceptors]
        config["data_converter"] = converter
        made = Client(**config)
        if given.payload_codec is not None and made.data_converter.payload_codec is None:
            raise ValueError(
                f"A plugin of agent {self.card.name!r} drops the payload codec of the client, so "
                "its tasks would not be encrypted. Give the codec to the plugin's data converter."
            )
        return made

    def handler(
        self,
        client: Client,
        *,
        task_queue: str,
        card: AgentCard | None = None,
        options: HandlerOptions | None = None,
    ) -> TemporalRequestHandler:
        """Return the request handler of a server.

        Args:
            client: Connected or lazy Temporal client.
            task_queue: The queue that the agent's workers listen on.
            card: The card as it is served, when it is not the agent's as it stands.
            options: In the place of ``handler_options``.

        Raises:
            ValueError: The card promises what the options do not keep.
        """
        return TemporalRequestHandler(
            self.client(client),
            agent_card=card or self.card,
            task_queue=task_queue,
            workflow=self.served_workflow,
            options=options or self.handler_options,
        )

    def app(self, handler: TemporalRequestHandler, **options: Any) -> Starlette:
        """Return the HTTP application of a handler: who calls is decided as the agent says.

        Args:
            handler: Made by :meth:`handler`.
            options: Further arguments of :func:`~a2a_temporal.create_app`.
        """
        inner = [authenticating(self.authentication)] if self.authentication else []
        return create_app(
            handler,
            middleware=[*options.pop("middleware", ()), *self.middleware, *inner],
            context_builder=options.pop("context_builder", None) or self.context_builder,
            **options,
        )

    def worker(
        self,
        client: Client,
        *,
        task_queue: str,
        graceful_shutdown_timeout: timedelta = timedelta(),
        **options: Any,
    ) -> Worker:
        """Return a worker that runs the agent.

        Args:
            client: Connected Temporal client.
            task_queue: The queue it listens on.
            graceful_shutdown_timeout: What running turns have to finish when it is told to stop.
            options: Further arguments of `temporalio.worker.Worker`.
        """
        return Worker(
            self.client(client),
            task_queue=task_queue,
            workflows=self.worker_workflows,
            activities=self.activities,
            plugins=[*_only_for_workers(self.plugins, temporalio.worker.Plugin), self._plugin],
            interceptors=_only_for_workers(self.interceptors, temporalio.worker.Interceptor),
            graceful_shutdown_timeout=graceful_shutdown_timeout,
            **options,
        )

    def replayer(self, client: Client) -> Replayer:
        """Return a replayer of the agent's workflows, with the converter and plugins they ran with.

        Args:
            client: The client that the histories come from.
        """
        converter = self.client(client).data_converter
        return Replayer(
            workflows=self.worker_workflows,
            plugins=[
                *(each for each in self.plugins if isinstance(each, temporalio.worker.Plugin)),
                # Plugins change a converter once: what they made of the client's replaces theirs.
                SimplePlugin("a2a_temporal.client_converter", data_converter=lambda _: converter),
                self._plugin,
            ],
            interceptors=[
                each
                for each in self.interceptors
                if isinstance(each, temporalio.worker.Interceptor)
            ],
        )

    @property
    def _plugin(self) -> A2APlugin:
        return A2APlugin(
            agent_executor=self.executor,
            options=self.agent_options,
            push=self.handler_options.push if self.handler_options else None,
        )

    def _converter(self, given: DataConverter) -> DataConverter:
        own = self.data_converter
        if own is None:
            return given
        return dataclasses.replace(
            own,
            payload_codec=own.payload_codec or given.payload_codec,
            external_storage=own.external_storage or given.external_storage,
        )


def _check_kinds(card: object, executor: object) -> None:
    if not isinstance(card, AgentCard):
        raise TypeError(
            f"Agent(card={card!r}) is no card. Pass an a2a.types.AgentCard with at least a name, a "
            "description and a version."
        )
    if executor is not None:
        check_executor(executor, "Agent(executor=...)")


def _missing(own: Sequence[Any], kind: type[Any], present: Sequence[Any]) -> list[Any]:
    return [each for each in own if isinstance(each, kind) and each not in present]


def _only_for_workers(own: Sequence[Any], kind: type[Any]) -> list[Any]:
    """Leave out what a client hands on to its workers by itself."""
    of_clients = (temporalio.client.Plugin, temporalio.client.Interceptor)
    return [each for each in own if isinstance(each, kind) and not isinstance(each, of_clients)]


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
    handler = agent.handler(client, task_queue=task_queue)
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
