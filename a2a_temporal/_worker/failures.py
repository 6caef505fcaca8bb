"""What a client reads of a failure: never a word that nobody declared public."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType

with workflow.unsafe.imports_passed_through():
    from a2a_temporal import errors


def client_text(failure: BaseException) -> str:
    """Return the text of a FAILED status."""
    if isinstance(failure, errors.PublicError):
        return failure.text
    if isinstance(failure, ActivityError):
        return _activity_text(failure.cause)
    return f"The task failed. Reference: {workflow.info().workflow_id}"


def _activity_text(cause: BaseException | None) -> str:
    if isinstance(cause, ApplicationError):
        if cause.type in (errors.AGENT_FAILED, errors.AGENT_RETRY) and len(cause.details) == 2:
            public, reference = cause.details
            return str(public) if public else f"The agent failed. Reference: {reference}"
        if cause.type == errors.PublicError.__name__:
            return cause.message
    if isinstance(cause, TimeoutError):
        if cause.type == TimeoutType.START_TO_CLOSE:
            return "The agent did not finish within its time limit."
        return "The agent's worker was lost while it worked."
    return f"The agent failed. Reference: {workflow.info().workflow_id}"
