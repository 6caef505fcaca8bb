"""A process that starts bare workflows and waits for their results."""

from __future__ import annotations

import asyncio
import os

from a2a_temporal import connect
from benchmarks.anchors import bare
from benchmarks.processes import commands, say


async def main() -> None:
    client = await connect()
    say(ready=True)
    async for command in commands():

        async def ask(tasks: int) -> None:
            for _ in range(tasks):
                await bare.ask(client, task_queue=os.environ["TASK_QUEUE"])

        at_once = command["at_once"]
        await asyncio.gather(*(ask(command["tasks"] // at_once) for _ in range(at_once)))
        say(done=command["tasks"])


if __name__ == "__main__":
    asyncio.run(main())
