"""The bare workflow: one activity and its result, nothing else.

Nothing durable on Temporal can answer with less, so this is what a blocking SendMessage is
compared with.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client


@activity.defn
async def answer(question: str) -> str:
    return f"done: {question}"


# Outside the sandbox, like the library's own workflow: the sandbox would only slow the anchor.
@workflow.defn(sandboxed=False)
class BareWorkflow:
    @workflow.run
    async def run(self, question: str) -> str:
        return await workflow.execute_activity(
            answer, question, start_to_close_timeout=timedelta(seconds=30)
        )


async def ask(client: Client, *, task_queue: str) -> str:
    """Start the workflow and wait for its result."""
    return await client.execute_workflow(
        BareWorkflow.run, "ready?", id=str(uuid4()), task_queue=task_queue
    )
