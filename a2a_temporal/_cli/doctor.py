"""``a2a-temporal doctor``: is everything there that servers and workers need? One line a check."""

import asyncio

import click

from a2a_temporal._cli.checks import examine
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.findings import Finding, Level
from a2a_temporal._cli.options import profile_option, task_queue_option, verbose_option

_COLOURS = {Level.OK: "green", Level.NOTE: "yellow", Level.FAIL: "red"}


@click.command()
@task_queue_option
@profile_option
@verbose_option
def doctor(task_queue: str | None, profile: str | None, verbose: bool) -> None:
    """Check the connection and what Temporal must have, and say what to do.

    Changes nothing. Ends with exit code 1 when a check failed.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
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
