"""``a2a-temporal worker``: a process that runs the agent's turns."""

import asyncio
import logging
from datetime import timedelta

import click

from a2a_temporal._cli.agents import default_task_queue, load_agent
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import (
    agent_argument,
    metrics_option,
    profile_option,
    task_queue_option,
    verbose_option,
)
from a2a_temporal._cli.processes import connect_patiently, run_worker

logger = logging.getLogger(__name__)


@click.command()
@agent_argument
@task_queue_option
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=20.0,
    envvar="A2A_GRACE",
    show_default=True,
    metavar="SECONDS",
    help="What running turns have to finish after SIGTERM; then they go on at another worker.",
)
@profile_option
@metrics_option
@verbose_option
def worker(
    agent: str,
    task_queue: str | None,
    grace: float,
    profile: str | None,
    metrics: str | None,
    verbose: bool,
) -> None:
    """Run the turns of AGENT (module:object). Start as many as you like."""
    configure_logging(verbose=verbose, metrics=metrics)

    async def main(stop: asyncio.Event) -> None:
        loaded = load_agent(agent)
        queue = task_queue or default_task_queue(loaded)
        client = await connect_patiently(stop, profile=profile)
        if client is None:
            return
        logger.info(
            "%s works on task queue %r, Temporal %s",
            loaded.card.name,
            queue,
            client.service_client.config.target_host,
        )
        await run_worker(
            client, loaded, task_queue=queue, grace=timedelta(seconds=grace), stop=stop
        )

    run(main)
