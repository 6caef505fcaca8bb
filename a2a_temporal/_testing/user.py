"""A user of the agent under test, speaking through the official client."""

import uuid
from collections.abc import Iterable
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    GetTaskRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
)
from google.protobuf.struct_pb2 import Struct

from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.state import state_name
from a2a_temporal._worker.task.parts import Content, parts_of


class User:
    """Somebody who talks to the agent through the official client.

    Attributes:
        name: As the server authenticates it; empty for the anonymous user.
        client: The official client, with streaming, for everything :meth:`send` is too plain for.
    """

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, *, name: str) -> None:
        self.name = name
        self._http = http
        self.client: Client = ClientFactory(ClientConfig(httpx_client=self._http)).create(card)
        self._blocking = ClientFactory(
            ClientConfig(httpx_client=self._http, streaming=False)
        ).create(card)

    async def send(
        self,
        content: Content | Message,
        *,
        task: Task | str | None = None,
        wait: bool = True,
        message_id: str = "",
        metadata: dict[str, Any] | None = None,
        extensions: Iterable[str] = (),
    ) -> Task:
        """Send a message and return the task as it then is.

        Args:
            content: A text, a JSON object, parts, or a whole message.
            task: The task it belongs to; a new one by default.
            wait: Wait until the task has ended or asks for something.
            message_id: A fresh one by default; give one to repeat a message.
            metadata: Of the message.
            extensions: URIs the message names.

        Raises:
            a2a.utils.errors.A2AError: The server refused.
            TypeError: The agent answered with a direct Message: use :attr:`client`.
        """
        message = _message(content)
        message.message_id = message.message_id or message_id or uuid.uuid4().hex
        if task is not None:
            message.task_id = id_of(task)
        if metadata is not None:
            message.metadata.CopyFrom(from_json(metadata, Struct()))
        message.extensions.extend(extensions)
        request = SendMessageRequest(
            message=message, configuration=SendMessageConfiguration(return_immediately=not wait)
        )
        async for response in self._blocking.send_message(request):
            if response.HasField("task"):
                return response.task
            raise TypeError(f"The agent answered with a direct Message: {response.message}")
        raise TypeError("The agent answered with nothing.")

    async def get(self, task: Task | str) -> Task:
        """Return a task as this user sees it."""
        return await self._blocking.get_task(GetTaskRequest(id=id_of(task)))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()


def state_of(task: Task) -> str:
    """Return the state of a task in words, such as ``input-required``."""
    return state_name(task.status.state)


def status_text(task: Task) -> str:
    """Return the text of a task's status message."""
    return "\n".join(part.text for part in task.status.message.parts if part.text)


def id_of(task: Task | str) -> str:
    """Return the id of a task that is named by it, or by itself."""
    return task if isinstance(task, str) else task.id


def _message(content: Content | Message) -> Message:
    if isinstance(content, Message):
        message = Message()
        message.CopyFrom(content)
        return message
    return Message(role=Role.ROLE_USER, parts=parts_of(content))
