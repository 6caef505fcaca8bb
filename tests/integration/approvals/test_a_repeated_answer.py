"""A message that is sent again before its signal shows reaches a workflow of its own kind once."""

from a2a.types import Message, Part, Role

from a2a_temporal import Agent, HandlerOptions, PlainWorkflow, Signal
from a2a_temporal._server.push_configs import PushConfigs
from a2a_temporal._server.sending import Sending
from a2a_temporal._server.tasks import Tasks
from a2a_temporal.testing import RunningAgent, card_of, running_agent
from a2a_temporal.workflow import text_of
from tests.integration.approvals.existing_flows import OldCollector
from tests.support.temporal_server import TemporalServer

COLLECT = PlainWorkflow(type="collect-v1", answer=lambda message: Signal("add", [text_of(message)]))
COLLECTOR = Agent(card=card_of(COLLECT), workflow=COLLECT, workflows=[OldCollector])


async def test_it_reaches_the_workflow_once(temporal: TemporalServer) -> None:
    async with running_agent(await temporal.client(), COLLECTOR, worker=False) as agent:
        task = await agent.send("order", wait=False)
        replicas = [_replica(agent) for _ in range(2)]
        # While a workflow task is under way, no replica sees what another has signaled meanwhile.
        before = await agent.state(task)
        for replica in replicas:
            await replica.append(before, _message("yes-1", "yes"), {})
        await replicas[0].append(before, _message("yes-2", "yes"), {})
        events = agent.workflow(task).fetch_history_events()
        signaled = [
            event.workflow_execution_signaled_event_attributes.signal_name
            async for event in events
            if event.HasField("workflow_execution_signaled_event_attributes")
        ]
        assert signaled == ["add", "add"]


def _replica(agent: RunningAgent) -> Sending:
    options, queue = HandlerOptions(), agent.task_queue
    card = agent.agent.card
    tasks = Tasks(
        agent.temporal, agent=card.name, task_queue=queue, workflow=COLLECT, options=options
    )
    configs = PushConfigs(agent.temporal, tasks, task_queue=queue, options=options)
    return Sending(tasks, configs, card=card, options=options)


def _message(message_id: str, text: str) -> Message:
    return Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)])
