"""Push notification configs (A2A 1.0 sections 3.1.7 to 3.1.10): checked here, kept in task logs.

Nothing is delivered from here; the task's workflow has the worker do that. The log of a finished
task takes no entries: changes after its end are kept in a workflow beside it, in the same form.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from a2a.types.a2a_pb2 import (
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError
from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from a2a_temporal._encryption import KEYS_VARIABLE
from a2a_temporal._gateway import Gateway, is_closed_workflow, is_missing_workflow
from a2a_temporal._log import wire
from a2a_temporal._log.entries import now_text
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, PushConfig
from a2a_temporal._net import MAXIMUM_URL_CHARACTERS, UrlRefusedError
from a2a_temporal._push_options import PushOptions
from a2a_temporal._reading.late_configs import read_late_configs
from a2a_temporal._server.errors import UnavailableError, errors_of_temporal
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.push_answers import with_secrets
from a2a_temporal._server.tasks import SHOWN_WITHIN, Tasks

_TRIES = 10
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_LIMITS = {"id": 128, "token": 4096}
_CREDENTIAL_LIMITS = {"scheme": 64, "credentials": 8192}


class PushConfigs:
    """The configs of an agent's tasks.

    Args:
        client: Connected client.
        tasks: Those tasks.
        task_queue: The task queue the agent's workers listen on.
        options: The handler's options.
    """

    def __init__(
        self, client: Client, tasks: Tasks, *, task_queue: str, options: HandlerOptions
    ) -> None:
        self._gateway = Gateway(client, timeout=options.read_timeout)
        self._tasks = tasks
        self._task_queue = task_queue
        self._options: PushOptions = options.push
        self._guard = options.push.guard()

    async def checked(
        self, given: TaskPushNotificationConfig, state: LogState | None
    ) -> TaskPushNotificationConfig:
        """Check a config before anything of its request is stored, and complete it.

        Args:
            given: The config as the client sent it.
            state: The task's log; ``None`` when the task is about to begin.

        Returns:
            The config as it is kept. Without an id it gets the id of a config that says the same,
            so that sending one again changes nothing, or a new one.

        Raises:
            InvalidParamsError: A value is not allowed; the text quotes no secret.
        """
        _check_fields(given)
        known = {} if state is None else state.push_configs
        config = with_secrets(given, known)
        self._check_secrets(config)
        config.ClearField("tenant")
        config.ClearField("task_id")
        if not config.id:
            config.id = next(
                (each for each, push in known.items() if _same(push.config, config)),
                str(uuid.uuid4()),
            )
        if config.id in known and known[config.id].config == config:
            return config
        self._check_room(known, config.id)
        try:
            await self._guard.check(config.url, registering=True)
        except UrlRefusedError as refusal:
            raise InvalidParamsError(
                f"The push notification URL is refused: {refusal}."
            ) from refusal
        return config

    async def known(self, state: LogState) -> LogState:
        """Return a task's state with the configs it has now, changes after its end included.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        if not state.terminal:
            return state
        with errors_of_temporal():
            late = await read_late_configs(self._gateway.client, state)
        return replace(state, push_configs=late.configs, push_revision=late.revision)

    async def set(self, state: LogState, config: TaskPushNotificationConfig) -> None:
        """Keep a checked config; does nothing when it is there already.

        Raises:
            InvalidParamsError: Others were set in the meantime, and there is no room any more.
            InternalError: Temporal cannot be reached now.
        """
        most = self._options.maximum_configs

        def is_set(now: LogState) -> bool:
            known = now.push_configs.get(config.id)
            if known is None:
                self._check_room(now.push_configs, config.id)
                return False
            replaced = known.revision > state.push_revision
            return known.config == config or replaced

        await self._change(state, {"set": to_json(config), "most": most}, is_set)

    async def add(self, state: LogState, given: TaskPushNotificationConfig) -> None:
        """Set the config that came with a repeated message, unless its task has ended.

        Raises:
            InvalidParamsError: See :meth:`checked`.
            InternalError: Temporal cannot be reached now.
        """
        if not state.terminal:
            await self.set(state, await self.checked(given, state))

    async def delete(self, state: LogState, config_id: str) -> None:
        """Delete a config; does nothing when it is not there.

        What a finished task has left to deliver to it is dropped, also by a repeat of a delete that
        was cut short.

        Raises:
            InternalError: Temporal cannot be reached now.
        """

        def is_gone(now: LogState) -> bool:
            known = now.push_configs.get(config_id)
            return known is None or known.since > state.push_revision

        change: dict[str, object] = {"delete": config_id}
        if await self._change(state, change, is_gone):
            await self._stop_deliveries(state, change)

    async def _change(
        self, state: LogState, change: dict[str, object], done: Callable[[LogState], bool]
    ) -> bool:
        """Write a change where it counts, if it is not ``done``; says whether the task has ended.

        A signal may be accepted and yet come too late, behind the entry that ends the task: the log
        decides, so it is read again.
        """
        for _ in range(_TRIES):
            if done(state):
                return state.terminal
            ended = state.terminal
            if ended:
                await self._change_late(state, change)
            else:
                await self._signal(state.task.id, change)
            state = await self._shown(state, done)
            if ended or not state.terminal:
                return ended
        raise UnavailableError

    async def _shown(self, before: LogState, done: Callable[[LogState], bool]) -> LogState:
        """Return the log once it shows a change, so that its author can read it, or has ended."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + SHOWN_WITHIN.total_seconds(), _SHORTEST_PAUSE
        while True:
            now = await self.known(await self._tasks.log(before.task.id))
            if done(now) or now.terminal != before.terminal or loop.time() >= until:
                return now
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _change_late(self, state: LogState, change: dict[str, object]) -> None:
        """Write a change of a finished task into the workflow beside it, which it may open."""
        for _ in range(_TRIES):
            with errors_of_temporal():
                late = await read_late_configs(self._gateway.client, state)
                try:
                    await self._gateway.start(
                        wire.LATE_CONFIGS_WORKFLOW,
                        [late.start()],
                        workflow_id=late.workflow_id,
                        task_queue=self._task_queue,
                        summary="Push configs of a finished task",
                        signal=wire.PUSH_CONFIG_SIGNAL,
                        signal_args=[_entry(change)],
                    )
                except WorkflowAlreadyStartedError:
                    continue  # it closed between the two calls; the next number begins with its end
            return
        raise UnavailableError

    async def _stop_deliveries(self, state: LogState, change: dict[str, object]) -> None:
        """Have the deliveries that are under way drop a config at once."""
        number = int((state.start.snapshot or {}).get("push_child", 0)) + 1
        while await self._signal(wire.push_workflow_id(state.task.id, number), change):
            number += 1

    async def _signal(self, workflow_id: str, change: dict[str, object]) -> bool:
        """Signal an entry, if the workflow still takes any; says whether the workflow exists."""
        with errors_of_temporal():
            try:
                await self._gateway.signal(workflow_id, wire.PUSH_CONFIG_SIGNAL, [_entry(change)])
            except RPCError as error:
                if not is_missing_workflow(error):
                    raise
                return is_closed_workflow(error)
        return True

    def _check_room(self, known: Mapping[str, PushConfig], config_id: str) -> None:
        if config_id not in known and len(known) >= self._options.maximum_configs:
            raise InvalidParamsError(
                f"The task has {len(known)} push notification configs, which is the most it may "
                "have. Delete one."
            )

    def _check_secrets(self, config: TaskPushNotificationConfig) -> None:
        secret = config.token or config.authentication.credentials
        if secret and self._gateway.client.data_converter.payload_codec is None:
            raise InvalidParamsError(
                "This server keeps no credentials, because it would keep them in clear: set "
                f"{KEYS_VARIABLE} for its processes, or send the config without token and "
                "authentication."
            )


def attached(request: SendMessageRequest) -> TaskPushNotificationConfig | None:
    """Return the config that came with a message."""
    configuration = request.configuration
    if configuration.HasField("task_push_notification_config"):
        return configuration.task_push_notification_config
    return None


def _entry(change: dict[str, object]) -> dict[str, object]:
    return {"version": wire.LOG_VERSION, **change, "at": now_text(datetime.now(timezone.utc))}


def _same(one: TaskPushNotificationConfig, other: TaskPushNotificationConfig) -> bool:
    """Say whether two configs differ in nothing but the id."""
    return (one.url, one.token, one.authentication) == (
        other.url,
        other.token,
        other.authentication,
    )


def _check_fields(config: TaskPushNotificationConfig) -> None:
    _check_length("url", config.url, MAXIMUM_URL_CHARACTERS)
    for name, limit in _LIMITS.items():
        _check_text(name, getattr(config, name), limit)
    authentication = config.authentication
    for name, limit in _CREDENTIAL_LIMITS.items():
        _check_text(f"authentication.{name}", getattr(authentication, name), limit)
    if authentication.credentials and not authentication.scheme:
        raise InvalidParamsError(
            "authentication.scheme is empty; it names the HTTP authentication scheme of the "
            "credentials, for example 'Bearer'."
        )
    if " " in authentication.scheme:
        raise InvalidParamsError("authentication.scheme holds a space; it is one word.")


def _check_length(name: str, value: str, limit: int) -> None:
    if len(value) > limit:
        raise InvalidParamsError(f"{name} has {len(value)} characters; {limit} are allowed.")


def _check_text(name: str, value: str, limit: int) -> None:
    _check_length(name, value, limit)
    if not (value.isascii() and value.isprintable()):
        raise InvalidParamsError(f"{name} holds a character that an HTTP header cannot carry.")
