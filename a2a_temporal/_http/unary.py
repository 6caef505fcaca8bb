"""Requests and answers of version 1.0: converted once, and large ones aside from the event loop."""

from typing import Any, TypeVar

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.version_validator import validate_version
from google.protobuf.json_format import ParseError
from google.protobuf.message import Message as ProtobufMessage

from a2a_temporal._aside import done
from a2a_temporal._http.frames import dumped
from a2a_temporal._log.protojson import from_json, to_json

RequestT = TypeVar("RequestT", bound=ProtobufMessage)

UNREADABLE = (ParseError, AttributeError, OverflowError, RecursionError, TypeError, ValueError)
"""What reading a request may raise; the SDK's dispatchers then say what is wrong with it."""

Call = (
    SendMessageRequest
    | GetTaskRequest
    | ListTasksRequest
    | CancelTaskRequest
    | SubscribeToTaskRequest
)


async def read(value: Any, into: RequestT, size: int) -> RequestT:
    """Read a request that came as a number of bytes."""
    return await done(size, from_json, value, into)


async def written(answer: ProtobufMessage, *, member: str = "") -> bytes:
    """Return an answer as JSON, if asked for as the one member of an object."""
    return await done(answer.ByteSize(), _written, answer, member)


def _written(answer: ProtobufMessage, member: str) -> bytes:
    value = to_json(answer)
    return dumped({member: value} if member else value)


def _written_page(page: ListTasksResponse) -> bytes:
    """Return a page with all of its own fields, as A2A 1.0 section 3.1.4 wants."""
    return dumped(
        {
            "tasks": [to_json(task) for task in page.tasks],
            "nextPageToken": page.next_page_token,
            "pageSize": page.page_size,
            "totalSize": page.total_size,
        }
    )


@validate_version(PROTOCOL_VERSION_1_0)
async def check_version(context: ServerCallContext) -> None:
    """Refuse a call in another version.

    Raises:
        VersionNotSupportedError: It is of one.
    """


async def answered(handler: RequestHandler, call: Call, context: ServerCallContext) -> bytes:
    """Answer a call that is no stream, with the JSON that both bindings put into their answers.

    Raises:
        a2a.utils.errors.A2AError: The handler refuses it, or there is no such task.
    """
    await check_version(context)
    match call:
        case SendMessageRequest():
            answer: Task | Message | None = await handler.on_message_send(call, context)
            return await written(answer, member="task" if isinstance(answer, Task) else "message")
        case ListTasksRequest():
            page = await handler.on_list_tasks(call, context)
            return await done(page.ByteSize(), _written_page, page)
        case CancelTaskRequest():
            answer = await handler.on_cancel_task(call, context)
        case GetTaskRequest():
            answer = await handler.on_get_task(call, context)
        case _:
            raise TypeError(f"{type(call).__name__} is answered by a stream")
    if answer is None:
        raise TaskNotFoundError
    return await written(answer)
