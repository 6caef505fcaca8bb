"""``a2a-temporal dev``: everything in one process, for a laptop."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import click
from temporalio.client import Client

from a2a_temporal._cli.agents import default_task_queue, load_agent
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.inbox import laptop_inbox
from a2a_temporal._cli.options import (
    agent_argument,
    auth_option,
    profile_option,
    server_options,
    task_queue_option,
    verbose_option,
)
from a2a_temporal._cli.processes import listen, run_api, run_app, run_worker, url_of
from a2a_temporal._connect import connect
from a2a_temporal._embedded import EmbeddedTemporal

_GRACE = timedelta(seconds=2)
_LOOPBACK = "127.0.0.1"
_NO_INBOX = "not installed: pip install 'a2a-temporal[inbox]'"


@click.command()
@agent_argument
@server_options
@click.option(
    "--inbox-port",
    type=click.IntRange(0, 65535),
    envvar="A2A_INBOX_PORT",
    help="Port of the inbox.  [default: the port after --port, or a free one]",
)
@click.option(
    "--as", "name", default="", help="Your name in the inbox; the inbox asks for it by default."
)
@click.option("--group", "groups", multiple=True, help="With --as: a group of yours; repeatable.")
@auth_option
@task_queue_option
@profile_option
@verbose_option
def dev(
    agent: str,
    host: str,
    port: int,
    public_url: str | None,
    inbox_port: int | None,
    name: str,
    groups: tuple[str, ...],
    auth: str | None,
    task_queue: str | None,
    profile: str | None,
    verbose: bool,
) -> None:
    """Run AGENT (module:object) with a server, a worker, an inbox and a Temporal of its own.

    The Temporal keeps its data in .a2a-temporal/, so tasks continue at the next start.
    With TEMPORAL_ADDRESS or a profile set, that Temporal is used instead. The inbox is for this
    machine only, whatever --host says, and believes the name it is given.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> None:
        loaded = load_agent(agent, auth=auth)
        queue = task_queue or default_task_queue(loaded)
        listener = listen(host, port)
        inbox_listener = _listen_for_inbox(inbox_port, beside=listener)
        async with _temporal(profile) as temporal:
            client = temporal.client
            inbox = laptop_inbox(client, name=name, groups=groups, temporal_ui=temporal.ui)
            url = public_url or url_of(listener)
            click.echo(f"\n{loaded.card.name}")
            click.echo(f"  Agent card    {url.rstrip('/')}/.well-known/agent-card.json")
            click.echo(f"  Inbox         {url_of(inbox_listener) if inbox else _NO_INBOX}")
            click.echo(f"  Temporal      {temporal.where}")
            if temporal.address:
                click.echo(f"  Its address   {temporal.address}  (commands find it from here)")
            click.echo(f"  Task queue    {queue}")
            click.echo("  Ctrl-C stops it; unfinished tasks go on at the next start.\n")
            running = [
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
            ]
            if inbox is not None:
                running.append(
                    # Without a proxy: the inbox believes only connections of this machine.
                    run_app(inbox, listener=inbox_listener, stop=stop, believe_proxies=False)
                )
            await asyncio.gather(*running)

    run(main)


def _listen_for_inbox(port: int | None, *, beside: socket.socket) -> socket.socket:
    """Open the port that was asked for, else the one after the server's, else a free one.

    Raises:
        click.ClickException: The port that was asked for is taken.
    """
    if port is not None:
        return listen(_LOOPBACK, port, option="--inbox-port")
    try:
        return listen(_LOOPBACK, beside.getsockname()[1] + 1)
    except (click.ClickException, OverflowError):
        return listen(_LOOPBACK, 0)


@dataclass(frozen=True)
class _Temporal:
    """A connected client, the place where people look at that Temporal, and the URL of its UI.

    An embedded one has an ``address``, for commands that are run elsewhere.
    """

    client: Client
    where: str
    ui: str
    address: str = ""


@asynccontextmanager
async def _temporal(profile: str | None) -> AsyncGenerator[_Temporal]:
    """The Temporal of the settings, else an embedded one."""
    if profile or os.environ.get("TEMPORAL_PROFILE") or os.environ.get("TEMPORAL_ADDRESS"):
        client = await connect(profile=profile)
        ui = os.environ.get("TEMPORAL_UI_URL", "")
        yield _Temporal(client, client.service_client.config.target_host, ui)
        return
    async with EmbeddedTemporal() as embedded:
        where = f"{embedded.ui_url}  (data in {embedded.directory}/)"
        client = await embedded.client()
        yield _Temporal(client, where, embedded.ui_url, f"TEMPORAL_ADDRESS={embedded.address}")
