"""``TaskRun``: what a workflow author holds to make their workflow an A2A task."""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Coroutine, Sequence
from datetime import timedelta
from typing import Any, Literal, NoReturn, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Artifact, Message, Task, TaskArtifactUpdateEvent, TaskState

    from a2a_temporal import errors
    from a2a_temporal._log.answers import speaker_of
    from a2a_temporal._log.entries import TaskStart, now_text
    from a2a_temporal._log.protojson import from_json
    from a2a_temporal._log.requests import OpenRequest, Record, RequestKind, rule_record
    from a2a_temporal._log.state import TERMINAL_STATES
    from a2a_temporal._worker.approvals import arguments
    from a2a_temporal._worker.approvals.details import details_of
    from a2a_temporal._worker.approvals.pending_request import PendingRequest, question
    from a2a_temporal._worker.approvals.policy import (
        Approve,
        Approvers,
        Decision,
        Escalate,
        OnTimeout,
        Reject,
        rule_of,
        rule_text,
    )
    from a2a_temporal._worker.task.control import TaskControl
    from a2a_temporal._worker.task.parts import Content, data_of, parts_of, text_of

T = TypeVar("T")

_KEYS = uuid.UUID("0b9d1f0c-6f0e-5c55-8a41-6f3f6f1e2b77")


class TaskRun:
    """The A2A task of a workflow. Create it in ``@workflow.init`` from the workflow's input.

    ::

        @workflow.defn
        class Greeting:
            @workflow.init
            def __init__(self, start: TaskStart) -> None:
                self.task = TaskRun(start)

            @workflow.run
            async def run(self, start: TaskStart) -> str:
                name = await self.task.require_input("What is your name?")
                return f"Hello {name}"

    A workflow that returns completes its task, with the returned value as an artifact; one that
    raises fails it. What is emitted is durable, in order, and seen by every client alike.

    Args:
        start: The workflow's input.
    """

    def __init__(self, start: TaskStart) -> None:
        self._control = TaskControl(start)
        self._log = self._control.log
        self._requests = self._control.requests

    # ------------------------------------------------------------------- read

    @property
    def id(self) -> str:
        """The task's id, which is the workflow's id."""
        return self._log.state.start.task_id

    @property
    def message(self) -> Message:
        """The message that began the task."""
        return from_json(self._log.state.start.message, Message())

    @property
    def text(self) -> str:
        """The text of the message that began the task."""
        return text_of(self.message)

    @property
    def data(self) -> Any:
        """The first data part of the message that began the task; ``None`` without one."""
        return data_of(self.message)

    @property
    def owner(self) -> str:
        """Who made the task, as the server authenticated them; empty for anonymous callers."""
        return self._log.state.start.owner

    @property
    def task(self) -> Task:
        """A copy of the A2A Task as it is now."""
        return self._log.state.copy_task()

    @property
    def carried(self) -> Any:
        """What the previous run handed to :meth:`continue_as_new`; ``None`` in the first."""
        return self._log.state.start.carried

    @property
    def ended(self) -> bool:
        """True once the task is in a terminal state."""
        return self._log.state.task.status.state in TERMINAL_STATES

    def idempotency_key(self, step: str) -> str:
        """Return a UUID that is this task's alone, the same in every attempt, replay and run.

        Hand it to an activity whose effect must not happen twice: a payment, a mail.

        Args:
            step: Name of the effect within the task.
        """
        return str(uuid.uuid5(_KEYS, f"{self.id}/{step}"))

    async def messages(self) -> AsyncIterator[Message]:
        """Yield further client messages in order, waiting for each; answers are not among them."""
        while not self.ended:
            await workflow.wait_condition(lambda: bool(self._requests.messages) or self.ended)
            while self._requests.messages:
                yield self._requests.messages.popleft().message

    # ------------------------------------------------------------------- tell

    def working(self, text: str = "") -> None:
        """Report progress: the task is WORKING, with an optional text.

        While a request is open, the text is told beside it and the task goes on waiting.
        """
        self._control.note_act()
        arguments.optional_text("text", text)
        if not self._requests.open_requests:
            self._log.emit_status(TaskState.TASK_STATE_WORKING, text)
        elif text:
            self._requests.publish(text)

    def add_artifact(
        self,
        content: Content,
        *,
        name: str = "",
        artifact_id: str = "",
        append: bool = False,
        last_chunk: bool | None = None,
    ) -> str:
        """Publish an artifact or a further chunk of one; returns its id.

        Args:
            content: A text, a JSON object, or parts.
            name: Shown to people.
            artifact_id: Chosen by the author to append later; made up when empty.
            append: Add to the artifact instead of replacing it.
            last_chunk: Nothing will be appended after this. By default that is said of an artifact
                without an ``artifact_id``: it is taken as whole.
        """
        self._control.note_act()
        if last_chunk is None:
            last_chunk = not artifact_id and not append
        artifact_id = artifact_id or self._unused_artifact_id()
        artifact = Artifact(artifact_id=artifact_id, name=name, parts=parts_of(content))
        self._log.emit(
            TaskArtifactUpdateEvent(artifact=artifact, append=append, last_chunk=last_chunk)
        )
        return artifact_id

    def complete(self, text: str = "") -> None:
        """End the task: COMPLETED. What comes after changes nothing."""
        self._control.end(TaskState.TASK_STATE_COMPLETED, arguments.optional_text("text", text))

    def fail(self, text: str) -> None:
        """End the task: FAILED, with a text the client reads."""
        self._control.end(TaskState.TASK_STATE_FAILED, arguments.optional_text("text", text))

    def reject(self, text: str = "") -> None:
        """End the task: REJECTED, the agent will not do it."""
        self._control.end(TaskState.TASK_STATE_REJECTED, arguments.optional_text("text", text))

    def cancel(self) -> None:
        """End the task: CANCELED."""
        self._control.end(TaskState.TASK_STATE_CANCELED)

    # -------------------------------------------------------------------- ask

    def require_input(
        self, question: str, *, choices: Sequence[str] = (), timeout: timedelta | None = None
    ) -> Coroutine[Any, Any, str]:
        """Ask a question and return the answer, as text: the task is INPUT_REQUIRED meanwhile.

        Args:
            question: Shown to the client and in the inbox.
            choices: Offered answers; others are still accepted.
            timeout: After it the task FAILS; by default the question waits for ever.

        Raises:
            TypeError, ValueError: An argument is not what it should be.
        """
        question = arguments.text("question", question)
        offered = arguments.choices(choices)
        arguments.duration("timeout", timeout)

        async def ask() -> str:
            pending = self._new_request("input", question, choices=offered, timeout=timeout)
            await self._wait(pending, question)
            if not pending.outcome:
                self._expire(pending, "timeout")
            if isinstance(pending.answer, str):
                return pending.answer
            return json.dumps(pending.answer, sort_keys=True, ensure_ascii=False)

        return self._control.asking("require_input", ask)

    def require_auth(
        self, text: str, *, timeout: timedelta | None = None
    ) -> Coroutine[Any, Any, Message | None]:
        """Wait for a credential that is given out of band: the task is AUTH_REQUIRED meanwhile.

        The signal ``answer`` that names the request releases it, and so does a client's message,
        which is returned. Neither may carry the credential: both are kept in the history. The
        authorization holds for this call alone (A2A 1.0, section 7.6.4); ask again for the next.

        Raises:
            TypeError, ValueError: An argument is not what it should be.
        """
        text = arguments.text("text", text)
        arguments.duration("timeout", timeout)

        async def ask() -> Message | None:
            pending = self._new_request("auth", text, timeout=timeout)
            await self._wait(pending, text)
            if not pending.outcome:
                self._expire(pending, "timeout")
            return pending.message

        return self._control.asking("require_auth", ask)

    def require_approval(
        self,
        summary: str,
        *,
        details: T = None,
        approvers: Approvers | None = None,
        timeout: timedelta | None = None,
        remind_every: timedelta | None = None,
        on_timeout: OnTimeout | None = None,
    ) -> Coroutine[Any, Any, Decision[T]]:
        """Ask people to approve exactly this, and return what they decided.

        Args:
            summary: One line: what happens on a yes.
            details: What is approved, as a pydantic model, dataclass or JSON value. An approver may
                change it; the changed details are validated and returned. What is returned is what
                the task's log holds and people have seen.
            approvers: Who may decide and how many must; whoever sees the task by default.
            timeout: How long they have; for ever by default.
            remind_every: Publish the request again after each such time; ever more rarely once the
                history is as long as Temporal advises, after some 700 times.
            on_timeout: :class:`Expire` (the task FAILS; the default), :class:`Reject`,
                :class:`Approve` or :class:`Escalate`.

        Raises:
            TypeError, ValueError: An argument is not what it should be.
            ApplicationError: The log cannot hold the details exactly.
        """
        summary = arguments.text("summary", summary)
        arguments.duration("timeout", timeout)
        arguments.duration("remind_every", remind_every)
        rule = rule_of("on_timeout", on_timeout)
        if on_timeout is not None and timeout is None:
            raise ValueError("on_timeout says what happens after timeout: give that as well.")
        asked = Approvers() if approvers is None else approvers
        if not isinstance(asked, Approvers):  # pyright: ignore[reportUnnecessaryIsInstance] # an author writes it
            raise TypeError(f"approvers must be Approvers(...), got {approvers!r:.200}.")
        written, kind = details_of(details)

        async def ask() -> Decision[T]:
            pending = self._new_request("approval", summary, timeout=timeout)
            pending.original, pending.type = written, kind
            request = pending.request
            request.details = written
            request.schema = kind.schema() if kind is not None else None
            request.approvers = list(asked.names)
            request.quorum = asked.quorum
            if asked.exclude_requester:
                self._exclude_requester(request)
            request.named = asked.exclude_requester
            request.verified_only = asked.verified_only
            text = question(request)
            await self._wait(pending, text, remind_every=remind_every)
            last = await self._escalated(pending, rule, timeout, remind_every)
            return self._decision(pending, last)

        return self._control.asking("require_approval", ask)

    def run_agent(self, *, carried: Any = None) -> Coroutine[Any, Any, None]:
        """Let the worker's ``AgentExecutor`` handle the task, turn by turn, until it has ended.

        A cancel, of the task or of this call alone, stops the agent first and is then let through.

        When the history has grown long, a new run takes over, and the workflow's code begins anew.
        Where it does anything before this, it has to know: give ``carried``, and look at
        :attr:`carried` first. Without, such a workflow stays in its run.

        Args:
            carried: What the new run reads from :attr:`carried`, as JSON.
        """
        return self._control.asking("run_agent", lambda: self._control.run_agent(carried))

    # ------------------------------------------------------------------- next

    def continue_as_new(self, carried: Any = None) -> NoReturn:
        """Let a new run take over; clients see no seam.

        Call it while no request is open and no agent is at work.

        Args:
            carried: The author's own state, as JSON; the next run reads it from :attr:`carried`.

        Raises:
            ApplicationError: A request is open, or the agent works.
            PublicError: All that is carried over is more than Temporal takes.
        """
        self._control.continue_as_new(carried)

    # ---------------------------------------------------------------- helpers

    def _unused_artifact_id(self) -> str:
        used = {artifact.artifact_id for artifact in self._log.state.task.artifacts}
        numbers = itertools.count(len(used) + 1)
        return next(each for each in map("artifact-{}".format, numbers) if each not in used)

    async def _escalated(
        self,
        pending: PendingRequest,
        rule: OnTimeout,
        timeout: timedelta | None,
        remind_every: timedelta | None,
    ) -> OnTimeout:
        """Ask others, as long as nobody answers in time; returns the rule that counts then."""
        request = pending.request
        while not pending.outcome and isinstance(rule, Escalate):
            timeout = rule.timeout or timeout
            at = now_text(workflow.now())
            record = rule_record(request, "escalate", rule_text(rule), at=at)
            request.approvers, request.records = list(rule.names), []
            pending.records = []
            request.quorum = rule.quorum
            pending.set_deadline(timeout)
            text = f"Escalated to {', '.join(rule.names)}: {question(request)}"
            rule = rule.then
            await self._wait(pending, text, remind_every=remind_every, record=record)
        return rule

    def _exclude_requester(self, request: OpenRequest) -> None:
        """Let whoever made the task not decide, by whichever name an answer may call them."""
        request.excluded = self.owner
        user = speaker_of(self._log.state.start.request).by
        if user != self.owner:
            request.requester = user

    def _new_request(
        self,
        kind: RequestKind,
        summary: str,
        *,
        choices: list[str] | None = None,
        timeout: timedelta | None,
    ) -> PendingRequest:
        if self.ended:
            raise _too_late(summary)
        request = OpenRequest(
            id="",
            kind=kind,
            summary=summary,
            asked_at=now_text(workflow.now()),
            choices=choices or [],
        )
        self._control.note_done()
        self._requests.identify(request)
        pending = PendingRequest(request, asked=summary)
        pending.set_deadline(timeout)
        return pending

    async def _wait(
        self,
        pending: PendingRequest,
        text: str,
        *,
        remind_every: timedelta | None = None,
        record: Record | None = None,
    ) -> None:
        """Return once the request has an outcome or its deadline has passed."""
        self._requests.withdraw(pending)
        remind_in = remind_every
        try:
            self._requests.open(pending, text, record=record)
            while not pending.outcome:
                left = pending.time_left
                if left is not None and left <= timedelta(0):
                    return
                pause = min((each for each in (left, remind_in) if each), default=None)
                try:
                    await workflow.wait_condition(
                        lambda: bool(pending.outcome) or self.ended,
                        timeout=pause,
                        timeout_summary=f"Waits for an answer: {pending.request.summary[:150]}",
                    )
                except asyncio.TimeoutError:
                    if remind_in is not None and pause == remind_in != left:
                        self._requests.publish(f"Reminder: {text}")
                        remind_in *= 2 if workflow.info().is_continue_as_new_suggested() else 1
                if self.ended and not pending.outcome:
                    self._requests.show()
                    raise _too_late(pending.request.summary)
        except asyncio.CancelledError:
            canceled = workflow.cancellation_reason() is not None
            # Otherwise the author's own code no longer wants to know: a time-out of its, a race.
            self._requests.take_back(
                pending, "the cancel of the task" if canceled else "the workflow"
            )
            raise
        finally:
            self._requests.withdraw(pending)

    def _expire(self, pending: PendingRequest, rule: str) -> NoReturn:
        text = f"Nobody answered in time: {pending.request.summary}"
        self._requests.withdraw(pending)
        self._requests.take_back_all("the end of the task")
        failed = TaskState.TASK_STATE_FAILED
        self._requests.close(pending, "expire", rule, text=text, ends_as=failed)
        raise ApplicationError(text, type=errors.REQUEST_EXPIRED, non_retryable=True)

    def _decision(self, pending: PendingRequest, rule: OnTimeout) -> Decision[Any]:
        request = pending.request
        outcome = pending.outcome
        if not outcome:
            if not isinstance(rule, (Approve, Reject)):
                self._expire(pending, rule_text(rule))
            yes = isinstance(rule, Approve)
            decision, verb = ("approve", "approved") if yes else ("reject", "rejected")
            text = f"Nobody answered in time, so it counts as {verb}: {request.summary}"
            record = self._requests.close(pending, decision, rule_text(rule), text=text)
            pending.records = [*pending.records, record]
        # What was hashed and shown, not what was given: they could only differ to somebody's harm.
        details = request.details if pending.type is None else pending.type.read(request.details)
        approved = outcome == "approved" or (not outcome and isinstance(rule, Approve))
        ended: Literal["approved", "rejected"] = "approved" if approved else "rejected"
        return Decision(approved, ended if outcome else "timed_out", details, pending.records)


def _too_late(summary: str) -> ApplicationError:
    return ApplicationError(
        f"{summary!r} is asked of nobody: the task has ended. Ask before complete(), fail() or "
        "reject(), and before the agent ends it.",
        non_retryable=True,
    )
