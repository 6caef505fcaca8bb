"""Clusters whose agent pushes, and the four operations on push notification configs."""

import base64
from typing import Any, Protocol

from tests.support.cluster import QUICK_RETRY, Options
from tests.support.results import Json

KEYS = {"A2A_TEMPORAL_ENCRYPTION_KEYS": f"k1:{base64.b64encode(bytes(range(32))).decode()}"}
"""An environment that lets a cluster keep credentials."""

LOCAL_HOOKS = "--push-allow=127.0.0.1"

REDACTED = "[redacted]"
"""What stands for a secret where a config is read."""


class Calls(Protocol):
    """A client of one server, over whichever binding."""

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        ...


def pushing(*worker: str, allow: bool = True, encrypted: bool = False) -> Options:
    """Return the options of a cluster that pushes, to hooks of this machine if `allow`."""
    allowed = (LOCAL_HOOKS,) if allow else ()
    return Options(
        api=("--push", *allowed),
        worker=(*QUICK_RETRY, *allowed, "--push-interval=0.2", *worker),
        env=KEYS if encrypted else {},
    )


def redacted(config: Json) -> Json:
    """Return a config as its owner reads it."""
    read = dict(config)
    if read.get("token"):
        read["token"] = REDACTED
    if "credentials" in read.get("authentication", {}):
        read["authentication"] = {**read["authentication"], "credentials": REDACTED}
    return read


def inline(*configs: Json) -> Json:
    """Return the configuration of a SendMessage that brings a config along."""
    (config,) = configs
    return {"taskPushNotificationConfig": config}


async def set_config(caller: Calls, task_id: str, config: Json) -> Json:
    """CreateTaskPushNotificationConfig."""
    return await caller.call("CreateTaskPushNotificationConfig", {"taskId": task_id, **config})


async def get_config(caller: Calls, task_id: str, config_id: str) -> Json:
    """GetTaskPushNotificationConfig."""
    params = {"taskId": task_id, "id": config_id}
    return await caller.call("GetTaskPushNotificationConfig", params)


async def list_configs(caller: Calls, task_id: str, **params: Any) -> Json:
    """ListTaskPushNotificationConfigs."""
    params = {"taskId": task_id, **params}
    return await caller.call("ListTaskPushNotificationConfigs", params)


async def delete_config(caller: Calls, task_id: str, config_id: str) -> None:
    """DeleteTaskPushNotificationConfig."""
    params = {"taskId": task_id, "id": config_id}
    await caller.call("DeleteTaskPushNotificationConfig", params)
