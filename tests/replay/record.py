"""Record histories anew: ``python -m tests.replay.record [shape ...]``.

Starts a Temporal server, plays each shape with a real worker, and writes one file a run: its
history, and beside it the Task as its own workflow tells it.
"""

import asyncio
import json
import re
import sys
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

from a2a.types.a2a_pb2 import AgentCard
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Worker

from a2a_temporal import (
    A2APlugin,
    AgentOptions,
    HandlerOptions,
    PushOptions,
    TemporalRequestHandler,
)
from a2a_temporal._log.wire import AGENT_WORKFLOW, TASK_QUERY, late_configs_id, push_workflow_id
from tests.replay.flow import Flow
from tests.replay.shapes import CONTINUES_AFTER, RETRIES_AFTER, SHAPES, Scene, Shape, pushed
from tests.support.in_process import CARD, Scripted, Served, new_task_queue
from tests.support.logs import first_run, successor_of
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually, within

HISTORIES = Path(__file__).parent / "histories"
PUSH = PushOptions(allowed_hosts=["127.0.0.1"], initial_interval=timedelta(milliseconds=200))
PUSHING_CARD = AgentCard()
PUSHING_CARD.CopyFrom(CARD)
PUSHING_CARD.capabilities.push_notifications = True


async def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with running_server(Path(folder)) as server:
            client = await server.client()
            for shape in SHAPES:
                if not names or shape.__name__ in names:
                    await within(90, record(client, shape), what=shape.__name__)


async def record(client: Client, shape: Shape) -> None:
    queue, scripted = new_task_queue(), Scripted()
    options = AgentOptions(
        retry_interval=RETRIES_AFTER.get(shape.__name__, timedelta(milliseconds=50)),
        continue_as_new_after=CONTINUES_AFTER.get(shape.__name__),
    )
    plugin = A2APlugin(agent_executor=scripted, options=options, push=PUSH)
    agent, flow = (
        TemporalRequestHandler(
            client,
            agent_card=PUSHING_CARD,
            task_queue=queue,
            workflow=workflow,
            options=HandlerOptions(push=PUSH),
        )
        for workflow in (AGENT_WORKFLOW, Flow)
    )
    async with Worker(client, task_queue=queue, workflows=[Flow], plugins=[plugin]):
        scene = Scene(
            client,
            Served(handler=agent, task_queue=queue),
            Served(handler=flow, task_queue=queue),
            scripted,
        )
        task_id = await shape(scene)
        await eventually(lambda: _closed(client, task_id), within=20, what="the close")
        run_id, number = await first_run(client, task_id), 1
        while run_id:
            name = f"{shape.__name__}-{number}"
            await _write(client, name, task_id, run_id)
            said = await client.get_workflow_handle(task_id, run_id=run_id).query(TASK_QUERY)
            _dump(HISTORIES / f"{name}.task.json", said)
            run_id, number = await successor_of(client, task_id, run_id), number + 1
        if shape is pushed:
            for beside in (push_workflow_id(task_id, 1), late_configs_id(task_id, 1)):
                await eventually(partial(_closed, client, beside), within=20, what="the close")
                kind = beside.removeprefix(f"{task_id}/").replace("/", "-")
                await _write(client, f"{shape.__name__}-{kind}", beside, "")
        await agent.aclose()
        await flow.aclose()


async def _write(client: Client, name: str, workflow_id: str, run_id: str) -> None:
    workflow = client.get_workflow_handle(workflow_id, run_id=run_id or None)
    history: WorkflowHistory = await workflow.fetch_history()
    _dump(HISTORIES / f"{name}.json", _without_traces(history.to_json_dict()))
    print(f"{name}: {len(history.events)} events")


def _without_traces(value: Any) -> Any:
    """Leave out what only says on which machine a history was recorded."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _without_traces(fields[key]) for key in fields if key != "stackTrace"}
    if isinstance(value, list):
        return [_without_traces(each) for each in cast("list[Any]", value)]
    return "recorded" if isinstance(value, str) and _PROCESS.match(value) else value


_PROCESS = re.compile(r"\d+@\S+$")


def _dump(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


async def _closed(client: Client, task_id: str) -> bool:
    return (await client.get_workflow_handle(task_id).describe()).close_time is not None


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
