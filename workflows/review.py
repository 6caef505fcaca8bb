"""Content review: an editor publishes, changes or returns an article, in several rounds.

Send the article; its first line is the title.
"""

from datetime import timedelta

from temporalio import workflow

from a2a_temporal.workflow import Approvers, Reject, TaskRun, TaskStart

with workflow.unsafe.imports_passed_through():
    from a2a.types import AgentCapabilities, AgentCard, AgentSkill

    from a2a_temporal import Agent
    from activities.articles import Article, publish

EDITORS = Approvers("editors", exclude_requester=True)
ROUNDS = 5


@workflow.defn
class ContentReview:
    """Publish an article that an editor has approved, after at most five rounds."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask an editor, then the author, until the editor approves."""
        article = article_of(self.task.text)
        for number in range(1, ROUNDS + 1):
            decision = await self.task.require_approval(
                f"Publish '{article.title}'? Round {number} of {ROUNDS}.",
                details=article,
                approvers=EDITORS,
                timeout=timedelta(days=14),
                on_timeout=Reject(),
            )
            if decision:
                return await self.publish(decision.details)
            if decision.outcome == "timed_out" or number == ROUNDS:
                break
            why = decision.comment or "An editor wants another version."
            article = article_of(await self.task.require_input(f"{why} Send your next version."))
        return self.task.reject("Not published: no version was agreed on.")

    async def publish(self, article: Article) -> None:
        """Publish the approved article."""
        url = await workflow.execute_activity(
            publish,
            args=[article, self.task.idempotency_key("publish")],
            start_to_close_timeout=timedelta(minutes=1),
            schedule_to_close_timeout=timedelta(days=1),
        )
        self.task.add_artifact(f"{article.title}\n\n{article.body}", name="article")
        self.task.complete(f"Published at {url}")


def article_of(text: str) -> Article:
    """Make an article from a text whose first line is its title."""
    title, _, body = text.strip().partition("\n")
    return Article(title[:120] or "Untitled", body.strip() or title or "Nothing yet.")


agent = Agent(
    card=AgentCard(
        name="Review",
        description="Publishes articles after an editor has agreed to their words.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="review",
                name="Review an article",
                description="Send the article; its first line is the title.",
                tags=["content", "approval"],
                examples=["Bees are back\nThis spring, the city's roofs hum again."],
            )
        ],
    ),
    workflow=ContentReview,
    activities=[publish],
)
