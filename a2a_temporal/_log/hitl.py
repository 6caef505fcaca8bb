"""Requests and answers as A2A messages: our own data parts, plain words, and ``hitl/v1``.

``hitl/v1`` is the message extension of the kagent project (docs/approvals.md): its payload lies in
the metadata of status messages and replies, next to our own.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from a2a.types.a2a_pb2 import Message

from a2a_temporal._log.answers import (
    APPROVE_WORDS,
    REJECT_WORDS,
    Answer,
    AnswerKind,
    ContradictionError,
    RefusedError,
    check_comment,
    check_keys,
    opens_with,
    text_in,
)
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.requests import OpenRequest, canonical

HITL_EXTENSION = "https://kagent.dev/extensions/hitl/v1"

_APPROVE_DECISIONS, _REJECT_DECISIONS = ("approve", "approved"), ("reject", "rejected")
_ABOUT = ("request", "id", "comment", "reason", "details_sha256")
_SAYS_YES_OR_NO = ("approved", "decision")
_DECIDING = (*_SAYS_YES_OR_NO, *_ABOUT)


def request_payload(requests: list[OpenRequest]) -> dict[str, Any] | None:
    """Return what ``hitl/v1`` clients read of the open requests; ``None`` when it has no word."""
    approvals = [each for each in requests if each.kind == "approval"]
    if approvals:
        return {
            "type": "tool_approval_request",
            "hint": "; ".join(each.summary for each in approvals),
            "tools": [
                {
                    "id": each.id,
                    "call_id": each.id,
                    "name": each.summary,
                    "args": each.details or {},
                }
                for each in approvals
            ],
        }
    for each in requests:
        if each.kind == "input":
            question = {"question": each.summary, "choices": each.choices, "multiple": False}
            return {"type": "ask_user_request", "id": each.id, "questions": [question]}
    return None


def answers_of(message: Message, requests: list[OpenRequest], base: Answer) -> list[Answer]:
    """Read the answers a client's message gives to the open requests: all that it says, or nothing.

    Args:
        message: The client's message.
        requests: The open requests.
        base: Carries who speaks, through which channel and when.

    Raises:
        ContradictionError: The message says two things, or more than is read.
        RefusedError: The message cannot be read as an answer; nothing of it counts.
    """
    answers = _answers_in(message, requests, base)
    for holder in (message, *message.parts):
        about = to_json(holder.metadata) if holder.HasField("metadata") else {}
        if not all(_agrees(about, each) for each in answers):
            raise ContradictionError("The metadata of the message contradicts its answer.")
    return answers


def _agrees(metadata: dict[str, Any], answer: Answer) -> bool:
    """Say whether metadata, from which no answer is read, says nothing else than an answer."""
    decisions = [_decision_word(metadata[name]) for name in _SAYS_YES_OR_NO if name in metadata]
    if answer.decision == "answer":
        return metadata.get("answer", answer.answer) == answer.answer
    return all(each in (None, answer.decision) for each in decisions)


def _decision_word(value: Any) -> AnswerKind | None:
    """Return what somebody may mean who writes ``value`` as a decision."""
    word = str(value).strip().lower()
    if word in ("true", *APPROVE_WORDS):
        return "approve"
    return "reject" if word in ("false", *REJECT_WORDS) else None


def _answers_in(message: Message, requests: list[OpenRequest], base: Answer) -> list[Answer]:
    data = [canonical(to_json(part)["data"]) for part in message.parts if part.HasField("data")]
    text = "\n".join(part.text for part in message.parts if part.text).strip()
    files = [part for part in message.parts if part.HasField("raw") or part.HasField("url")]
    payload = _payload_of(message)
    if payload is None and all(each.kind == "auth" for each in requests):
        # The author's code gets the whole message, whatever it holds.
        return [_auth_answer(text, data, message, base)]
    if files and (text or data or payload is not None or not _asks(requests)):
        raise ContradictionError("The message holds a file, which is no part of an answer.")
    if payload is not None:
        if data:
            raise ContradictionError(
                f"The message answers twice: in a data part, and in {HITL_EXTENSION}."
            )
        answers = _hitl_answers(payload, requests, base)
        # Text beside the payload is for display; a yes or a no in it is not to be overruled.
        lines = {line: _decision_in(line, base) for line in text.split("\n")}
        shown = [each for each in lines.values() if each is not None]
        bare = {each.decision for each in shown if not each.request}
        opening = {word for line in lines if lines[line] is None for word in opens_with(line)}
        given = {each.decision for each in answers}
        if (bare and given != bare) or opening - given:
            raise ContradictionError(f"The message says {text!r:.80} beside another answer.")
        return _agreeing([*answers, *(each for each in shown if each.request)])
    if data:
        answers = [_data_answer(each, requests, base) for each in data]
        decisions = _decisions_in(text, requests, base)
        if text and not decisions:
            raise ContradictionError(
                f"The message answers in data, and says {text!r:.80} beside it. Send the one "
                "without the other; words for the record go into the data, as 'comment'."
            )
        return _agreeing([*answers, *decisions])
    decisions = _decisions_in(text, requests, base)
    if _asks(requests) and any(not each.request for each in decisions):
        raise RefusedError(
            f"Several requests are open, a question among them, and {text!r:.80} may be for any. "
            f"Reply with {_words_for(requests)}, or with data that names the request."
        )
    return _agreeing(decisions) if decisions else [_text_answer(text, message, requests, base)]


def _asks(requests: list[OpenRequest]) -> bool:
    return any(each.kind == "input" for each in requests)


def _payload_of(message: Message) -> dict[str, Any] | None:
    if HITL_EXTENSION in message.metadata:
        payload = to_json(message.metadata)[HITL_EXTENSION]
        if not isinstance(payload, dict):
            raise ContradictionError(f"The payload of {HITL_EXTENSION} must be an object.")
        return cast("dict[str, Any]", payload)
    if HITL_EXTENSION in message.extensions:
        raise RefusedError(f"The message names {HITL_EXTENSION} but carries no payload of it.")
    return None


def _agreeing(answers: Iterable[Answer]) -> list[Answer]:
    """Return answers to different requests, each once; a second may only repeat a bare yes or no.

    What names no request is for the one that the others name.
    """
    listed = list(answers)
    named = sorted({each.request for each in listed if each.request})
    found: dict[str, Answer] = {}
    for each in listed:
        check_comment(each.decision, each.comment)
        if not each.request and len(named) == 1:
            each = replace(each, request=named[0])
        known = found.setdefault(each.request, each)
        bare = each.decision != "answer" and each.details is None and not each.comment + each.seen
        if each != known and (each.decision != known.decision or not bare):
            raise ContradictionError(
                f"The message answers {each.request or 'the request'} twice, and not alike."
            )
    if len(found) > 1 and "" in found:
        raise ContradictionError("The message holds several answers: each must name its request.")
    return list(found.values())


def _auth_answer(text: str, data: list[Any], message: Message, base: Answer) -> Answer:
    if len(data) == 1 and isinstance(data[0], dict):
        fields = cast("dict[str, Any]", data[0])
        if "approved" in fields or "decision" in fields:
            return _data_decision(fields, base)
        request = fields.get("request")
        if isinstance(request, str):
            return replace(base, decision="answer", request=request, answer=text or fields)
    return replace(base, decision="answer", answer=text or (data or [to_json(message)])[0])


def _hitl_answers(
    payload: dict[str, Any], requests: list[OpenRequest], base: Answer
) -> list[Answer]:
    kind = payload.get("type")
    if kind == "tool_approval_response":
        check_keys(payload, ("type", "approvals"), "tool_approval_response")
        return _hitl_approvals(payload, requests, base)
    if kind == "ask_user_response":
        check_keys(payload, ("type", "id", "answers"), "ask_user_response")
        answers = payload.get("answers")
        try:
            (only,) = cast("list[dict[str, list[str]]]", answers)
            given = only["answer"]
            if not isinstance(given, list) or not all(isinstance(each, str) for each in given):  # pyright: ignore[reportUnnecessaryIsInstance] # a client sends it
                raise TypeError(given)
            check_keys(only, ("answer", "question"), "An answer of ask_user_response")
        except (TypeError, ValueError, KeyError) as error:
            raise ContradictionError(
                "ask_user_response needs answers: [{answer: [...]}], one for the one question."
            ) from error
        value = given[0] if len(given) == 1 else given
        request = text_in(payload, "id")
        if not request:
            raise RefusedError("ask_user_response must name the id of the question.")
        asked = [each.summary for each in requests if each.id == request]
        if asked and text_in(only, "question") not in ("", *asked):
            raise ContradictionError(f"{request!r} is another question than the answer names.")
        return [replace(base, decision="answer", request=request, answer=value)]
    raise ContradictionError(
        f"{HITL_EXTENSION} answers are 'tool_approval_response' or 'ask_user_response', "
        f"not {kind!r:.80}."
    )


def _hitl_approvals(
    payload: dict[str, Any], requests: list[OpenRequest], base: Answer
) -> list[Answer]:
    given = payload.get("approvals")
    if not isinstance(given, list) or not all(
        isinstance(each, dict) and isinstance(cast("dict[str, Any]", each).get("approved"), bool)
        for each in cast("list[Any]", given)
    ):
        raise ContradictionError("tool_approval_response needs approvals: [{id, approved}, …].")
    approvals = cast("list[dict[str, Any]]", given)
    asked = sorted(each.id for each in requests if each.kind == "approval")
    named = sorted(text_in(each, "id") for each in approvals)
    if named != asked:
        raise RefusedError(
            f"tool_approval_response must name every requested id exactly once: {asked}, "
            f"not {named}."
        )
    for each in approvals:
        # The rest describes the tool, as it was shown.
        check_keys(each, ("id", "approved", "rejection_reason", "call_id", "name"), "An approval")
        if each["approved"] and text_in(each, "rejection_reason"):
            raise ContradictionError(f"{each['id']!r} is approved, with a reason of rejection.")
    return [
        replace(
            base,
            decision="approve" if each["approved"] else "reject",
            request=str(each["id"]),
            comment=text_in(each, "rejection_reason"),
        )
        for each in approvals
    ]


def _data_answer(data: Any, requests: list[OpenRequest], base: Answer) -> Answer:
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if "approved" in fields or "decision" in fields:
        return _data_decision(fields, base)
    if "answer" in fields:
        check_keys(fields, ("answer", *_ABOUT), "An answer in data")
        if fields["answer"] is None:
            raise ContradictionError("'answer' is null, which is no answer.")
        return replace(_about(fields, base), decision="answer", answer=fields["answer"], seen="")
    named = fields.get("request")
    ids = {each.id for each in requests}
    request = named if isinstance(named, str) and named in ids else ""
    return replace(base, decision="answer", request=request, answer=data)


def _data_decision(fields: dict[str, Any], base: Answer) -> Answer:
    given: set[bool] = set()
    if "approved" in fields:
        approved = fields["approved"]
        if not isinstance(approved, bool):
            raise ContradictionError(f"'approved' must be true or false, got {approved!r:.80}.")
        given.add(approved)
    if "decision" in fields:
        decision = fields["decision"]
        if decision not in (*_APPROVE_DECISIONS, *_REJECT_DECISIONS):
            raise ContradictionError(
                f"'decision' must be 'approve' or 'reject', got {decision!r:.80}."
            )
        given.add(decision in _APPROVE_DECISIONS)
    if len(given) > 1:
        raise ContradictionError("'approved' and 'decision' say different things.")
    (yes,) = given
    check_keys(
        fields, (*_DECIDING, *(["details"] if yes else [])), "An approval" if yes else "A rejection"
    )
    decision = "approve" if yes else "reject"
    return replace(_about(fields, base), decision=decision, details=fields.get("details"))


def _about(fields: dict[str, Any], base: Answer) -> Answer:
    """Return what an answer in data names beside the answer itself, each under one of two names."""
    return replace(
        base,
        request=_either(fields, "request", "id"),
        comment=_either(fields, "comment", "reason"),
        seen=text_in(fields, "details_sha256"),
    )


def _either(fields: dict[str, Any], name: str, other: str) -> str:
    one, two = text_in(fields, name), text_in(fields, other)
    if one and two and one != two:
        raise ContradictionError(f"{name!r} and {other!r} say different things.")
    return one or two


def _looks_like_id(word: str) -> bool:
    return re.fullmatch(r"approval-\d+", word) is not None


def _decisions_in(text: str, requests: list[OpenRequest], base: Answer) -> list[Answer]:
    """Return the decisions that a text consists of, one a line; none where it says anything else.

    Of several lines each names its request.
    """
    if not any(each.kind == "approval" for each in requests):
        return []
    lines = [line for line in text.split("\n") if line.strip()]
    decisions = [_decision_in(line, base) for line in lines]
    whole = [each for each in decisions if each is not None]
    if len(whole) < len(decisions) or (len(whole) > 1 and not all(each.request for each in whole)):
        return []
    return whole


def _decision_in(line: str, base: Answer) -> Answer | None:
    word, _, named = line.strip(" .!").partition(" ")
    named = named.strip()
    if named and not _looks_like_id(named):
        return None
    if word.lower() in APPROVE_WORDS:
        return replace(base, decision="approve", request=named)
    return replace(base, decision="reject", request=named) if word.lower() in REJECT_WORDS else None


def _text_answer(text: str, message: Message, requests: list[OpenRequest], base: Answer) -> Answer:
    ids = {each.id for each in requests if each.kind == "approval"}
    if ids and not any(each.kind != "approval" for each in requests):
        raise RefusedError(
            f"{text!r:.80} is neither a yes nor a no. Reply with exactly {_words_for(requests)}, "
            f'or with data {{"approved": true, "request": "{min(ids)}"}}.'
        )
    return replace(base, decision="answer", answer=text or to_json(message))


def _words_for(requests: list[OpenRequest]) -> str:
    """Return the words that decide, named as far as they have to be."""
    if len(requests) == 1 and not requests[0].explicit:
        return "'approve' or 'reject'"
    ids = [each.id for each in requests if each.kind == "approval"]
    return " or ".join(f"'approve {each}' or 'reject {each}'" for each in ids)
