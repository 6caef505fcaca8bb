"""Temporal's native core reports every retry of every call; one line in half a minute is enough."""

import logging

from a2a_temporal._cli.console import SeldomRetries


def test_retries_are_told_once_in_half_a_minute_in_plain_words() -> None:
    now = 0.0
    seldom = SeldomRetries(now=lambda: now)
    first = _record("gRPC call poll_workflow_task_queue retried 6 times")
    assert seldom.filter(first)
    assert first.getMessage() == "Temporal does not answer; calls are tried again until it does"
    now = 29.0
    assert not seldom.filter(_record("gRPC call poll_activity_task_queue retried 7 times"))
    assert not seldom.filter(_record("Network error while completing activity"))
    now = 31.0
    assert seldom.filter(_record("gRPC call poll_activity_task_queue retried 9 times"))


def test_everything_else_is_shown_as_it_is() -> None:
    record = _record("Task not found when completing")
    assert SeldomRetries().filter(record)
    assert record.getMessage() == "Task not found when completing"


def _record(text: str) -> logging.LogRecord:
    return logging.LogRecord("temporalio.core", logging.WARNING, "", 0, text, (), None)
