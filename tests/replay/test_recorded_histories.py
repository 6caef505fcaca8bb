"""Histories of every shape still replay, and still fold to what their own workflow said."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Replayer

from a2a_temporal import A2APlugin, AgentOptions, PushOptions
from a2a_temporal._log.entries import TaskStart
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._reading.decode import Successor, entry_of, start_of
from tests.replay.flow import Flow
from tests.replay.record import HISTORIES
from tests.replay.shapes import RUNS, SHAPES
from tests.support.in_process import Scripted

FILES = sorted(path for path in HISTORIES.glob("*.json") if ".task" not in path.suffixes)
TASKS = [path for path in FILES if path.with_suffix(".task.json").exists()]
OTHER = (
    AgentOptions(continue_as_new_after=5, maximum_attempts=1),
    PushOptions(maximum_attempts=1, maximum_configs=1, maximum_age=timedelta(seconds=1)),
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("options", "push"), [(None, None), OTHER], ids=["", "other"])
async def test_the_history_replays_under_any_options(
    path: Path, options: AgentOptions | None, push: PushOptions | None
) -> None:
    plugin = A2APlugin(agent_executor=Scripted(), options=options, push=push)
    await Replayer(workflows=[Flow], plugins=[plugin]).replay_workflow(_read(path))


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
async def test_the_history_folds_to_what_its_workflow_said(path: Path) -> None:
    state: LogState | None = None
    for event in _read(path).events:
        if state is None:
            start = await start_of(event, DataConverter.default)
            assert isinstance(start, TaskStart)
            state = begin(start)
            continue
        entry = await entry_of(event, DataConverter.default)
        if entry is not None and not isinstance(entry, Successor):
            fold(state, entry)
    assert state is not None
    said: dict[str, Any] = json.loads(path.with_suffix(".task.json").read_text())
    assert to_json(state.task) == said


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_is_recorded(shape: Any) -> None:
    runs = RUNS.get(shape.__name__, 1)
    assert sum(path.stem.startswith(f"{shape.__name__}-") for path in TASKS) == runs


def test_what_runs_beside_a_task_is_recorded() -> None:
    assert {path.stem for path in FILES if path not in TASKS} == {
        "pushed-push-1",
        "pushed-push-configs-1",
    }


def _read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())
