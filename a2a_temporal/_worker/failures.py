"""What is told of a failure: to a client never a word that nobody declared public.

User code raises what it likes. What Temporal cannot store (file names that are no Unicode, pages of
HTML, texts that fail to be made) would keep it from learning of the failure at all, and a task from
ending: it is told less then.
"""

from temporalio import workflow
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, DefaultPayloadConverter
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType

with workflow.unsafe.imports_passed_through():
    from a2a_temporal import errors

_LONGEST_TEXT = 20_000
_LARGEST_CAUSE_BYTES = 100_000


def storable(text: object) -> str:
    """Return a text that can be stored: no longer than a person reads, and all of it Unicode."""
    whole = str(text)
    short = whole if len(whole) <= _LONGEST_TEXT else whole[:_LONGEST_TEXT] + "…"
    return short.encode(errors="replace").decode()


def text_of(failure: BaseException) -> str:
    """Return what an exception says of itself, as far as it can be stored."""
    try:
        return storable(failure)
    except Exception:
        return "(without a text: its __str__ raises)"


def tellable(failure: BaseException) -> BaseException | None:
    """Return a failure as it may be named as a cause; ``None`` if Temporal could not store it."""
    told = Failure()
    try:
        DefaultFailureConverter().to_failure(failure, DefaultPayloadConverter(), told)
    except Exception:
        return None
    return failure if told.ByteSize() <= _LARGEST_CAUSE_BYTES else None


def misused(text: str) -> ApplicationError:
    """Log how an author's workflow misuses the library; returns the error to raise."""
    workflow.logger.error(text)
    return ApplicationError(text, non_retryable=True)


def client_text(failure: BaseException) -> str:
    """Return the text of a FAILED status."""
    return storable(_client_text(failure))


def _client_text(failure: BaseException) -> str:
    if isinstance(failure, errors.PublicError):
        return failure.text
    if isinstance(failure, ActivityError):
        return _activity_text(failure.cause)
    return f"The task failed. Reference: {workflow.info().workflow_id}"


def _activity_text(cause: BaseException | None) -> str:
    if isinstance(cause, ApplicationError):
        if cause.type in (errors.AGENT_FAILED, errors.AGENT_RETRY) and len(cause.details) >= 2:
            public, reference = cause.details[:2]
            return str(public) if public else f"The agent failed. Reference: {reference}"
        if cause.type == errors.PublicError.__name__:
            return cause.message
    if isinstance(cause, TimeoutError):
        if cause.type == TimeoutType.START_TO_CLOSE:
            return "The agent did not finish within its time limit."
        return "The agent's worker was lost while it worked."
    return f"The agent failed. Reference: {workflow.info().workflow_id}"
