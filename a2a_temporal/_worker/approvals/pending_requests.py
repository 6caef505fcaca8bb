"""The pending requests of a task: what it asks of people, and what their answers do.

Each answer is processed in the order of its arrival, after all signals of the activation are in the
log. One status event publishes what it has changed, or why it has changed nothing.
"""

import contextlib
from collections import deque
from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Message, Part, Role, TaskState, TaskStatus, TaskStatusUpdateEvent
    from google.protobuf.struct_pb2 import Struct

    from a2a_temporal._log import wire
    from a2a_temporal._log.answers import (
        SIGNAL_DECISIONS,
        Answer,
        RefusedError,
        asks,
        check_answered,
        check_entitled,
        check_fits,
        find,
        parse_answer,
        parse_decision,
        record_of,
        speaker_of,
    )
    from a2a_temporal._log.entries import now_text
    from a2a_temporal._log.hitl import HITL_EXTENSION, answers_of, request_payload
    from a2a_temporal._log.names import indexed_name
    from a2a_temporal._log.protojson import from_json
    from a2a_temporal._log.requests import (
        APPROVALS_EXTENSION,
        OpenRequest,
        Record,
        details_hash,
        rule_record,
    )
    from a2a_temporal._log.reserved import is_reserved
    from a2a_temporal._worker.agent.loop import AgentLoop, Phase
    from a2a_temporal._worker.approvals.current_details import current_details
    from a2a_temporal._worker.approvals.details import changes_between, like_asked, validated
    from a2a_temporal._worker.approvals.pending_request import (
        PendingRequest,
        how_to_answer,
        question,
    )
    from a2a_temporal._worker.failures import misused
    from a2a_temporal._worker.task.task_log import ReceivedMessage, TaskLog, on_signal
    from a2a_temporal.errors import PublicError

_APPROVERS = SearchAttributeKey.for_keyword_list(wire.APPROVERS_ATTRIBUTE)
_PAUSE = timedelta(milliseconds=1)
_TIME_TO_READ = timedelta(seconds=3)


class PendingRequests:
    """Publishes what one task asks, and processes the answers.

    Args:
        log: The task's log.
        agent: The task's agent, which may ask as well.

    Attributes:
        messages: Messages of clients that answer nothing.
        asked: How many requests there have been, in all runs.
    """

    def __init__(self, log: TaskLog, agent: AgentLoop) -> None:
        self.messages: deque[ReceivedMessage] = deque()
        self._log = log
        self._agent = agent
        self._pending: list[PendingRequest] = []
        # Answers that came by signals of their own, each with its place among all that has come.
        self._signals: deque[tuple[int, Answer | RefusedError]] = deque()
        self.asked = 0
        self._approvals = 0
        self._approvers: list[str] = []
        self._seen: dict[str, None] = {}
        self._shown: tuple[str, list[str]] = ("", [])
        for signal in SIGNAL_DECISIONS:
            if workflow.get_signal_handler(signal) is not None:
                raise misused(
                    f"This workflow has a signal {signal!r} of its own, by which TaskRun receives "
                    "answers. Give it another name."
                )
            on_signal(signal, self._receiver(signal))
        log.on_indexed = self._index_approvers
        on_signal(wire.DECISION_SIGNAL, self._receive_decision)

    @property
    def open_requests(self) -> list[OpenRequest]:
        """The requests that wait for people now."""
        return [pending.request for pending in self._pending]

    async def serve(self) -> None:
        """Process what arrives, for ever."""
        while True:
            await workflow.wait_condition(
                lambda: bool(self._signals or self._log.inbox) or self._outdated()
            )
            while self._signals or self._log.inbox:
                await self._room()
                self._process_next()
            if self._outdated():
                self._ask_again()

    def _process_next(self) -> None:
        """Process what came first, a message or a signal of its own."""
        inbox, signals = self._log.inbox, self._signals
        if not signals or (inbox and inbox[0].arrival < signals[0][0]):
            self._on_message(inbox.popleft())
        else:
            self._on_signal(signals.popleft()[1])

    async def _room(self) -> None:
        """Go on in the next workflow task when this one has published much.

        Many answers may have come while no worker ran, and each status repeats what is open.
        """
        if self._log.budget.full:
            await workflow.sleep(_PAUSE, summary="Further answers")

    def open(self, pending: PendingRequest, text: str, *, record: Record | None = None) -> None:
        """Publish a request."""
        self._pending.append(pending)
        pending.shown_at = workflow.now()
        self.publish(text, record=record)

    def identify(self, request: OpenRequest) -> None:
        """Give a request its id, such as ``approval-1``; answers to an earlier one are void.

        Where an approval was asked for before, a bare yes may be meant for that one.
        """
        self.asked += 1
        request.id = f"{request.kind}-{self.asked}"
        if request.kind == "approval":
            request.explicit = self._approvals > 0
            self._approvals += 1

    def withdraw(self, pending: PendingRequest) -> None:
        """Let a request wait no longer, answered or not; publishes nothing."""
        if pending in self._pending:
            self._pending.remove(pending)

    def take_back(self, pending: PendingRequest, rule: str) -> None:
        """Close a request that the workflow no longer waits for.

        Args:
            pending: The request.
            rule: Why, for the record.
        """
        if pending in self._pending:
            # A task that has no room for it in this workflow task ends all the same.
            with contextlib.suppress(PublicError):
                self.close(pending, "withdraw", rule)

    def take_back_all(self, rule: str) -> None:
        """Close every request, as :meth:`take_back` does."""
        for pending in list(self._pending):
            self.take_back(pending, rule)

    def close(
        self,
        pending: PendingRequest,
        decision: str,
        rule: str,
        *,
        text: str = "",
        ends_as: TaskState | None = None,
    ) -> Record:
        """Close a request that no person has decided; publishes and returns the record.

        Args:
            pending: The request.
            decision: What became of it.
            rule: What has decided that.
            text: The text of the status.
            ends_as: The state in which the task ends with it.
        """
        self.withdraw(pending)
        record = rule_record(pending.request, decision, rule, at=now_text(workflow.now()))
        self.publish(
            text or f"No longer asked: {pending.request.summary}", record=record, state=ends_as
        )
        return record

    def publish(
        self,
        text: str,
        *,
        record: Record | None = None,
        refused: str = "",
        token: str = "",
        state: TaskState | None = None,
    ) -> None:
        """Emit a status with a text, all open requests, and the decision or refusal if any."""
        if self._log.state.terminal:
            return
        about: dict[str, Any] = {"requests": [each.to_json() for each in self.open_requests]}
        if record is not None and self._pending and record.request not in self._ids():
            # Clients show the text as what is asked, so it begins with that.
            text = f"{self._questions()} — {text}"
        if record is not None:
            about["record"] = {
                key: each for key, each in record.to_json().items() if each is not None
            }
        if refused:
            about["refused"] = refused
        if token:
            about["token"] = token
        payloads: dict[str, Any] = {APPROVALS_EXTENSION: about}
        hitl = request_payload(self.open_requests)
        if hitl is not None:
            payloads[HITL_EXTENSION] = hitl
        message = Message(
            message_id=str(workflow.uuid4()),
            role=Role.ROLE_AGENT,
            parts=[Part(text=text), *self._detail_parts(record)],
            extensions=sorted(payloads),
            metadata=from_json(payloads, Struct()),
        )
        status = TaskStatus(state=state or self._state(), message=message)
        self._log.emit(TaskStatusUpdateEvent(status=status))
        self._shown = (message.message_id, self._ids())
        self._index_approvers()
        self.show()

    def show(self) -> None:
        """Let the workflow's page in the Temporal UI say what is open."""
        start = self._log.state.start
        asked = [] if self._log.state.terminal else self.open_requests
        workflow.set_current_details(
            current_details(asked, task_id=start.task_id, owner=start.owner)
        )

    def carried(self) -> dict[str, Any]:
        """Return what the next run needs to know."""
        return {"asked": self.asked, "approvals": self._approvals, "seen": list(self._seen)}

    def restore(self, carried: dict[str, Any]) -> None:
        """Take over from the previous run."""
        self.asked = int(carried.get("asked", 0))
        self._approvals = int(carried.get("approvals", 0))
        self._seen = dict.fromkeys(carried.get("seen", []))

    # -------------------------------------------------------------- receiving

    def _receiver(self, signal: str) -> Any:
        def receive(*values: Any) -> None:
            # A person types this: whatever it is, it must not fail the workflow.
            value = values[0] if len(values) == 1 else list(values) or None
            try:
                self._take(parse_answer(signal, value))
            except RefusedError as refused:
                self._take(refused)

        return receive

    def _receive_decision(self, *values: Any) -> None:
        decision = parse_decision(values[0] if values else None)
        if decision is None or (decision.token and decision.token in self._seen):
            return
        if decision.token:
            self._seen[decision.token] = None
        self._take(decision)

    def _take(self, given: Answer | RefusedError) -> None:
        self._signals.append((next(self._log.arrivals), given))

    def _on_signal(self, given: Answer | RefusedError) -> None:
        if isinstance(given, RefusedError):
            self._refuse(given)
            return
        try:
            self._receive([given])
        except RefusedError as refused:
            self._refuse(refused, given.token)

    def _on_message(self, received: ReceivedMessage) -> None:
        request = received.request
        if not self._pending:
            if not request.get("guest"):
                self.messages.append(received)
            elif not self._log.state.terminal:
                self._refuse(RefusedError("Nothing waits for an answer of yours."))
            return
        try:
            answers = answers_of(received.message, self.open_requests, speaker_of(request))
            self._receive(answers, received.message, guest=bool(request.get("guest")))
        except RefusedError as refused:
            self._refuse(refused)

    def _receive(
        self, answers: list[Answer], message: Message | None = None, *, guest: bool = False
    ) -> None:
        """Let answers count: all of them, or none. A guest is asked by name, or is not asked."""
        if self._log.state.terminal:
            raise RefusedError("The task has ended.")
        checked = [(self._pending_for(answer), answer) for answer in answers]
        for pending, answer in checked:
            if guest and not asks(pending.request, [answer.by, *answer.groups]):
                raise RefusedError(f"{pending.request.id!r} is asked of others.")
        changed = [self._check(pending, answer) for pending, answer in checked]
        for (pending, answer), details in zip(checked, changed, strict=True):
            if answer.decision == "comment":
                record = record_of(pending.request, answer, at=now_text(workflow.now()))
                text = f"{record.who} commented: {answer.comment}"
                self.publish(text, record=record, token=answer.token)
                continue
            pending.message = message
            if pending.request.kind == "approval":
                self._take_decision(pending, answer, details)
            else:
                pending.answer = answer.answer if answer.answer is not None else answer.comment
                pending.outcome = "answered"
                self.withdraw(pending)
                record = record_of(
                    pending.request,
                    replace(answer, comment=pending.kept_text(answer)),
                    at=now_text(workflow.now()),
                )
                self.publish("Thank you.", record=record, token=answer.token)

    def _take_decision(self, pending: PendingRequest, answer: Answer, changed: Any) -> None:
        record = self._decide(pending, answer, changed)
        text = pending.progress(record)
        if pending.outcome:
            self.withdraw(pending)
        elif record.changed_details:
            # A person who has seen the old details must not approve the new ones unseen.
            self.identify(pending.request)
            changes = changes_between(pending.original, pending.request.details)
            pending.request.summary = f"{pending.asked} (changed by {record.who}: {changes})"
            pending.shown_at = workflow.now()
            text += f" It is {pending.request.id} now. {how_to_answer(pending.request)}"
        self.publish(text, record=record, token=answer.token)

    def _pending_for(self, answer: Answer) -> PendingRequest:
        request = find(self.open_requests, answer)
        pending = next(pending for pending in self._pending if pending.request is request)
        new = pending.shown_at is not None and workflow.now() - pending.shown_at < _TIME_TO_READ
        if request.explicit and not answer.request and new:
            raise RefusedError(
                f"{request.id!r} was asked only just now; this answer may be meant for what was "
                f'asked before. Look again, and name it: {{"request": "{request.id}"}}.'
            )
        return pending

    def _check(self, pending: PendingRequest, answer: Answer) -> Any:
        """Return the changed details, validated; ``None`` when nothing was changed."""
        check_fits(answer)
        if answer.decision == "comment":
            return None
        check_entitled(pending.request, answer)
        check_answered(pending.request, answer)
        if answer.details is None or answer.decision != "approve":
            return None
        if pending.type is None:
            return like_asked(pending.request.details, answer.details)
        return validated(pending.type, answer.details)

    def _decide(self, pending: PendingRequest, answer: Answer, changed: Any) -> Record:
        request = pending.request
        before = None
        if changed is not None and details_hash(changed) != details_hash(request.details):
            # What was approved so far was something else.
            request.records.clear()
            before, request.details = request.details, changed
        else:
            answer = replace(answer, details=None)
        record = record_of(request, answer, at=now_text(workflow.now()), before=before)
        request.records.append(record)
        pending.records = list(request.records)
        if answer.decision == "reject":
            pending.outcome = "rejected"
        elif len(request.records) >= request.quorum:
            pending.outcome = "approved"
        return record

    def _refuse(self, refused: RefusedError, token: str = "") -> None:
        self.publish(f"That answer did not count. {refused}", refused=str(refused), token=token)

    # ------------------------------------------------------------- publishing

    def _outdated(self) -> bool:
        """Say whether the task's status hides what is asked, or shows what no longer is."""
        log = self._log.state
        if log.terminal or self._agent.phase is Phase.ENDED:
            return False
        shown, ids = self._shown
        status = log.task.status.message
        ours = log.interrupted and bool(shown) and status.message_id == shown
        ours = ours and is_reserved(status)  # an agent may have used its id
        if self._pending:
            return not ours or ids != self._ids()
        if self._agent.stopping:
            return False
        if self._agent.asks is None:
            given_up = self._agent.phase is Phase.GIVEN_UP and log.turn > 0
            return ours or (log.interrupted and given_up)
        if self.messages or self._log.inbox:
            return False  # the agent is about to read an answer
        # The client whose message the author's code has taken waits for the agent's question too.
        return not log.interrupted or log.status_turn < log.turns

    def _ask_again(self) -> None:
        if self._pending:
            self.publish(self._questions())
        elif self._agent.asks is None:
            self.publish("Nothing is asked any more.")
        else:
            self._ask_for_the_agent(self._agent.asks)

    def _ask_for_the_agent(self, state: TaskState) -> None:
        log = self._log.state
        status = TaskStatus(state=state)
        for each in (*log.task.history, log.task.status.message):
            if each.message_id in log.checkpoint.message_ids:
                status.message.CopyFrom(each)
        if status.HasField("message"):
            status.message.message_id = str(workflow.uuid4())
        self._log.emit(TaskStatusUpdateEvent(status=status))

    def _questions(self) -> str:
        several = len(self._pending) > 1
        return " ".join(question(each, named=several) for each in self.open_requests)

    def _ids(self) -> list[str]:
        return [pending.request.id for pending in self._pending]

    def _state(self) -> TaskState:
        kinds = {pending.request.kind for pending in self._pending}
        if not kinds:
            return TaskState.TASK_STATE_WORKING
        if kinds == {"auth"}:
            return TaskState.TASK_STATE_AUTH_REQUIRED
        return TaskState.TASK_STATE_INPUT_REQUIRED

    def _detail_parts(self, record: Record | None) -> list[Part]:
        shown = [
            {"request": each.id, "details": each.details}
            for each in self.open_requests
            if each.details is not None
        ]
        if record is not None and record.changed_details:
            about = {"details": record.details, "before": record.before}
            shown.insert(0, {"request": record.request, **about})
        return [from_json({"data": each}, Part()) for each in shown]

    def _index_approvers(self) -> None:
        # Where nobody is named, the one who made the task is asked.
        owner = self._log.state.start.owner
        asked = [each.approvers or [owner] for each in self.open_requests]
        approvers = sorted({indexed_name(name) for names in asked for name in names if name})
        if approvers != self._approvers and self._log.state.start.search_attributes:
            self._approvers = approvers
            workflow.upsert_search_attributes([_APPROVERS.value_set(approvers)])
