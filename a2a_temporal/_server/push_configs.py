"""Push notification configs (A2A 1.0 sections 3.1.7 to 3.1.10): checked here, kept in task logs.

Nothing is delivered from here; the task's workflow has the worker do that.
"""

import contextlib
import uuid
from datetime import datetime, timezone

from a2a.types.a2a_pb2 import (
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._encryption import KEYS_VARIABLE
from a2a_temporal._log import wire
from a2a_temporal._log.entries import now_text
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState
from a2a_temporal._net import UrlRefusedError
from a2a_temporal._push_options import PushOptions
from a2a_temporal._server.engine_errors import engine_errors, is_missing_workflow, within
from a2a_temporal._server.options import HandlerOptions

UNSUPPORTED = (
    "This agent sends no push notifications: its card says capabilities.push_notifications = false."
)

_MAXIMUM_PAGE = 100
_LIMITS = {"id": 128, "token": 4096}
_CREDENTIAL_LIMITS = {"scheme": 64, "credentials": 8192}


class PushConfigs:
    """The configs of an agent's tasks.

    Args:
        client: Connected client.
        options: The handler's options.
    """

    def __init__(self, client: Client, *, options: HandlerOptions) -> None:
        self._client = client
        self._read_timeout = options.read_timeout
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
        self._check_secrets(given)
        known = {} if state is None else state.push_configs
        config = TaskPushNotificationConfig()
        config.CopyFrom(given)
        config.ClearField("tenant")
        config.ClearField("task_id")
        if not config.id:
            config.id = next(
                (each for each, push in known.items() if _same(push.config, config)),
                str(uuid.uuid4()),
            )
        if config.id in known and known[config.id].config == config:
            return config
        if config.id not in known and len(known) >= self._options.maximum_configs:
            raise InvalidParamsError(
                f"The task has {len(known)} push notification configs, which is the most it may "
                "have. Delete one."
            )
        try:
            await self._guard.check(config.url, registering=True)
        except UrlRefusedError as refusal:
            raise InvalidParamsError(
                f"The push notification URL is refused: {refusal}."
            ) from refusal
        return config

    async def set(self, state: LogState, config: TaskPushNotificationConfig) -> None:
        """Write a checked config into a task's log; does nothing when it is there already.

        Raises:
            UnsupportedOperationError: The task has ended.
            InternalError: Temporal cannot be reached now.
        """
        known = state.push_configs.get(config.id)
        if known is not None and known.config == config:
            return
        if state.terminal or not await self._signal(state.task.id, {"set": to_json(config)}):
            raise UnsupportedOperationError(
                f"Task {state.task.id} has ended; nothing follows that a push notification could "
                "tell."
            )

    async def add(self, state: LogState, given: TaskPushNotificationConfig) -> None:
        """Set the config that came with a repeated message, unless its task has ended.

        Raises:
            InvalidParamsError: See :meth:`checked`.
            InternalError: Temporal cannot be reached now.
        """
        if not state.terminal:
            config = await self.checked(given, state)
            with contextlib.suppress(UnsupportedOperationError):
                await self.set(state, config)

    async def delete(self, state: LogState, config_id: str) -> None:
        """Delete a config from a task's log; does nothing when it is not there.

        The log of an ended task takes no entries; what is left to deliver is dropped all the same.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        if config_id not in state.push_configs:
            return
        entry: dict[str, object] = {"delete": config_id}
        if state.terminal or not await self._signal(state.task.id, entry):
            number = int((state.start.snapshot or {}).get("push_child", 0)) + 1
            await self._signal(wire.push_workflow_id(state.task.id, number), entry)

    async def _signal(self, workflow_id: str, change: dict[str, object]) -> bool:
        """Signal an entry; says whether the workflow still takes any."""
        entry = {
            "version": wire.LOG_VERSION,
            **change,
            "at": now_text(datetime.now(timezone.utc)),
        }
        workflow = self._client.get_workflow_handle(workflow_id)
        async with engine_errors():
            try:
                signaled = workflow.signal(
                    wire.PUSH_CONFIG_SIGNAL, entry, rpc_timeout=self._read_timeout
                )
                await within(self._read_timeout, signaled)
            except RPCError as error:
                if is_missing_workflow(error):
                    return False
                raise
        return True

    def _check_secrets(self, config: TaskPushNotificationConfig) -> None:
        secret = config.token or config.authentication.credentials
        if secret and self._client.data_converter.payload_codec is None:
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


def found(state: LogState, config_id: str) -> TaskPushNotificationConfig:
    """Return one config of a task.

    Raises:
        TaskNotFoundError: The task has no such config (section 3.1.8).
    """
    push = state.push_configs.get(config_id)
    if push is None:
        raise TaskNotFoundError
    return shown(state, push.config)


def page(
    state: LogState, request: ListTaskPushNotificationConfigsRequest
) -> ListTaskPushNotificationConfigsResponse:
    """Return a page of a task's configs; a token is the id after which the next page begins.

    Raises:
        InvalidParamsError: Page size or token are not allowed.
    """
    size = request.page_size or _MAXIMUM_PAGE
    if not 1 <= size <= _MAXIMUM_PAGE:
        raise InvalidParamsError(
            f"pageSize is {request.page_size}; it must be between 1 and {_MAXIMUM_PAGE}."
        )
    ids = sorted(state.push_configs)
    if request.page_token:
        ids = [each for each in ids if each > request.page_token]
    configs = [shown(state, state.push_configs[each].config) for each in ids[:size]]
    token = ids[size - 1] if len(ids) > size else ""
    return ListTaskPushNotificationConfigsResponse(configs=configs, next_page_token=token)


def shown(state: LogState, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Return a config as its owner gets it, with the ids that are not kept with each."""
    complete = TaskPushNotificationConfig()
    complete.CopyFrom(config)
    complete.task_id = state.task.id
    complete.tenant = state.start.tenant
    return complete


def _same(one: TaskPushNotificationConfig, other: TaskPushNotificationConfig) -> bool:
    """Say whether two configs differ in nothing but the id."""
    return (one.url, one.token, one.authentication) == (
        other.url,
        other.token,
        other.authentication,
    )


def _check_fields(config: TaskPushNotificationConfig) -> None:
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


def _check_text(name: str, value: str, limit: int) -> None:
    if len(value) > limit:
        raise InvalidParamsError(f"{name} has {len(value)} characters; {limit} are allowed.")
    if not (value.isascii() and value.isprintable()):
        raise InvalidParamsError(f"{name} holds a character that an HTTP header cannot carry.")
