"""The pages of a history: how large they are asked for, and the one loop over them."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryResponse
from temporalio.service import RPCError

from a2a_temporal._gateway import CALL_TIMEOUT, Gateway, is_late

FEW_BATCHES = 8
_MOST_BATCHES = 256  # Temporal gives no more
_FASTER = 8
_PAGE_BYTES = 4 * 1024 * 1024
_SHARE = 0.2

Fetch = Callable[..., Awaitable[Any]]
"""Asks for a page of a ``size`` in batches of events, and of a ``token``."""


class PageSize:
    """How many batches of events a page of a history is asked for.

    A page shall neither be large nor take long, so its size follows what the last one brought. The
    first one is small: it holds a task of one turn, and little of one that is not to be read.

    Args:
        first: The number to begin with, if that is small.
        timeout: Bound of a call; a page shall take a part of it.

    Attributes:
        batches: How many to ask for.
        shrunk: A page did not come in time.
    """

    def __init__(self, *, first: int = FEW_BATCHES, timeout: timedelta = CALL_TIMEOUT) -> None:
        self.batches = min(first, FEW_BATCHES)
        self.shrunk = False
        self._seconds = timeout.total_seconds() * _SHARE

    def note(self, page_bytes: int, seconds: float) -> None:
        """Note what a page of the present size had, and how long it took."""
        times = min(
            _PAGE_BYTES / max(page_bytes, 1), self._seconds / max(seconds, 1e-3), float(_FASTER)
        )
        self.batches = max(1, min(int(self.batches * times), _MOST_BATCHES))

    def shrink(self) -> bool:
        """Ask for less after a page that did not come in time; False if it was the least."""
        smaller = self.batches // _FASTER
        least, self.batches = self.batches == 1, max(1, smaller)
        self.shrunk = True
        return not least


async def pages(
    fetch: Fetch, size: PageSize, token: bytes = b""
) -> AsyncGenerator[GetWorkflowExecutionHistoryResponse]:
    """Yield all pages; one that does not come in time is asked for again, with fewer events.

    The first one is not: nothing says yet that Temporal answers at all.
    """
    answers = False
    while True:
        began = time.monotonic()
        try:
            page = await fetch(size=size.batches, token=token)
        except RPCError as error:
            if is_late(error) and size.shrink() and answers:
                continue
            raise
        except asyncio.CancelledError:  # the caller has run out of time
            size.shrink()
            raise
        answers = True
        size.note(page.ByteSize(), time.monotonic() - began)
        yield page
        token = page.next_page_token
        if not token:
            return


async def history_events(
    gateway: Gateway, workflow_id: str, run_id: str = ""
) -> AsyncIterator[HistoryEvent]:
    """Yield the history events that a run has now, the oldest first."""
    fetch = partial(gateway.history_page, workflow_id, run_id)
    async for page in pages(fetch, PageSize(timeout=gateway.timeout)):
        for event in page.history.events:
            yield event


async def newest_events(
    gateway: Gateway, workflow_id: str, run_id: str = "", *, first: int = FEW_BATCHES
) -> AsyncIterator[HistoryEvent]:
    """Yield the history events that a run has now, the newest first; a few on the first page."""
    fetch = partial(gateway.newest_history_page, workflow_id, run_id)
    async for page in pages(fetch, PageSize(first=first, timeout=gateway.timeout)):
        for event in page.history.events:
            yield event
