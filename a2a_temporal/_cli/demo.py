"""``a2a-temporal demo``: see it survive."""

import asyncio
import shutil
from pathlib import Path

import click

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._demo.story import Story

_DIRECTORY = Path(".a2a-temporal") / "demo"


@click.command()
def demo() -> None:
    """Show, in under a minute, tasks that survive kill -9 and a cancel that stops the work.

    Starts a Temporal, a worker and an API of its own; keeps their data and logs in
    .a2a-temporal/demo/.
    """
    configure_logging(verbose=False)
    shutil.rmtree(_DIRECTORY, ignore_errors=True)

    async def main(stop: asyncio.Event) -> None:
        telling = asyncio.ensure_future(Story(_DIRECTORY).tell())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait([telling, stopping], return_when=asyncio.FIRST_COMPLETED)
        telling.cancel() if stop.is_set() else stopping.cancel()
        try:
            await telling
        except RuntimeError as failure:
            raise click.ClickException(f"{failure}\nThe logs are in {_DIRECTORY}/.") from failure

    run(main)
