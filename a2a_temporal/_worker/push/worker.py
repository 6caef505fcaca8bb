"""The worker of push deliveries: a task queue and slots of its own, beside the user's worker."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal._log import wire
from a2a_temporal._worker.push.activities import PushActivities

# How old the position of a delivery may be from which another worker goes on.
_HEARTBEAT_THROTTLE = timedelta(seconds=1)
_POLLS = 2


@asynccontextmanager
async def delivering(
    worker: Worker, activities: PushActivities, *, slots: int
) -> AsyncGenerator[None]:
    """Run the deliveries of a worker's tasks for as long as the block lasts.

    Slow receivers take slots from each other, and none from agents' turns.

    Args:
        worker: The worker that runs the tasks; the deliveries share its client, interceptors,
            deployment version and grace period.
        activities: The activities of push notifications.
        slots: The most deliveries at once.
    """
    config = worker.config(active_config=True)
    async with Worker(
        _without_plugins(worker.client),
        task_queue=wire.push_task_queue(worker.task_queue),
        activities=[activities.deliver],
        interceptors=config.get("interceptors", ()),
        identity=config.get("identity"),
        deployment_config=config.get("deployment_config"),
        graceful_shutdown_timeout=config.get("graceful_shutdown_timeout", timedelta()),
        max_concurrent_activities=slots,
        max_concurrent_activity_task_polls=_POLLS,
        max_heartbeat_throttle_interval=_HEARTBEAT_THROTTLE,
    ):
        yield


def _without_plugins(client: Client) -> Client:
    """Return a client whose plugins, which have configured it already, add nothing to a worker."""
    config = client.config(active_config=True)
    config["plugins"] = []
    return Client(**config)
