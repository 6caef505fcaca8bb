"""How the demo speaks, and what it does as a client."""

import uuid

import click
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, Task


class Artifact:
    """An artifact as a client puts it together from a stream."""

    def __init__(self) -> None:
        self.text = ""
        self.chunks = 0

    def take(self, response: StreamResponse) -> None:
        """Take one stream response into account."""
        if response.HasField("task"):
            self.text = text_of(response.task)
        if response.HasField("artifact_update"):
            update = response.artifact_update
            self.chunks += 1
            added = "".join(part.text for part in update.artifact.parts)
            self.text = self.text + added if update.append else added


def request(text: str) -> SendMessageRequest:
    """Return a request that sends a text."""
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(message=message)


def text_of(task: Task) -> str:
    """Return the text of all artifacts."""
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


def show(response: StreamResponse) -> None:
    """Show what a stream brought, on one line."""
    if response.HasField("artifact_update"):
        update = response.artifact_update
        chunk = "".join(part.text for part in update.artifact.parts)
        click.echo(chunk if update.append else f"  ← {chunk}", nl=False)
    elif response.HasField("task") and response.task.artifacts:
        click.echo(f"  ← [the task so far] {text_of(response.task)}")


def title(text: str) -> None:
    """Head a part."""
    click.echo(click.style(text, bold=True))


def say(text: str) -> None:
    """Tell what happens."""
    click.echo(f"  {text}")


def good(text: str) -> None:
    """Tell what went well."""
    click.echo(click.style(f"  ✓ {text}", fg="green"))


def expect(met: bool, otherwise: str) -> None:
    """Stop the demo when it does not show what it must.

    Raises:
        RuntimeError: ``met`` is False.
    """
    if not met:
        raise RuntimeError(f"The demo failed: {otherwise}")
