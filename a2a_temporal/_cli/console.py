"""Logging, signals and exit codes of the commands; an error is one line without a traceback."""

import asyncio
import atexit
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

import click
from temporalio.exceptions import ApplicationError
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from a2a_temporal._cli.agents import AgentLoadError
from a2a_temporal._embedded import EmbeddedTemporalError
from a2a_temporal.errors import (
    WORKER_SHUTDOWN,
    ConnectionSettingsError,
    TemporalUnreachableError,
)

OPERATIONAL = (
    AgentLoadError,
    ConnectionSettingsError,
    EmbeddedTemporalError,
    TemporalUnreachableError,
)

_INTERRUPTED = 130

# These say at INFO what matters to their developers only.
_QUIET = ("a2a", "httpx", "httpcore", "sse_starlette", "temporalio", "uvicorn")


def configure_logging(*, verbose: bool, metrics: str | None = None) -> None:
    """Send log records to stderr, one readable line each.

    Args:
        verbose: All of them.
        metrics: ``host:port`` where Prometheus finds the metrics of this process.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)-7s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)
    configure_core(verbose=verbose, metrics=metrics)
    if not verbose:
        logging.getLogger("temporalio.activity").addFilter(_is_no_shutdown)


def _is_no_shutdown(record: logging.LogRecord) -> bool:
    """Keep all records but those of turns that a stopping worker hands on to another one."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    return not (isinstance(error, ApplicationError) and error.type == WORKER_SHUTDOWN)


Main = Callable[[asyncio.Event], Coroutine[Any, Any, int | None]]


def run(main: Main) -> NoReturn:
    """Run a command until it ends or the process is told to stop; then leave the process.

    Args:
        main: The command; returns the exit code (None for 0). It gets the event that SIGINT and
            SIGTERM set, and winds up by itself. A second signal ends the process as a crash
            would: nothing is cancelled, so that no running turn takes it for its task's end.
    """
    try:
        code = asyncio.run(_with_signals(main)) or 0
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except OPERATIONAL as error:
        click.ClickException(str(error)).show()
        code = 1
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process without the interpreter's finalization.

    Temporal's native threads may still be busy with a call that was cancelled, and an interpreter
    that finalizes beside them hangs for ever or aborts (tried: 12 of 12 times with 50 calls).
    """
    atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  - flushes telemetry of the agent
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def _with_signals(main: Main) -> int | None:
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            _leave(_INTERRUPTED)
        stop.set()
        click.echo("Stopping. Once more to stop at once.", err=True)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    return await main(stop)


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


_PAUSE_SECONDS = 30.0


def configure_core(*, verbose: bool, metrics: str | None = None) -> None:
    """Set up Temporal's native core; to be called before any client is made.

    Args:
        verbose: Show the fields of its log records, and every retry.
        metrics: ``host:port`` where Prometheus finds the metrics of clients and workers.
    """
    logger = logging.getLogger("temporalio.core")
    if not verbose:
        logger.addFilter(SeldomRetries())
    forwarding = LogForwardingConfig(
        logger=logger,
        append_target_to_name=False,
        prepend_target_on_message=False,
        append_log_fields_to_message=verbose,
    )
    logs = LoggingConfig(
        filter=TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding
    )
    exported = PrometheusConfig(bind_address=metrics) if metrics else None
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=logs, metrics=exported)),
        error_if_already_set=False,
    )


class SeldomRetries(logging.Filter):
    """Lets one of the core's lines about retried calls through in half a minute, in plain words.

    While Temporal is away every call of every poller reports each of its retries.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is shown."""
        text = record.getMessage()
        if "retried" not in text and not text.startswith("Network error"):
            return True
        if self._now() - self._last < _PAUSE_SECONDS:
            return False
        self._last = self._now()
        record.msg, record.args = (
            "Temporal does not answer; calls are tried again until it does",
            (),
        )
        return True
