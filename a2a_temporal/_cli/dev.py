"""``a2a-temporal dev``: everything in one process, for a laptop."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import click
from temporalio.client import Client

from a2a_temporal._cli.agents import default_task_queue, load_agent
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import (
    agent_argument,
    profile_option,
    server_options,
    task_queue_option,
    verbose_option,
)
from a2a_temporal._cli.processes import listen, run_api, run_worker, url_of
from a2a_temporal._connect import connect
from a2a_temporal._embedded import EmbeddedTemporal

_GRACE = timedelta(seconds=2)


@click.command()
@agent_argument
@server_options
@task_queue_option
@profile_option
@verbose_option
def dev(
    agent: str,
    host: str,
    port: int,
    public_url: str | None,
    task_queue: str | None,
    profile: str | None,
    verbose: bool,
) -> None:
    """Run AGENT (module:object) with a server, a worker and a Temporal of its own.

    The Temporal keeps its data in .a2a-temporal/, so tasks go on where they were at the next start.
    With TEMPORAL_ADDRESS or a profile set, that Temporal is used instead.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> None:
        loaded = load_agent(agent)
        queue = task_queue or default_task_queue(loaded)
        listener = listen(host, port)
        async with _temporal(profile) as (client, where):
            url = public_url or url_of(listener)
            click.echo(f"\n{loaded.card.name}")
            click.echo(f"  Agent card    {url.rstrip('/')}/.well-known/agent-card.json")
            click.echo(f"  Temporal      {where}")
            click.echo(f"  Task queue    {queue}")
            click.echo("  Ctrl-C stops it; unfinished tasks go on at the next start.\n")
            await asyncio.gather(
                run_api(
                    client,
                    loaded,
                    task_queue=queue,
                    listener=listener,
                    public_url=public_url,
                    stop=stop,
                    verbose=verbose,
                ),
                run_worker(client, loaded, task_queue=queue, grace=_GRACE, stop=stop),
            )

    run(main)


@asynccontextmanager
async def _temporal(profile: str | None) -> AsyncGenerator[tuple[Client, str]]:
    """The Temporal of the settings, else an embedded one; with the place where to look at it."""
    if profile or os.environ.get("TEMPORAL_PROFILE") or os.environ.get("TEMPORAL_ADDRESS"):
        client = await connect(profile=profile)
        yield client, client.service_client.config.target_host
        return
    async with EmbeddedTemporal() as embedded:
        yield await embedded.client(), f"{embedded.ui_url}  (data in {embedded.directory}/)"
