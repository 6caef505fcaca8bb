"""Deadlines of requests, in the workflow's own time."""

from datetime import datetime, timedelta, timezone

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log.entries import now_text


def deadline_text(timeout: timedelta | None) -> str:
    """Return when a request opened now runs out; empty when it never does."""
    if timeout is None:
        return ""
    return now_text(workflow.now() + timeout)


def until(deadline: str) -> timedelta:
    """Return the time left until a deadline."""
    at = datetime.fromisoformat(deadline.replace("Z", "+00:00"))
    return at - workflow.now().astimezone(timezone.utc)
