"""One more replica of the SDK's cluster, as its own process: it runs the agent, others read."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.types import Task

from benchmarks.agent import request
from benchmarks.anchors.cluster import replica
from benchmarks.processes import commands, say


async def main(database: Path) -> None:
    async with replica(database) as handler:
        say(ready=True)
        async for command in commands():
            task = await handler.on_message_send(
                request(command["text"], message_id=str(uuid4()), at_once=True),
                ServerCallContext(),
            )
            assert isinstance(task, Task)
            say(task=task.id)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
