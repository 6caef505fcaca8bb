"""What the author's own signal handlers say, and what an agent says, have one order for all."""

from a2a.types import Task
from temporalio.client import Client

from a2a_temporal._log import wire
from a2a_temporal._log.protojson import to_json
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.beside_flows import TalksBesideActivity
from tests.integration.approvals.combined_flows import TalksBesideAgent
from tests.support.waiting import eventually, within

_ASKED = {
    "version": wire.LOG_VERSION,
    "turn": 1,
    "attempt": 1,
    "sequence": 1,
    "events": [
        {
            "statusUpdate": {
                "status": {
                    "state": "TASK_STATE_INPUT_REQUIRED",
                    "message": {
                        "messageId": "asked",
                        "role": "ROLE_AGENT",
                        "parts": [{"text": "where?"}],
                    },
                }
            }
        }
    ],
    "at": "2026-01-02T12:00:00.000Z",
    "done": True,
}

_REPORTED = {
    **_ASKED,
    "turn": 0,
    "source": "run/1",
    "done": False,
    "events": [
        {
            "artifactUpdate": {
                "artifact": {"artifactId": "report", "parts": [{"text": "more"}]},
                "append": True,
            }
        }
    ],
}


async def test_clients_and_the_workflow_agree_on_what_came_last(skipping: Client) -> None:
    """The handler's word leaves when its workflow task ends: after all that had come by then."""
    agent = agent_within(TalksBesideAgent)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("gate", wait=False)
        workflow = running.workflow(task)
        await running.stop_worker()
        await workflow.signal("talk")
        await workflow.signal(wire.EVENTS_SIGNAL, _ASKED)
        await running.start_worker()
        await running.told(task, "From the workflow")
        shown = to_json((await running.state(task)).task)
        assert shown == await workflow.query(wire.TASK_QUERY)
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert state_of(done) == "completed"
        await running.replay()


async def test_they_agree_also_on_what_an_activity_publishes(skipping: Client) -> None:
    async with running_agent(skipping, TalksBesideActivity, max_cached_workflows=0) as running:
        task = await running.send("go", wait=False)
        workflow = running.workflow(task)
        await eventually(lambda: _waits_for_an_activity(running, task), within=30)
        await running.stop_worker()
        await workflow.signal("talk")
        await workflow.signal(wire.EVENTS_SIGNAL, _REPORTED)
        await running.start_worker()
        await running.told(task, "From the workflow")
        shown = to_json((await running.state(task)).task)
        assert shown == await workflow.query(wire.TASK_QUERY)
        await running.replay()


async def _waits_for_an_activity(running: RunningAgent, task: Task) -> bool:
    described = await running.workflow(task).describe()
    return bool(described.raw_description.pending_activities)
