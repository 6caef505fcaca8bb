"""The worker process: one worker serves our agent and the workflows it is compared with."""

from __future__ import annotations

import asyncio
import os

from temporalio.worker import Worker

from a2a_temporal import A2APlugin, connect
from benchmarks.agent import BenchAgent
from benchmarks.anchors import bare, streams
from benchmarks.processes import say, told_to_stop
from benchmarks.stage import PUSH


async def main() -> None:
    worker = Worker(
        await connect(),
        task_queue=os.environ["TASK_QUEUE"],
        workflows=[bare.BareWorkflow, streams.StreamWorkflow],
        activities=[bare.answer, streams.publish],
        plugins=[A2APlugin(agent_executor=BenchAgent(), push=PUSH)],
    )
    async with worker:
        say(ready=True)
        await told_to_stop()


if __name__ == "__main__":
    asyncio.run(main())
