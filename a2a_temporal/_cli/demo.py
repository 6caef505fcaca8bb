"""``a2a-temporal demo``: see it survive."""

import asyncio
import importlib.util
import shutil
import sys
from pathlib import Path

import click

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._demo import approval_story, story
from a2a_temporal._demo.stage import Stage
from a2a_temporal._demo.telling import say
from a2a_temporal._embedded import EmbeddedTemporal

_DIRECTORY = Path(".a2a-temporal") / "demo"


@click.command()
def demo() -> None:
    """Show, in about a minute, tasks and approvals that survive kill -9, and a cancel that stops.

    Starts a Temporal, a worker and an API of its own; keeps their data and logs in
    .a2a-temporal/demo/.
    """
    configure_logging(verbose=False)
    shutil.rmtree(_DIRECTORY, ignore_errors=True)

    async def main(stop: asyncio.Event) -> None:
        telling = asyncio.ensure_future(_tell(stop))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait([telling, stopping], return_when=asyncio.FIRST_COMPLETED)
        telling.cancel() if stop.is_set() else stopping.cancel()
        try:
            await telling
        except RuntimeError as failure:
            raise click.ClickException(f"{failure}\nThe logs are in {_DIRECTORY}/.") from failure

    run(main)


async def _tell(stop: asyncio.Event) -> None:
    async with EmbeddedTemporal(directory=_DIRECTORY) as temporal:
        say(f"Temporal runs (real server, database on disk): {temporal.ui_url}")
        counting = Stage(story.AGENT, temporal=temporal, directory=_DIRECTORY)
        await story.CountingStory(counting).tell()
        if _has_examples():
            expenses = Stage(approval_story.AGENT, temporal=temporal, directory=_DIRECTORY)
            await approval_story.ApprovalStory(expenses).tell()
        say("That is all. What you saw is in the test suite too, and much more of it: make test")
        if sys.stdin.isatty():
            say(f"The Temporal UI stays up until Ctrl-C: {temporal.ui_url}")
            await stop.wait()


def _has_examples() -> bool:
    """Say whether the example workflows are here: they are not part of the installed package."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.util.find_spec("workflows") is not None and (
        importlib.util.find_spec("workflows.expense") is not None
    )
