"""The table of what the bench agent can do; each command is one small function.

A line holds one command or several, separated by `;`, that run one after another. Text that names
no command is echoed.
"""

import asyncio
import builtins
import json
import math
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from a2a.helpers import new_data_part, new_text_part
from a2a.types import Part, TaskState, TaskStatus, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value

from a2a_temporal.errors import PublicError, RetryableError
from tests.bench_agent.work import Work, idempotency_key

Command = Callable[[Work, str], Awaitable[None]]

SECRET = "hunter2-SECRET"
"""No byte a client can see may ever hold this."""

TICK = 0.25
"""Seconds between the ledger lines of a command that only spends time."""


async def echo(work: Work, text: str) -> None:
    """`echo x`: an artifact with x."""
    await work.text(text)


async def echo_data(work: Work, text: str) -> None:
    """`echo-data json`: an artifact with the same data, from the text or from the data parts."""
    parts = [part for part in work.message.parts if part.HasField("data")]
    if text:
        parts.insert(0, new_data_part(json.loads(text)))
    await work.artifact(*parts)


async def whoami(work: Work, _: str) -> None:
    """`whoami`: an artifact with all that the agent knows about the request."""
    await work.data(_seen(work))


async def sleep(work: Work, seconds: str) -> None:
    """`sleep s`: spend s seconds awaiting, with lines in the ledger."""
    await _spend(work, float(seconds))
    await work.text(f"slept {seconds}")


async def sleep_without_heartbeat(work: Work, arguments: str) -> None:
    """`sleep-nohb s [thread]`: the same, and nothing in here knows of heartbeats."""
    seconds, _, kind = arguments.partition(" ")
    await (sleep_in_thread if kind.strip() == "thread" else sleep)(work, seconds)


async def sleep_in_thread(work: Work, seconds: str) -> None:
    """`sleep-thread s`: spend s seconds in a thread that nothing can interrupt."""
    await asyncio.to_thread(_spend_blocking, work, float(seconds))
    await work.text(f"slept {seconds}")


async def pause(_: Work, seconds: str) -> None:
    """`pause s`: spend s seconds and leave no trace."""
    await asyncio.sleep(float(seconds))


async def stubborn(work: Work, seconds: str) -> None:
    """`stubborn s`: when asked to stop, work on for s seconds before obeying."""
    try:
        await _spend(work, 3600)
    except asyncio.CancelledError:
        await _spend(work, float(seconds))
        raise


async def count(work: Work, arguments: str) -> None:
    """`count n d`: n steps in the ledger, d seconds apart, each a chunk of one artifact."""
    steps, pause_seconds = _numbers(arguments, 5, 0.2)
    for step in range(1, int(steps) + 1):
        if step > 1:
            await asyncio.sleep(pause_seconds)
        work.log("step", step)
        await work.artifact(new_text_part(f"{step}\n"), append=step > 1, last=step == int(steps))


async def status(work: Work, arguments: str) -> None:
    """`status n`: n status updates in the state WORKING."""
    (updates,) = _numbers(arguments, 3)
    for number in range(1, int(updates) + 1):
        await work.working(f"status {number} of {int(updates)}")


async def chunks(work: Work, arguments: str) -> None:
    """`chunks n bytes d`: one artifact in n chunks, d seconds apart."""
    number, size, pause_seconds = _numbers(arguments, 10, 64, 0.1)
    texts = [chunk_text(index, int(size)) for index in range(int(number))]
    await work.chunks(texts, pause=pause_seconds)


async def big(work: Work, arguments: str) -> None:
    """`big bytes`: an artifact of that size."""
    (size,) = _numbers(arguments, 1000)
    await work.text("x" * int(size))


async def fan(work: Work, arguments: str) -> None:
    """`fan n bytes`: n artifacts of that size, made at the same time."""
    number, size = _numbers(arguments, 4, 1000)

    async def one(index: int) -> None:
        await asyncio.sleep(0)
        await work.artifact(
            new_text_part(chunk_text(index, int(size))),
            artifact_id=f"{work.artifact_id()}.{index}",
        )

    await asyncio.gather(*(one(index) for index in range(int(number))))


async def append_without_create(work: Work, text: str) -> None:
    """`append x`: a chunk marked append for an artifact that does not exist."""
    await work.artifact(new_text_part(text), append=True, last=True)


async def replace(work: Work, _: str) -> None:
    """`replace`: an artifact in two chunks, then the same id again, whole."""
    await work.chunks(["old ", "text"])
    await work.artifact(new_text_part("new text"), append=False, last=True)


async def after_last(work: Work, _: str) -> None:
    """`after-last`: one more chunk behind the one that was called the last."""
    await work.chunks(["first ", "last "])
    await work.artifact(new_text_part("more"), append=True)


async def interleave(work: Work, arguments: str) -> None:
    """`interleave n`: two artifacts whose n chunks each alternate."""
    (number,) = _numbers(arguments, 5)
    for index in range(int(number)):
        for half in ("left", "right"):
            await work.artifact(
                new_text_part(f"{half} {index}\n"),
                artifact_id=f"{work.artifact_id()}.{half}",
                append=index > 0,
                last=index == int(number) - 1,
            )


async def ask(work: Work, question: str) -> None:
    """`ask q`: INPUT_REQUIRED with the question; the answer comes back as an artifact."""
    await work.ask(question or "What now?", then=work.rest)


async def ask_twice(work: Work, arguments: str) -> None:
    """`ask2 [s]`: two questions, the second one s seconds after the first answer."""
    (seconds,) = _numbers(arguments, 1)
    then = f"pause {seconds}; ask Second question?"
    await work.ask("First question?", then=f"{then}; {work.rest}" if work.rest else then)


async def auth(work: Work, _: str) -> None:
    """`auth`: AUTH_REQUIRED, and wait in here until somebody opens the other door."""
    await work.updater.requires_auth(work.say("A credential is needed. Give it out of band."))
    while not work.out_of_band.released(work.task_id):  # noqa: ASYNC110 - a file has no event
        await asyncio.sleep(0.1)
    await work.working("The credential has arrived.")
    await work.text("authorized")


async def auth_by_message(work: Work, _: str) -> None:
    """`auth-message`: AUTH_REQUIRED, and go on with the next message."""
    await work.updater.requires_auth(
        work.say("A credential is needed. Send a message.", metadata=work.asks(work.rest))
    )
    work.over = True


async def effect(work: Work, key: str) -> None:
    """`effect k`: one line in the ledger, under a key that is the same in every attempt."""
    work.log("effect", key, key=idempotency_key(key))


async def crash(work: Work, _: str) -> None:
    """`crash`: the first attempt takes the whole worker process with it."""
    if work.attempt == 1:
        work.log("crash", "crash")
        os._exit(1)


async def flaky(work: Work, arguments: str) -> None:
    """`flaky k`: the first k attempts fail in a way that is worth another attempt."""
    (failures,) = _numbers(arguments, 1)
    work.log("flaky", "flaky")
    if work.attempt <= failures:
        raise RetryableError(f"attempt {work.attempt} of {SECRET} failed")


async def boom(work: Work, _: str) -> None:
    """`boom`: an exception with a secret and a path in it."""
    work.log("boom", "boom")
    raise ValueError(f"login failed: password={SECRET} in /srv/agent/credentials.toml")


async def raise_something(work: Work, kind: str) -> None:
    """`raise timeout|group|base|exit|canceled`: exceptions that are easy to handle wrongly."""
    work.log("boom", kind)
    raise _ODD_EXCEPTIONS[kind]


async def not_a_number(work: Work, _: str) -> None:
    """`nan`: data that JSON cannot express."""
    work.log("boom", "nan")
    await work.artifact(Part(data=Value(number_value=math.nan)))


async def fail_in_public(work: Work, text: str) -> None:
    """`fail-public m`: FAILED with the text m."""
    work.log("boom", "fail-public")
    raise PublicError(text)


async def boom_in_public(work: Work, _: str) -> None:
    """`boom-public`: an error that is marked as permanent and as fit for the client."""
    await fail_in_public(work, "The quota is used up.")


async def reject(work: Work, text: str) -> None:
    """`reject [m]`: REJECTED."""
    await work.reject(text or "This agent does not do that.")


async def message(work: Work, text: str) -> None:
    """`msg x`: a direct Message and no task."""
    await work.events.enqueue_event(work.say(text))
    work.over = True


async def after_end(work: Work, _: str) -> None:
    """`after-end`: COMPLETED, and then events that come too late."""
    await work.updater.complete(work.say("done"))
    late = TaskStatus(state=TaskState.TASK_STATE_WORKING, message=work.say("too late"))
    await work.events.enqueue_event(
        TaskStatusUpdateEvent(task_id=work.task_id, context_id=work.updater.context_id, status=late)
    )
    await work.text("too late")
    work.over = True


async def silent(work: Work, _: str) -> None:
    """`silent`: return without saying how the task ended."""
    work.over = True


async def not_offered(work: Work, _: str) -> None:
    """Refuse a command of `flow.py` that is not the only one of the message that begins a task."""
    await work.reject(f"{work.command!r} must be the only command of a task's first message.")


class OddTimeoutError(asyncio.TimeoutError):
    """A subclass of what frameworks catch to mean something of their own."""


class OddGroupError(Exception):
    """Holds other exceptions; the built-in group of Python 3.11 where there is one."""


class OddBaseError(BaseException):
    """Not an Exception."""


_ODD_EXCEPTIONS: dict[str, BaseException] = {
    "timeout": OddTimeoutError(SECRET),
    "group": getattr(builtins, "ExceptionGroup", OddGroupError)(SECRET, [ValueError(SECRET)]),
    "base": OddBaseError(SECRET),
    "exit": SystemExit(SECRET),
    "canceled": asyncio.CancelledError(SECRET),
}

COMMANDS: dict[str, Command] = {
    "echo": echo,
    "echo-data": echo_data,
    "whoami": whoami,
    # time
    "sleep": sleep,
    "sleep-nohb": sleep_without_heartbeat,
    "sleep-thread": sleep_in_thread,
    "pause": pause,
    "stubborn": stubborn,
    # how cancel() of these two behaves is in agent.py
    "cancel-raises": sleep,
    "cancel-silent": sleep,
    # status and artifacts
    "count": count,
    "status": status,
    "chunks": chunks,
    "big": big,
    "fan": fan,
    "append": append_without_create,
    "replace": replace,
    "after-last": after_last,
    "interleave": interleave,
    # people
    "ask": ask,
    "ask2": ask_twice,
    "auth": auth,
    "auth-message": auth_by_message,
    "approve": not_offered,
    "approve2": not_offered,
    "approve-within": not_offered,
    # effects and faults
    "effect": effect,
    "crash": crash,
    "flaky": flaky,
    "boom": boom,
    "boom-public": boom_in_public,
    "boom-wf": not_offered,
    "fail-public": fail_in_public,
    "raise": raise_something,
    "nan": not_a_number,
    # other ways to answer
    "reject": reject,
    "msg": message,
    "after-end": after_end,
    "silent": silent,
    "child": not_offered,
}

_NAMES = "|".join(re.escape(name) for name in sorted(COMMANDS, key=len, reverse=True))
_FIRST = re.compile(rf"({_NAMES})(?=\s|;|$)", re.ASCII)
_BETWEEN = re.compile(rf"\s*;\s*(?=(?:{_NAMES})(?:\s|;|$))", re.ASCII)


def names_command(text: str) -> bool:
    """Say whether a text begins with a command."""
    return _FIRST.match(text.strip()) is not None


def split(line: str) -> list[tuple[str, str]]:
    """Split a line into (command, arguments)."""
    line = line.strip().strip(";").strip()
    if not line:
        return []
    if not names_command(line):
        return [("echo", line)]
    commands: list[tuple[str, str]] = []
    for piece in _BETWEEN.split(line):
        name, _, arguments = piece.strip().partition(" ")
        commands.append((name, arguments.strip()))
    return commands


def chunk_text(index: int, size: int) -> str:
    """Return the content of a chunk: its number, then filler, so that order and doubles show."""
    return f"[{index:05d}]".ljust(size, chr(ord("a") + index % 26))[:size]


def _numbers(arguments: str, *defaults: float) -> list[float]:
    """Return the leading numbers of the arguments, completed with defaults."""
    given: list[float] = []
    for word in arguments.split()[: len(defaults)]:
        if not re.fullmatch(r"\d+(\.\d*)?", word):
            break
        given.append(float(word))
    return [*given, *defaults[len(given) :]]


async def _spend(work: Work, seconds: float) -> None:
    end = time.monotonic() + seconds
    work.log("start", work.command)
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(TICK, left))
        work.log("tick", work.command)
    work.log("stop", work.command)


def _spend_blocking(work: Work, seconds: float) -> None:
    end = time.monotonic() + seconds
    work.log("start", work.command)
    while (left := end - time.monotonic()) > 0:
        threading.Event().wait(min(TICK, left))
        work.log("tick", work.command)
    work.log("stop", work.command)


def _seen(work: Work) -> dict[str, Any]:
    request = work.request
    headers: dict[str, str] = request.call_context.state.get("headers", {})
    user = request.call_context.user
    scopes: list[str] = request.call_context.state.get("scopes", [])
    return {
        "user": user.user_name,
        "authenticated": user.is_authenticated,
        "scopes": scopes,
        "tenant": request.tenant,
        "contextId": request.context_id,
        "taskId": request.task_id,
        "extensions": sorted(request.requested_extensions),
        "version": headers.get("a2a-version"),
        "traceparent": headers.get("traceparent"),
        "headers": sorted(headers),
        "configuration": MessageToDict(request.configuration) if request.configuration else {},
        "metadata": request.metadata,
        "referenceTaskIds": list(work.message.reference_task_ids),
        "turn": work.turn,
        "attempt": work.attempt,
        "idempotencyKey": idempotency_key("whoami"),
    }
