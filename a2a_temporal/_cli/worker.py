"""``a2a-temporal worker``: a process that runs the agent's turns."""

import asyncio
import logging
from datetime import timedelta

import click
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import WorkerDeploymentConfig

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
    help="Time for running turns to finish after SIGTERM; then another worker runs them again.",
)
@click.option(
    "--deployment",
    envvar="TEMPORAL_DEPLOYMENT_NAME",
    metavar="NAME",
    help="The worker deployment of this worker; needs --build-id.",
)
@click.option(
    "--build-id",
    envvar="TEMPORAL_WORKER_BUILD_ID",
    metavar="ID",
    help="The version of the code, such as a commit; tasks go to the current version.",
)
@profile_option
@metrics_option
@verbose_option
def worker(
    agent: str,
    task_queue: str | None,
    grace: float,
    deployment: str | None,
    build_id: str | None,
    profile: str | None,
    metrics: str | None,
    verbose: bool,
) -> None:
    """Run the turns of AGENT (module:object). Start as many as you like."""
    configure_logging(verbose=verbose, metrics=metrics)
    version = _version(deployment, build_id)

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
            client,
            loaded,
            task_queue=queue,
            grace=timedelta(seconds=grace),
            stop=stop,
            deployment=version,
        )

    run(main)


def _version(deployment: str | None, build_id: str | None) -> WorkerDeploymentConfig | None:
    if not deployment and not build_id:
        return None
    if not deployment or not build_id:
        raise click.UsageError("--deployment and --build-id are given together, or neither.")
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=deployment, build_id=build_id),
        use_worker_versioning=True,
    )
