"""What an agent says as it returns counts, though its attempt is given up at that very moment.

That is what happens to one that blocks its event loop: Temporal takes its worker for lost, and says
so when it wakes up.
"""

from dataclasses import replace
from functools import partial

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, TaskState
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, AgentOptions
from a2a_temporal._log.protojson import to_json
from a2a_temporal._reading.reader import read_log
from a2a_temporal._worker.agent.activity import request_context
from a2a_temporal._worker.agent.attempt import Attempt
from a2a_temporal._worker.agent.turn import Turn, TurnInput
from tests.support.in_process import Served, Written, new_task_queue, served, updater_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


@pytest.mark.parametrize("why", ["timed_out", "worker_shutdown"])
async def test_an_attempt_that_is_given_up_as_it_ends(temporal: TemporalServer, why: str) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    environment = ActivityEnvironment(client)

    async def turn(context: RequestContext, events: EventQueue) -> None:
        await updater_of(context, events).add_artifact([Part(text="done")])
        environment.cancel(ActivityCancellationDetails(**{why: True}))

    async def attempt(agent: Served, task_id: str) -> bool:
        task = await agent.get(task_id)
        turn_input = TurnInput(task.id, task.context_id, 1, to_json(task.history[0]))
        context = request_context(turn_input, None)
        of = Turn(task.id, task.context_id, turn=1, attempt=1)
        made = Attempt(Written(turn), AgentOptions(), of, context)
        return await made.run(worked=0, waited=0, read=partial(read_log, client))

    workflows_only = Worker(
        client,
        task_queue=queue,
        plugins=[A2APlugin(agent_executor=Written(turn))],
        no_remote_activities=True,
        disable_eager_activity_execution=True,
    )
    async with workflows_only, served(client, queue) as agent:
        task_id = await agent.start("go")
        environment.info = replace(environment.info, workflow_id=task_id, workflow_run_id="")
        assert await within(30, environment.run(attempt, agent, task_id))

        async def completed() -> bool:
            return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_COMPLETED

        await eventually(completed, within=30)
        assert (await agent.get(task_id)).artifacts[0].parts[0].text == "done"
