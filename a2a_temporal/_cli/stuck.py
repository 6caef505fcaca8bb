"""``a2a-temporal stuck``: which tasks stand still, why, and what to do."""

import asyncio

import click

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option, verbose_option
from a2a_temporal._cli.stuck_tasks import stuck_tasks
from a2a_temporal._connect import connect


@click.command()
@profile_option
@verbose_option
def stuck(profile: str | None, verbose: bool) -> None:
    """List the open tasks whose workflow task fails again and again.

    Ends with exit code 1 when there are any.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        found = 0
        async for task in stuck_tasks(await connect(profile=profile)):
            found += 1
            click.echo(
                f"{task.task_id}  {task.workflow_type}  {task.attempts} attempts since "
                f"{task.since}\n  {task.reason}\n  {task.cure}"
            )
            if stop.is_set():
                break
        if not found:
            click.echo("No task is stuck.")
        return int(found > 0)

    run(main)
