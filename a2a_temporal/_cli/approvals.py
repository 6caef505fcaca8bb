"""``a2a-temporal approvals``: list and answer the requests of workflows from the terminal."""

import asyncio
import contextlib
import functools
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from temporalio.service import RPCError

from a2a_temporal._cli.approvals_text import listing, outcome_text, page_of, plain, waiting_json
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option
from a2a_temporal._connect import connect
from a2a_temporal._log.answers import Answer, AnswerKind, RefusedError
from a2a_temporal._log.exact import read_json
from a2a_temporal._server.approvals import Approvals, Outcome, UnknownTaskError
from a2a_temporal._server.records import UnreadableTaskError
from a2a_temporal._server.waiting import Person, Waiting

_PAGE = 100

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def approvals() -> None:
    """List, decide and answer requests that wait for people; export the audit records.

    A user of this command has access to the Temporal namespace, so all requests are visible. Names
    are recorded as claimed.
    """


def _who(command: Command) -> Command:
    for option in (
        click.option(
            "--group", "groups", multiple=True, help="A group of this person; repeatable."
        ),
        click.option(
            "--by", default="", help="The name of the person who answers; recorded as claimed."
        ),
    ):
        command = option(command)
    return command


def _common(command: Command) -> Command:
    json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return profile_option(json_option(command))


@dataclass(frozen=True)
class _Given:
    """The options that approve, reject and answer share."""

    task_id: str
    person: Person
    request: str
    token: str
    as_json: bool
    profile: str | None


def _deciding(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def decide(task_id: str, by: str, groups: tuple[str, ...], **options: Any) -> None:
        shared = {name: options.pop(name) for name in ("request", "token", "as_json", "profile")}
        person = Person(by, groups, operator=True)
        command(_Given(task_id, person, **shared), **options)

    for option in (
        click.option(
            "--request",
            default="",
            help="The id of the request; optional for a task's first one, if no other is open.",
        ),
        click.option(
            "--token", default="", help="With the same token, a repeated answer counts once."
        ),
    ):
        decide = option(decide)
    return _who(_common(click.argument("task_id", metavar="ID")(decide)))


@approvals.command("list")
@_who
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@_common
def list_(by: str, groups: tuple[str, ...], limit: int, as_json: bool, profile: str | None) -> None:
    """List all requests that wait, or those that wait for --by and --group."""
    person = Person(by, groups, operator=not (by or groups))

    async def main(open_: Approvals) -> int:
        tasks: list[Waiting] = []
        unreadable: dict[str, str] = {}
        token, total = b"", await open_.count(person)
        while len(tasks) < limit:
            size = min(_PAGE, limit - len(tasks))
            page = await open_.waiting(person, size=size, token=token)
            tasks += page.tasks
            unreadable |= page.unreadable
            token = page.next_token
            if not token:
                break
        if as_json:
            click.echo(json.dumps([waiting_json(each) for each in tasks], indent=2))
        else:
            click.echo(listing(tasks, more=max(0, total - len(tasks)) if token else 0))
        unreadable |= {each.task_id: " ".join(each.problems) for each in tasks if each.problems}
        missing = _named(unreadable, "Left out, or in part:")
        return missing if as_json else 0  # a program would take what is listed for all there is

    _run(profile, main)


@approvals.command()
@click.argument("task_id", metavar="ID")
@_common
def show(task_id: str, as_json: bool, profile: str | None) -> None:
    """Show a task: its requests, approvers, deadlines and conversation."""

    async def main(open_: Approvals) -> int:
        waiting = await open_.task(Person("", operator=True), task_id)
        if as_json:
            click.echo(json.dumps(waiting_json(waiting), indent=2))
        else:
            click.echo(page_of(waiting))
        return 0

    _run(profile, main)


@approvals.command()
@_deciding
@click.option("--comment", "-m", default="", help="Kept with the decision.")
@click.option("--details", default="", help="Approve these instead: JSON, or @file.")
@click.option(
    "--seen", default="", metavar="SHA256", help="Count only if the details have this hash."
)
def approve(given: _Given, comment: str, details: str, seen: str) -> None:
    """Approve an open request."""
    changed = _json_of(details) if details else None
    _decide(given, "approve", comment=comment, details=changed, seen=seen)


@approvals.command()
@_deciding
@click.option("--comment", "-m", default="", help="Kept with the decision.")
def reject(given: _Given, comment: str) -> None:
    """Reject an open request."""
    _decide(given, "reject", comment=comment)


@approvals.command()
@_deciding
@click.argument("text")
def answer(given: _Given, text: str) -> None:
    """Answer an open question with TEXT."""
    _decide(given, "answer", answer=text)


@approvals.command()
@click.option("--query", default="", help="Only tasks of this Temporal visibility query.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False))
@profile_option
def export(query: str, output: Path | None, profile: str | None) -> None:
    """Write every audit record as a line of JSON: who, when, which channel, which details.

    Decisions of a run that a reset has replaced are marked as superseded. The exit code is 1 if
    a task or a record cannot be read here; the command names each of them.
    """

    async def main(open_: Approvals) -> int:
        count = 0
        unreadable: dict[str, str] = {}
        with _opened(output) as file:
            async for record in open_.records(query, unreadable=unreadable):
                file.write(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n")
                count += 1
        click.echo(f"{count} {'record' if count == 1 else 'records'}", err=True)
        count = len(unreadable)
        return _named(unreadable, f"Without those of {count} that cannot be read here:")

    _run(profile, main)


def _decide(given: _Given, decision: AnswerKind, **content: Any) -> None:
    answer = Answer(decision, given.request, token=given.token, channel="cli", **content)

    async def main(open_: Approvals) -> int:
        waiting = await open_.task(given.person, given.task_id)
        try:
            outcome = await open_.decide(given.person, waiting, answer)
        except RefusedError as refused:
            outcome = Outcome(handled=False, refused=str(refused))
        after: Waiting = await open_.task(given.person, given.task_id)
        if given.as_json:
            click.echo(json.dumps(outcome.to_json(), indent=2))
        elif not outcome.refused:
            click.echo(outcome_text(outcome, answer.decision, after))
        if outcome.refused:
            click.echo(f"That did not count. {plain(outcome.refused)}", err=True)
        return int(bool(outcome.refused))

    _run(given.profile, main)


def _named(unreadable: dict[str, str], heading: str) -> int:
    """Name the tasks that cannot be read; returns the exit code."""
    if unreadable:
        click.echo(heading, err=True)
    for task_id, reason in unreadable.items():
        click.echo(f"  {plain(task_id)}: {plain(reason)}", err=True)
    return int(bool(unreadable))


def _run(profile: str | None, main: Callable[[Approvals], Awaitable[int]]) -> None:
    configure_logging(verbose=False)

    async def with_approvals(_: asyncio.Event) -> int:
        async with _approvals(profile) as open_:
            try:
                return await main(open_)
            except UnknownTaskError as error:
                raise click.ClickException(f"there is no task {str(error)!r}") from None
            except UnreadableTaskError as error:
                reason = f"task {error} cannot be read here: {error.__cause__}"
                raise click.ClickException(reason) from None
            except RPCError as error:
                raise click.ClickException(f"Temporal: {error.message}") from None

    run(with_approvals)


@contextlib.asynccontextmanager
async def _approvals(profile: str | None) -> AsyncGenerator[Approvals]:
    opened = Approvals(await connect(profile=profile))
    try:
        yield opened
    finally:
        await opened.aclose()


@contextlib.contextmanager
def _opened(output: Path | None) -> Generator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    try:
        file: TextIO = output.open("w", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror}") from None
    with file:
        yield file


def _json_of(text: str) -> Any:
    try:
        return read_json(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except OSError as error:
        raise click.UsageError(f"--details: cannot read {text[1:]}: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"--details is not JSON: {error}") from None
