"""``a2a-temporal doctor``: is everything there that servers and workers need? One line a check."""

import asyncio

import click

from a2a_temporal._cli.checks import examine
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.findings import Finding, Level
from a2a_temporal._cli.options import profile_option, task_queue_option, verbose_option
from a2a_temporal._cli.reindexing import index_open_tasks
from a2a_temporal._connect import connect

_COLOURS = {Level.OK: "green", Level.NOTE: "yellow", Level.FAIL: "red"}


@click.command()
@task_queue_option
@profile_option
@click.option(
    "--reindex",
    is_flag=True,
    help="Have open tasks listed that began before the search attributes were registered.",
)
@verbose_option
def doctor(task_queue: str | None, profile: str | None, reindex: bool, verbose: bool) -> None:
    """Check the connection and what Temporal must have, and say what to do.

    Changes nothing without --reindex. Ends with exit code 1 when a check failed.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        if reindex:
            asked, left = await index_open_tasks(await connect(profile=profile), stop)
            click.echo(f"{asked} open tasks were asked to be listed; {left} could not be read.")
            return int(left > 0)
        failed = False
        async for finding in examine(profile=profile, task_queue=task_queue):
            _show(finding)
            failed = failed or finding.level is Level.FAIL
            if stop.is_set():
                break
        return int(failed)

    run(main)


def _show(finding: Finding) -> None:
    mark = click.style(f"{finding.level.value:<5}", fg=_COLOURS[finding.level])
    click.echo(f"{mark} {finding.name:<18} {finding.text}")
