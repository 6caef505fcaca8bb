"""What Temporal has written down of its latest workflows, for the report of a failing test.

A task that came too late says nothing in any log; its history says which step took how long.
"""

import json
import subprocess
from typing import Any

from a2a_temporal._embedded import find_binary
from tests.support.processes import Process

_WORKFLOWS = 5
_EVENTS = 15
_SECONDS = 5


def latest_histories(server: Process) -> str:
    """Return when each of the last events of its latest workflows happened."""
    if not server.running:
        return "The server does not run."
    try:
        found = _ask(server, "list", "--limit", str(_WORKFLOWS))
        return "\n\n".join(_history(server, each["execution"]["workflowId"]) for each in found)
    except (subprocess.SubprocessError, ValueError, LookupError) as failure:
        return f"It could not be asked: {failure!r}"


def _history(server: Process, workflow_id: str) -> str:
    events = _ask(server, "show", "--workflow-id", workflow_id)["events"]
    lines = [
        f"  {event['eventTime']} {event['eventType'].removeprefix('EVENT_TYPE_')}"
        for event in events[-_EVENTS:]
    ]
    return "\n".join([f"{workflow_id}, {len(events)} events:", *lines])


def _ask(server: Process, *command: str) -> Any:
    _, _, port = server.name.partition("-")
    done = subprocess.run(
        [
            find_binary(),
            "workflow",
            *command,
            f"--address=127.0.0.1:{port}",
            "--output=json",
        ],
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return json.loads(done.stdout)
