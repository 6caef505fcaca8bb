"""Is the process up, can it reach Temporal, and is there a worker for its tasks?"""

import asyncio
import contextlib
import logging
import time
from datetime import timedelta

from a2a.utils.errors import A2AError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._connect import check_namespace
from a2a_temporal._server.handler import TemporalRequestHandler
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

logger = logging.getLogger(__name__)

_PING_TIMEOUT = timedelta(seconds=2)
_KEEP_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 15.0
_WORKERS_SECONDS = 5.0


class Health:
    """Answers probes.

    Args:
        client: Asked whether Temporal answers; at most once a second, however many probes come.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._is_ready: bool = True

    def routes(self) -> list[Route]:
        """``/healthz`` and ``/readyz``."""
        return [Route("/healthz", self._alive), Route("/readyz", self._ready)]

    async def _alive(self, _: Request) -> Response:
        return PlainTextResponse("ok")

    async def _ready(self, _: Request) -> Response:
        async with self._asking:
            if time.monotonic() - self._asked_at > _KEEP_SECONDS:
                await self._ask()
        if self._is_ready:
            return PlainTextResponse("ready")
        return PlainTextResponse("not ready", status_code=503)

    async def _ask(self) -> None:
        try:
            await check_namespace(self._client, within=_PING_TIMEOUT)
        except (ConnectionSettingsError, TemporalUnreachableError) as error:
            ready, why = False, str(error)
        else:
            ready, why = True, "Temporal answers again"
        if ready != self._is_ready:
            # Once a change, not once a probe.
            logger.log(logging.INFO if ready else logging.WARNING, "%s", why)
        self._is_ready, self._asked_at = ready, time.monotonic()


async def start(handler: TemporalRequestHandler, tried: asyncio.Event) -> None:
    """Start the handler, and try again for as long as Temporal is down."""
    pause = 1.0
    while True:
        try:
            await check_namespace(handler.client)
            await handler.start()
            tried.set()
            return await _warn_without_workers(handler)
        except (TemporalUnreachableError, ConnectionSettingsError, A2AError) as error:
            logger.warning("%s. Not ready; next try in %.0f s.", error, pause)
        except Exception:
            logger.exception("the handler could not be started; the first request tries again")
            return None
        finally:
            tried.set()
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


async def _warn_without_workers(handler: TemporalRequestHandler) -> None:
    """Say, some seconds after the start, when tasks would wait for a worker that is not there."""
    await asyncio.sleep(_WORKERS_SECONDS)
    asking = handler.client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=handler.client.namespace,
            task_queue=TaskQueue(name=handler.task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    with contextlib.suppress(RPCError):
        if (await asking).pollers:
            return
        logger.warning(
            "No worker listens on task queue %r: tasks wait until one does. Start one for this "
            "agent, or give server and worker the same task queue.",
            handler.task_queue,
        )
