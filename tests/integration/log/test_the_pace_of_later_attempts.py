"""Temporal counts the signals of a run, so batches are counted through all attempts at a turn."""

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, TaskState
from temporalio.api.enums.v1 import EventType

from a2a_temporal._log import wire
from a2a_temporal.activity import current_turn
from a2a_temporal.errors import RetryableError
from a2a_temporal.testing import running_agent, state_of
from tests.support.in_process import Written, updater_of
from tests.support.temporal_server import TemporalServer


@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_later_attempt_counts_on_from_the_batches_of_those_before(
    temporal: TemporalServer, attempts: int
) -> None:
    async def turn(context: RequestContext, events: EventQueue) -> None:
        updater = updater_of(context, events)
        await updater.update_status(TaskState.TASK_STATE_WORKING)
        await updater.add_artifact([Part(text="half")], artifact_id="report")
        if current_turn().attempt < attempts:
            raise RetryableError("once more")

    async with running_agent(await temporal.client(), Written(turn)) as running:
        done = await running.send("go")
        history = await running.workflow(done).fetch_history()
        batches = [
            event
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
            and event.workflow_execution_signaled_event_attributes.signal_name == wire.EVENTS_SIGNAL
        ]
        log = await running.state(done)
        assert state_of(done) == "completed"
        assert [part.text for part in done.artifacts[0].parts] == ["half"]
        assert len(batches) >= attempts
        assert (log.attempt, log.sequence) == (attempts, len(batches))
        await running.replay()
