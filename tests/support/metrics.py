"""What the Temporal server itself counts."""

import re

import httpx

from tests.support.temporal_server import TemporalServer

_POLLS = re.compile(
    r'^service_pending_requests\{.*operation="PollWorkflowExecutionHistory".*'
    r'service_name="frontend"\} (\d+)',
    re.MULTILINE,
)


async def pending_history_polls(server: TemporalServer) -> int:
    """How many history long polls wait at the server now, whoever sent them."""
    found = re.search(r"http://localhost:(\d+)/metrics", server.process.output())
    assert found, server.process.tail()
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.get(f"http://127.0.0.1:{found.group(1)}/metrics")
    pending = _POLLS.search(response.text)
    return int(pending.group(1)) if pending else 0
