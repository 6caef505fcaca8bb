"""``a2a-temporal serve``: an API process."""

import asyncio
import logging

import click

from a2a_temporal._cli.agents import default_task_queue, load_agent
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import (
    agent_argument,
    auth_option,
    metrics_option,
    profile_option,
    server_options,
    task_queue_option,
    verbose_option,
)
from a2a_temporal._cli.processes import connect_now_or_later, listen, run_api, url_of

logger = logging.getLogger(__name__)


@click.command()
@agent_argument
@server_options
@click.option(
    "--grpc",
    "grpc_port",
    type=click.IntRange(0, 65535),
    envvar="A2A_GRPC_PORT",
    metavar="PORT",
    help="Serve gRPC too, at this port (needs the extra: a2a-temporal[grpc]).",
)
@click.option(
    "--trust-forwarded",
    is_flag=True,
    envvar="A2A_TRUST_FORWARDED",
    help="Put the URL that the client called into the card, from X-Forwarded-Proto, -Host, "
    "-Port and -Prefix. Only behind a proxy that sets or removes these headers.",
)
@auth_option
@task_queue_option
@profile_option
@metrics_option
@verbose_option
def serve(
    agent: str,
    host: str,
    port: int,
    public_url: str | None,
    grpc_port: int | None,
    trust_forwarded: bool,
    auth: str | None,
    task_queue: str | None,
    profile: str | None,
    metrics: str | None,
    verbose: bool,
) -> None:
    """Serve AGENT (module:object) over A2A: JSON-RPC, REST and, if asked for, gRPC.

    It holds no task state: start as many as you like. It also starts while Temporal is down;
    /readyz answers 200 when it is ready.
    """
    configure_logging(verbose=verbose, metrics=metrics)

    async def main(stop: asyncio.Event) -> None:
        loaded = load_agent(agent, auth=auth)
        queue = task_queue or default_task_queue(loaded)
        client = await connect_now_or_later(profile=profile)
        listener = listen(host, port)
        logger.info(
            "%s at %s, task queue %r, Temporal %s",
            loaded.card.name,
            public_url or url_of(listener),
            queue,
            client.service_client.config.target_host,
        )
        await run_api(
            client,
            loaded,
            task_queue=queue,
            listener=listener,
            public_url=public_url,
            grpc_port=grpc_port,
            trust_forwarded=trust_forwarded,
            stop=stop,
            verbose=verbose,
        )

    run(main)
