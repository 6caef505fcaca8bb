"""``A2APlugin``: everything a worker needs to run A2A tasks, in one line."""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from a2a.server.agent_execution import AgentExecutor
from temporalio.common import VersioningBehavior
from temporalio.converter import DataConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    Interceptor,
    ReplayerConfig,
    Worker,
    WorkerConfig,
    WorkerDeploymentConfig,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from a2a_temporal._encryption import EncryptionCodec
from a2a_temporal._push_options import PushOptions
from a2a_temporal._worker.agent.activity import AgentActivities
from a2a_temporal._worker.agent.sending import ENTRY_LIMIT_BYTES, entry_limit
from a2a_temporal._worker.agent.threads import note_threads
from a2a_temporal._worker.agent.workflow import AgentWorkflow
from a2a_temporal._worker.options import OPTIONS_FUNCTION, AgentOptions
from a2a_temporal._worker.push.activities import PushActivities
from a2a_temporal._worker.push.child import PushInboundInterceptor
from a2a_temporal._worker.push.late_configs import LateConfigsWorkflow
from a2a_temporal._worker.push.worker import delivering
from a2a_temporal._worker.push.workflow import PUSH_OPTIONS_FUNCTION, PushWorkflow
from a2a_temporal._worker.task.activities import TaskActivityInboundInterceptor
from a2a_temporal._worker.task.budget import PAYLOAD_LIMITS_FUNCTION, PayloadLimits
from a2a_temporal._worker.task.inbound import TaskInboundInterceptor

_PASSED_THROUGH = (
    "a2a_temporal",  # pure in workflow code; reloading it per workflow run would only cost time
    "a2a",  # its import reaches starlette and anyio, which the sandbox cannot load
    "google.protobuf",  # generated classes register once per process
    "google.api",
    "google.rpc",
    "pydantic",  # validates what an approver changed; its classes are built by native code
    "pydantic_core",
    "httpx",  # files that hold a workflow beside its activities import it; it cannot load there
)


class _TaskInterceptor(Interceptor):
    """Guards the ends of tasks, and hands its options to the agent workflow."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options
        self.limits = PayloadLimits(ENTRY_LIMIT_BYTES)

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        input.unsafe_extern_functions[OPTIONS_FUNCTION] = lambda: self._options
        input.unsafe_extern_functions[PAYLOAD_LIMITS_FUNCTION] = lambda: self.limits
        return TaskInboundInterceptor

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return TaskActivityInboundInterceptor(next, self._options.heartbeat_interval)


class _PushInterceptor(Interceptor):
    """Lets tasks push, and hands its options to the delivery workflow."""

    def __init__(self, options: PushOptions) -> None:
        self._options = options

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        input.unsafe_extern_functions[PUSH_OPTIONS_FUNCTION] = lambda: self._options
        return PushInboundInterceptor


class A2APlugin(SimplePlugin):
    """Let a worker run A2A tasks: ``Worker(client, task_queue=..., plugins=[A2APlugin(...)])``.

    A turn of the agent is run at least once: a lost worker's turn is run again, up to
    ``AgentOptions.maximum_attempts`` times, and what the lost attempt had published is dropped.

    Args:
        agent_executor: An unmodified ``AgentExecutor`` of a2a-sdk. Omit it on a worker that runs
            only workflows of your own.
        options: Limits and rhythm of the agent's turns.
        push: Limits of push notifications; give the handler the same.
    """

    def __init__(
        self,
        *,
        agent_executor: AgentExecutor | None = None,
        options: AgentOptions | None = None,
        push: PushOptions | None = None,
    ) -> None:
        self._options = options or AgentOptions()
        self._push_options = push or PushOptions()
        self._push = PushActivities(self._push_options)
        activities: list[Callable[..., Any]] = [self._push.log_end, self._push.resume]
        workflows: list[type] = [PushWorkflow, LateConfigsWorkflow]
        self._agent: AgentActivities | None = None
        if agent_executor is not None:
            check_executor(agent_executor, "A2APlugin(agent_executor=...)")
            self._agent = AgentActivities(agent_executor, self._options)
            activities += [self._agent.run_agent, self._agent.cancel_agent]
            workflows.append(AgentWorkflow)
        self._tasks = _TaskInterceptor(self._options)
        super().__init__(
            "a2a_temporal.A2APlugin",
            activities=activities,
            workflows=workflows,
            workflow_runner=_pass_through,
            # Outermost first: a run is settled after its task has got its end.
            interceptors=[_PushInterceptor(self._push_options), self._tasks],
        )

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Add the activities and workflows, and let heartbeats (hence cancels) through in time."""
        config = super().configure_worker(config)
        interval = self._options.heartbeat_interval
        for name in ("max_heartbeat_throttle_interval", "default_heartbeat_throttle_interval"):
            config[name] = min(config.get(name, interval), interval)
        deployment = config.get("deployment_config")
        if deployment is not None and deployment.use_worker_versioning:
            config["deployment_config"] = _upgrading(deployment)
        if "client" in config:
            self._tasks.limits = _limits(config["client"].data_converter)
        return config

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
        """Deliver push notifications and watch over the threads of turns while the worker runs."""
        note_threads()
        try:
            async with delivering(worker, self._push, slots=self._push_options.concurrency):
                await super().run_worker(worker, next)
        finally:
            if self._agent is not None:
                await self._agent.completions.flush()

    def configure_replayer(self, config: ReplayerConfig) -> ReplayerConfig:
        """Let a replay decide by the same limits as the run it replays."""
        config = super().configure_replayer(config)
        if "data_converter" in config:
            self._tasks.limits = _limits(config["data_converter"])
        return config


def _upgrading(deployment: WorkerDeploymentConfig) -> WorkerDeploymentConfig:
    """Let workflows that name no versioning behavior, the library's among them, move on by default.

    They cannot name one themselves: Temporal refuses it from workers without versions.
    """
    if deployment.default_versioning_behavior != VersioningBehavior.UNSPECIFIED:
        return deployment
    return dataclasses.replace(
        deployment, default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE
    )


def _limits(converter: DataConverter) -> PayloadLimits:
    storage = converter.external_storage
    stored_from = storage.payload_size_threshold if storage is not None else None
    known = isinstance(converter.payload_codec, EncryptionCodec | None)
    return PayloadLimits(entry_limit(converter), stored_from, known)


def check_executor(executor: object, argument: str) -> None:
    """Check that an executor is an object that can work.

    Raises:
        TypeError: It is a class, or lacks a method.
    """
    missing: Sequence[str] = [
        name for name in ("execute", "cancel") if not callable(getattr(executor, name, None))
    ]
    if missing or isinstance(executor, type):
        raise TypeError(
            f"{argument} takes an AgentExecutor instance, got {executor!r}. Pass an object with "
            "async execute() and cancel()."
        )


def _pass_through(runner: WorkflowRunner | None) -> WorkflowRunner:
    if not isinstance(runner, SandboxedWorkflowRunner):
        return runner if runner is not None else SandboxedWorkflowRunner()
    restrictions = runner.restrictions.with_passthrough_modules(*_PASSED_THROUGH)
    return SandboxedWorkflowRunner(restrictions=restrictions)
