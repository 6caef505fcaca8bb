"""A ``PublicError`` of an activity is final: the workflow gets it, and so does the client."""

from typing import Any

from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from a2a_temporal._worker.failures import storable, tellable
from a2a_temporal.errors import PublicError


class PublicErrors(ActivityInboundInterceptor):
    """Lets no activity be retried that says what its client did wrong."""

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Run the activity."""
        try:
            return await super().execute_activity(input)
        except PublicError as error:
            raise ApplicationError(
                storable(error.text), type=PublicError.__name__, non_retryable=True
            ) from tellable(error)
