"""How the commands speak, stop and fail: plain lines, one line an error, no tracebacks."""

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import click

from a2a_temporal._cli.agents import AgentLoadError
from a2a_temporal._embedded import EmbeddedTemporalError
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

OPERATIONAL = (
    AgentLoadError,
    ConnectionSettingsError,
    EmbeddedTemporalError,
    TemporalUnreachableError,
)

# These say at INFO what matters to their developers only.
_QUIET = ("a2a", "httpx", "httpcore", "sse_starlette", "temporalio", "uvicorn")


def configure_logging(*, verbose: bool) -> None:
    """Send log records to stderr, one readable line each."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)-7s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)


def run(main: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run a command until it ends or the process is told to stop.

    Args:
        main: The command; it gets the event that SIGINT and SIGTERM set, and winds up by itself. A
            second signal cancels it.

    Raises:
        click.ClickException: It failed for a reason that an operator can mend.
    """
    try:
        asyncio.run(_with_signals(main))
    except OPERATIONAL as error:
        raise click.ClickException(str(error)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise click.exceptions.Exit(130) from None


async def _with_signals(main: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    stop = asyncio.Event()
    running = asyncio.ensure_future(main(stop))

    def on_signal() -> None:
        if stop.is_set():
            running.cancel()
            return
        stop.set()
        click.echo("Stopping. Once more to stop at once.", err=True)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    await running


async def until(stop: asyncio.Event, *, seconds: float) -> None:
    """Pause, but not beyond the stop."""
    await first_of(stop.wait(), asyncio.sleep(seconds))


async def first_of(*awaitables: Awaitable[Any]) -> None:
    """Return when one of them is over (raising what it raised); cancel the others."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
