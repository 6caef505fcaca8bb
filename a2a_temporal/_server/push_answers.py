"""Push notification configs as their owner reads them: in pages, and without their secrets.

``token`` and ``authentication.credentials`` are answered as :data:`REDACTED` (A2A 1.1 demands it of
Get and List). A client that sends a config back as it has read it keeps the secrets it has.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from a2a.types.a2a_pb2 import (
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from a2a_temporal._log.state import LogState, PushConfig

REDACTED: Final = "[redacted]"

_MAXIMUM_PAGE = 100


def found(state: LogState, config_id: str, *, in_clear: bool) -> TaskPushNotificationConfig:
    """Return one config of a task.

    Args:
        state: The task.
        config_id: The config.
        in_clear: Show its secrets.

    Raises:
        TaskNotFoundError: The task has no such config (section 3.1.8).
    """
    push = state.push_configs.get(config_id)
    if push is None:
        raise TaskNotFoundError
    return _readable(state, push.config, in_clear=in_clear)


def page(
    state: LogState, request: ListTaskPushNotificationConfigsRequest, *, in_clear: bool
) -> ListTaskPushNotificationConfigsResponse:
    """Return a page of a task's configs; all of them when no size is asked for.

    Args:
        state: The task.
        request: Size and token of the page.
        in_clear: Show the secrets of the configs.

    Raises:
        InvalidParamsError: Page size or token are not allowed.
    """
    if not 0 <= request.page_size <= _MAXIMUM_PAGE:
        raise InvalidParamsError(
            f"pageSize is {request.page_size}; it must be between 1 and {_MAXIMUM_PAGE}."
        )
    ids = sorted(state.push_configs)
    if request.page_token:
        after = _position(request.page_token, state.task.id)
        ids = [each for each in ids if each > after]
    size = request.page_size or len(ids)
    configs = [
        _readable(state, state.push_configs[each].config, in_clear=in_clear) for each in ids[:size]
    ]
    token = _token(state.task.id, ids[size - 1]) if len(ids) > size else ""
    return ListTaskPushNotificationConfigsResponse(configs=configs, next_page_token=token)


def complete(state: LogState, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    """Return a config with the ids that are not kept with each."""
    shown = TaskPushNotificationConfig()
    shown.CopyFrom(config)
    shown.task_id = state.task.id
    shown.tenant = state.start.tenant
    return shown


def with_secrets(
    given: TaskPushNotificationConfig, known: Mapping[str, PushConfig]
) -> TaskPushNotificationConfig:
    """Return a config with the secrets that its sender has seen redacted only.

    They are sent to no other host: who can change where a config leads may not know its secrets.

    Args:
        given: The config as it was sent.
        known: The configs of its task.

    Raises:
        InvalidParamsError: There is no such secret, or it belongs to another host.
    """
    config = TaskPushNotificationConfig()
    config.CopyFrom(given)
    push = known.get(given.id)
    kept = push.config if push else TaskPushNotificationConfig()
    for name, holder, source in (
        ("token", config, kept),
        ("credentials", config.authentication, kept.authentication),
    ):
        if getattr(holder, name) != REDACTED:
            continue
        secret = getattr(source, name)
        if not secret or not _leads_to_the_same(given.url, kept.url):
            raise InvalidParamsError(
                f"{name} is {REDACTED!r}, which stands for what the config {given.id!r} of this "
                "task has. There is none for this host. Send the value itself."
            )
        setattr(holder, name, secret)
    return config


def _readable(
    state: LogState, config: TaskPushNotificationConfig, *, in_clear: bool
) -> TaskPushNotificationConfig:
    shown = complete(state, config)
    if not in_clear:
        if shown.token:
            shown.token = REDACTED
        if shown.authentication.credentials:
            shown.authentication.credentials = REDACTED
    return shown


def _leads_to_the_same(url: str, known: str) -> bool:
    """Say whether what one URL's host may see may be sent to the other, no less protected."""
    try:
        new, old = urlsplit(url), urlsplit(known)
    except ValueError:
        return False
    return new.hostname == old.hostname and new.scheme in (old.scheme, "https")


def _token(task_id: str, config_id: str) -> str:
    """Return the token of the page that begins behind a config."""
    text = json.dumps([task_id, config_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _position(token: str, task_id: str) -> str:
    """Return the id of the config behind which a page begins.

    Raises:
        InvalidParamsError: The token is none, or one of another list.
    """
    try:
        fields: Any = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        fields = None
    match fields:
        case [str(task), str(config_id)] if task == task_id and _token(task, config_id) == token:
            return config_id
        case _:
            raise InvalidParamsError(
                "pageToken is not one of this list. Take it from the previous page of the same "
                "task's configs."
            )
