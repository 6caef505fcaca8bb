"""Ask visibility which of the tasks that are followed without a poll have changed.

Few are asked about by name. For many, all tasks of the agent that have changed lately are listed,
as long as those fit into a page or two; where more change, the many are asked about by name, a part
of them at a time. So what a look costs is bounded, however many tasks an agent has and however
busy they are. Visibility answers few calls a second: ten a namespace and frontend by default.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest
from temporalio.client import Client

from a2a_temporal._gateway import Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.indexing import indexed, keyword, quote

# A change is stamped by the clock of a worker, and shows when visibility has written it.
_CLOCK_SKEW = timedelta(seconds=10)
_PAGE = 1000
_NAMED = 500
_CALLS = 2
_BUSY_FOR = 30.0


class Changes:
    """What changes from now on.

    Args:
        client: Connected client.
        agent: Identity of the agent.
    """

    def __init__(self, client: Client, agent: str) -> None:
        self._temporal = Gateway(client)
        self._agent = agent
        self._since = self._began = datetime.now(timezone.utc)
        self._to_ask: list[str] = []
        self._busy_until = 0.0

    async def among(self, task_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Return what has changed: id → state and its time in ms; may name other tasks as well.

        One look finds it among up to a thousand tasks, or while few change; otherwise several
        looks do, in turn. A look that fails is made up for by the next.

        Raises:
            temporalio.service.RPCError: Temporal did not answer.
        """
        asked_at = datetime.now(timezone.utc)
        now = asyncio.get_running_loop().time()
        if len(task_ids) > _NAMED and not self._to_ask and now >= self._busy_until:
            changed = await self._listed(self._lately(), most_pages=_CALLS)
            if changed is not None:
                self._since = asked_at
                return changed
            self._busy_until = now + _BUSY_FOR
        if not self._to_ask:
            self._to_ask, self._began = list(task_ids), asked_at
        return await self._next_part()

    async def _next_part(self) -> dict[str, tuple[str, int]]:
        """Ask about the next of those who are to be asked about by name."""
        changed: dict[str, tuple[str, int]] = {}
        now = self._to_ask[: _CALLS * _NAMED]
        for first in range(0, len(now), _NAMED):
            names = ", ".join(quote(task_id) for task_id in now[first : first + _NAMED])
            changed |= await self._listed(f"{self._lately()} AND WorkflowId IN ({names})") or {}
        del self._to_ask[: len(now)]
        if not self._to_ask:
            self._since = self._began
        return changed

    def _lately(self) -> str:
        since = (self._since - _CLOCK_SKEW).isoformat()
        return (
            f"{wire.AGENT_ATTRIBUTE} = {quote(keyword(self._agent))}"
            f" AND {wire.UPDATED_ATTRIBUTE} > {quote(since)}"
        )

    async def _listed(
        self, query: str, *, most_pages: int | None = None
    ) -> dict[str, tuple[str, int]] | None:
        """Return what a query finds; ``None`` when it does not fit into so many pages."""
        request = ListWorkflowExecutionsRequest(
            namespace=self._temporal.client.namespace, page_size=_PAGE, query=query
        )
        rpc = self._temporal.client.workflow_service.list_workflow_executions
        found: dict[str, tuple[str, int]] = {}
        pages = 0
        while True:
            # A look that fails is not retried: the next one makes up for it.
            page = await self._temporal.call(rpc, request, retry=False)
            pages += 1
            for info in page.executions:
                task_id, status = info.execution.workflow_id, indexed(info.search_attributes)
                # Earlier runs of a task have rows of their own.
                known = found.get(task_id, status)
                found[task_id] = max(known, status, key=lambda each: each[1])
            if not page.next_page_token:
                return found
            if pages == most_pages:
                return None
            request.next_page_token = page.next_page_token
