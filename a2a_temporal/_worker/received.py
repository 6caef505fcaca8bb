"""Signals of the log, as a workflow receives them: what cannot be decoded here is never dropped.

The SDK drops a signal that its converter does not understand, with a line in the log. A worker that
lacks the key of what others write would so lose messages and answers for good. Here such a signal
fails the workflow task instead: another worker, or this one with the key, goes on.
"""

import inspect
from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log.payloads import plain_json

_ONE_RAW = inspect.Signature(
    [inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY, annotation=RawValue)]
)


def on_signal(name: str, handler: Callable[..., None]) -> None:
    """Have a handler called with the arguments of a signal as plain JSON, however many there are.

    What raises ``LogUnreadableError`` here fails the workflow task, not the task.
    """

    def receive(*values: Any) -> None:
        converter = workflow.payload_converter()
        handler(
            *(
                plain_json(each.payload, converter) if isinstance(each, RawValue) else each
                for each in values
            )
        )

    # The SDK asks the signature for types, and knows none of variable arguments. A single argument,
    # which is what all signals of the log have, then comes undecoded.
    receive.__signature__ = _ONE_RAW
    receive.__annotations__ = {"value": RawValue}
    workflow.set_signal_handler(name, receive)
