"""Liveness and readiness: is the process up, and can it reach Temporal?"""

import asyncio
import logging
import time
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.client import Client

from a2a_temporal._connect import check_namespace
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

logger = logging.getLogger(__name__)

PING_TIMEOUT = timedelta(seconds=2)
_KEEP_SECONDS = 1.0


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
            await check_namespace(self._client, within=PING_TIMEOUT)
        except (ConnectionSettingsError, TemporalUnreachableError) as error:
            ready, why = False, str(error)
        else:
            ready, why = True, "Temporal answers again"
        if ready != self._is_ready:
            # Once a change, not once a probe.
            logger.log(logging.INFO if ready else logging.WARNING, "%s", why)
        self._is_ready, self._asked_at = ready, time.monotonic()
