"""An artifact that is published as a whole says so: `lastChunk`."""

from a2a.types.a2a_pb2 import Task, TaskArtifactUpdateEvent, TaskStatus

from a2a_temporal._log.entries import CloseEntry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import StreamEvent
from tests.unit.log.building import COMPLETED, WORKING, batch, chunk, clock, folded


def _last_chunks(made: list[StreamEvent]) -> list[bool]:
    return [each.last_chunk for each in made if isinstance(each, TaskArtifactUpdateEvent)]


def test_the_result_of_a_workflow_is_whole() -> None:
    assert _last_chunks(fold(folded(), CloseEntry("completed", clock(1), "done"))) == [True]


def test_the_artifacts_of_a_task_that_an_agent_ends_are_whole() -> None:
    task = Task(id="task", status=TaskStatus(state=COMPLETED))
    task.artifacts.append(chunk("x", "all of it").artifact)
    assert _last_chunks(fold(folded(), batch(1, 1, 1, task, done=True))) == [True]


def test_those_of_a_task_at_work_may_grow() -> None:
    task = Task(id="task", status=TaskStatus(state=WORKING))
    task.artifacts.append(chunk("x", "a part").artifact)
    assert _last_chunks(fold(folded(), batch(1, 1, 1, task))) == [False]
