"""Temporal's native core: its logs through Python's logging, its metrics for Prometheus."""

import logging
import time
from collections.abc import Callable

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

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
