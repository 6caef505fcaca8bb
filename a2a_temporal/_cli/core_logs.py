"""Temporal's native core logs through Python's logging, without a line for every retry."""

import logging
import time
from collections.abc import Callable

from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

_PAUSE_SECONDS = 30.0


def forward_core_logs(*, verbose: bool) -> None:
    """Send the core's warnings to the logger ``temporalio.core``; before any client is made."""
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
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=logs)), error_if_already_set=False
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
