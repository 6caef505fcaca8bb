"""One API process of the fleet: `python -m tests.chaos PORT` serves both agents.

The bench agent is at the root, the payments are under `/payments`. Workers need no program of
their own: `a2a-temporal worker tests.chaos.agents:bench` works for both.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncGenerator

from starlette.applications import Starlette
from starlette.routing import Mount

from a2a_temporal import TemporalRequestHandler, create_app
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.processes import connect_now_or_later, listen, run_app
from tests.chaos.agents import bench, payments, served_at

PAYMENTS_PATH = "/payments"


async def _serve(stop: asyncio.Event) -> None:
    listener = listen("127.0.0.1", int(sys.argv[1]))
    url = f"http://127.0.0.1:{sys.argv[1]}"
    client = await connect_now_or_later(profile=None)
    apps = [
        create_app(
            TemporalRequestHandler(
                client,
                agent_card=served_at(agent, url + path),
                task_queue=os.environ["TASK_QUEUE"],
                workflow=agent.served_workflow,
                options=agent.handler_options,
            )
        )
        for agent, path in ((payments, PAYMENTS_PATH), (bench, ""))
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    def end_streams() -> None:
        for app in apps:
            app.state.event_streams.close()

    routes = [Mount(PAYMENTS_PATH, app=apps[0]), Mount("/", app=apps[1])]
    await run_app(
        Starlette(routes=routes, lifespan=lifespan),
        listener=listener,
        stop=stop,
        on_stop=end_streams,
    )


if __name__ == "__main__":
    configure_logging(verbose=False)
    logging.getLogger("a2a_temporal").setLevel(os.environ.get("LOG_LEVEL", "INFO"))
    run(_serve)
