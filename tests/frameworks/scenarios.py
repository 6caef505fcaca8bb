"""What holds for an agent of every framework: the claims that its page makes.

Each agent books a hotel: it asks one question, and on a yes it writes one line into a ledger.
"""

import asyncio

from a2a.types import CancelTaskRequest
from temporalio.client import Client

from a2a_temporal.testing import running_agent, running_processes, state_of, status_text
from tests.frameworks.pages import Page

_MISSED_WITHIN = 60.0
"""After so many seconds a lost worker's activity of a workflow is given to another one."""


async def answers_on_another_worker(temporal: Client, page: Page) -> None:
    """The agent asks; the answer finds a worker that was not there before, and is acted on once."""
    async with running_agent(temporal, page.load("booking").agent) as agent:
        task = await agent.send("a room in Berlin")
        assert state_of(task) == "input-required", status_text(task)
        assert status_text(task), "people read no question"
        assert page.ledger() == []
        await agent.stop_worker()
        await agent.start_worker()
        task = await agent.send("yes", task=task)
        assert state_of(task) == "completed", status_text(task)
        assert len(page.ledger()) == 1
        await agent.replay()


async def a_no_pays_nothing(temporal: Client, page: Page) -> None:
    """Whatever is not a yes is no yes."""
    async with running_agent(temporal, page.load("booking").agent) as agent:
        task = await agent.send("a room in Berlin")
        task = await agent.send("no, too dear", task=task)
        assert state_of(task) == "completed", status_text(task)
        assert page.ledger() == []


async def survives_its_workers(page: Page, *, agent: str = "booking:agent") -> None:
    """A worker is killed in the middle of both turns, each is finished by the next worker."""
    async with running_processes(
        agent, environment={"STEP_SECONDS": "3"}, directory=page.folder
    ) as running:

        async def kill_in_step(number: int) -> None:
            await page.step_begun(number)
            running.kill_worker()
            await running.start_worker()

        task = await running.user.send("a room in Berlin", wait=False)
        await kill_in_step(1)
        task = await running.until(task, "input-required", "completed", "failed")
        assert state_of(task) == "input-required", status_text(task)
        begun = page.steps()
        task = await running.user.send("yes", task=task, wait=False)
        await kill_in_step(begun + 1)
        task = await running.until(task, "completed", "failed")
        assert state_of(task) == "completed", status_text(task)
        # The agent's code runs at least once; all that it paid, it paid under one key.
        assert len(set(page.ledger())) == 1


async def a_workflow_survives_its_workers(page: Page) -> None:
    """A worker is killed while it pays; the next one repeats that step and no other."""
    async with running_processes(
        "booking_workflow:agent", environment={"STEP_SECONDS": "3"}, directory=page.folder
    ) as running:
        task = await running.user.send("a room in Berlin", wait=False)
        task = await running.until(task, "input-required", "failed")
        assert state_of(task) == "input-required", status_text(task)
        begun = page.steps()
        temporal = await Client.connect(running.temporal.address)
        approval = {"by": "ann", "as": "finance"}  # as a person does in the Temporal UI
        await temporal.get_workflow_handle(task.id).signal("approve", approval)
        await page.step_begun(begun + 1)
        running.kill_worker()
        await running.start_worker()
        task = await running.until(task, "completed", "failed", within=_MISSED_WITHIN + 60)
        assert state_of(task) == "completed", status_text(task)
        assert page.steps() == begun + 2
        assert len(set(page.ledger())) == 1


async def finishes_after_its_worker_was_killed(page: Page) -> None:
    """The next worker runs the turn again, from its beginning."""
    async with running_processes(
        "writing:agent", environment={"STEP_SECONDS": "3"}, directory=page.folder
    ) as running:
        task = await running.user.send("whales", wait=False)
        await page.step_begun(1)
        running.kill_worker()
        await running.start_worker()
        task = await running.until(task, "completed", "failed", "canceled")
        assert state_of(task) == "completed", status_text(task)
        assert page.steps() == 2


async def a_shutdown_is_no_cancel(temporal: Client, page: Page) -> None:
    """A worker that is stopped hands its turn over, whatever its agent does when interrupted."""
    async with running_agent(temporal, page.load("writing").agent) as agent:
        task = await agent.send("whales", wait=False)
        await page.step_begun(1)
        await agent.stop_worker()
        await agent.start_worker()
        task = await agent.until(task, "completed", "failed", "canceled")
        assert state_of(task) == "completed", status_text(task)


async def cancel_stops_it(temporal: Client, page: Page, *, module: str = "booking") -> None:
    """CANCELED is reported once the code has stopped, and it does nothing afterwards."""
    async with running_agent(temporal, page.load(module).agent) as agent:
        task = await agent.send("a room in Berlin", wait=False)
        await page.step_begun(1)
        task = await agent.user.client.cancel_task(CancelTaskRequest(id=task.id))
        task = await agent.until(task, "canceled", "completed", "failed")
        assert state_of(task) == "canceled", status_text(task)
        begun = page.steps()
        await asyncio.sleep(2)  # longer than the step: what goes on would be seen
        assert (page.steps(), page.ledger()) == (begun, [])


async def asks_for_approval(temporal: Client, page: Page) -> None:
    """The framework's question is an approval of ours: only those asked may decide."""
    agent_of_page = page.load("booking_workflow").agent
    async with running_agent(temporal, agent_of_page, max_cached_workflows=0) as agent:
        task = await agent.send("a room in Berlin")
        assert state_of(task) == "input-required", status_text(task)
        await agent.stop_worker()
        await agent.start_worker()
        await agent.approve(task, by="ann", groups=["finance"])
        task = await agent.settled(task)
        assert state_of(task) == "completed", status_text(task)
        assert len(page.ledger()) == 1
        await agent.replay()
