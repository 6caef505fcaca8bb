"""What the SDK's routes may log: nothing of a request's body, which may hold credentials.

At DEBUG they log each body, and at higher levels the values that cannot be read.
"""

import logging

from google.protobuf.json_format import ParseError
from pydantic import ValidationError

_ROUTES = (
    "a2a.compat.v0_3.jsonrpc_adapter",
    "a2a.server.routes.jsonrpc_dispatcher",
    "a2a.utils.error_handlers",
)

_MOST_NAMED = 100


def keep_bodies_out_of_logs() -> None:
    """Have the SDK's records come without values of requests, in this process."""
    for name in _ROUTES:
        logging.getLogger(name).addFilter(_without_body)


def what_is_wrong(error: ValidationError) -> list[dict[str, str]]:
    """Return which fields are wrong and why, but not what is in them; of very many, how many."""
    count = error.error_count()
    if count > _MOST_NAMED:
        return [{"field": "", "message": f"{count} fields are missing or wrong"}]
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"field": ".".join(map(str, each["loc"])), "message": each["msg"]} for each in found]


def _without_body(record: logging.LogRecord) -> bool:
    text = str(record.msg)
    if text.startswith("Request body"):
        return False
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ValidationError):
        record.msg, record.args = f"{record.getMessage()}: {what_is_wrong(error)}", ()
        record.exc_info = None
    elif isinstance(error, ParseError):
        record.exc_info = None
    elif text.startswith("Parse error"):
        record.msg, record.args = "A request holds a field of a wrong kind", ()
    return True
