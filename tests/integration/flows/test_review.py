"""The content review: several rounds, words changed before a yes."""

from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.flows.conftest import Outside
from workflows.review import agent as review

DRAFT = "Bees are back\nThis spring, the city's roofs hum again."


async def test_rounds_until_an_editor_changes_the_words_and_agrees(
    skipping: Client, outside: Outside
) -> None:
    async with running_agent(skipping, review, max_cached_workflows=0) as agent:
        task = await agent.send(DRAFT)
        await agent.reject(task, by="eve", groups=["editors"], comment="Which roofs?")
        task = await agent.settled(task)
        assert status_text(task) == "Which roofs? Send your next version."
        task = await agent.send("Bees are back\nThe roofs of the old town hum.", task=task)
        assert "Round 2 of 5" in status_text(task)
        words = {"title": "The bees are back", "body": "The roofs of the old town hum."}
        await agent.approve(task, by="eve", groups=["editors"], details=words)
        task = await agent.settled(task)
        assert state_of(task) == "completed"
        (article,) = outside.effects("article")
        assert article["title"] == "The bees are back"
        records = await agent.records(task)
        assert [(each.decision, each.by, each.changed_details) for each in records] == [
            ("reject", "eve", False),
            ("answer", "requester", False),
            ("approve", "eve", True),
        ]
        await agent.replay()


async def test_after_five_rounds_nothing_is_published(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, review) as agent:
        task = await agent.send(DRAFT)
        for number in range(5):
            await agent.reject(task, by="eve", groups=["editors"])
            task = await agent.settled(task)
            if number < 4:
                task = await agent.send(f"Bees\nversion {number}", task=task)
        assert (state_of(task), status_text(task)) == (
            "rejected",
            "Not published: no version was agreed on.",
        )
        assert outside.effects("article") == []
