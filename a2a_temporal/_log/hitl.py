"""Requests and answers as A2A messages: our own data parts, plain words, and ``hitl/v1``.

``hitl/v1`` is the message extension of the kagent project (docs/approvals.md): its payload lies in
the metadata of status messages and replies, next to our own.
"""

import re
from dataclasses import replace
from typing import Any, cast

from a2a.types.a2a_pb2 import Message

from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.requests import Answer, OpenRequest, RefusedError, canonical

HITL_EXTENSION = "https://kagent.dev/extensions/hitl/v1"

APPROVE_WORDS = frozenset({"approve", "approved", "yes"})
APPROVE_DECISIONS, REJECT_DECISIONS = ("approve", "approved"), ("reject", "rejected")
REJECT_WORDS = frozenset({"reject", "rejected", "deny", "denied", "no"})


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
    """Read the answers a client's message gives to the open requests.

    Args:
        message: The client's message.
        requests: The open requests.
        base: Carries who speaks, through which door and when.

    Raises:
        RefusedError: The message cannot be read as an answer; nothing of it counts.
    """
    if HITL_EXTENSION in message.metadata:
        payload = to_json(message.metadata)[HITL_EXTENSION]
        if not isinstance(payload, dict):
            raise RefusedError(f"The payload of {HITL_EXTENSION} must be an object.")
        return _hitl_answers(cast("dict[str, Any]", payload), requests, base)
    if HITL_EXTENSION in message.extensions:
        raise RefusedError(f"The message names {HITL_EXTENSION} but carries no payload of it.")
    for part in message.parts:
        if part.HasField("data"):
            return [_data_answer(canonical(to_json(part)["data"]), base)]
    text = "\n".join(part.text for part in message.parts if part.text).strip()
    return [_text_answer(text, message, requests, base)]


def _hitl_answers(
    payload: dict[str, Any], requests: list[OpenRequest], base: Answer
) -> list[Answer]:
    kind = payload.get("type")
    if kind == "tool_approval_response":
        return _hitl_approvals(payload, requests, base)
    if kind == "ask_user_response":
        answers = payload.get("answers")
        try:
            (only,) = cast("list[dict[str, list[str]]]", answers)
            given = only["answer"]
            if not isinstance(given, list):  # pyright: ignore[reportUnnecessaryIsInstance] # a client sends it
                raise TypeError(given)
        except (TypeError, ValueError, KeyError) as error:
            raise RefusedError(
                "ask_user_response needs answers: [{answer: [...]}], one for the one question."
            ) from error
        value = given[0] if len(given) == 1 else given
        request = str(payload.get("id", ""))
        return [replace(base, verdict="answer", request=request, answer=value)]
    raise RefusedError(
        f"{HITL_EXTENSION} answers are 'tool_approval_response' or 'ask_user_response', "
        f"not {kind!r}."
    )


def _hitl_approvals(
    payload: dict[str, Any], requests: list[OpenRequest], base: Answer
) -> list[Answer]:
    given = payload.get("approvals")
    if not isinstance(given, list) or not all(
        isinstance(each, dict) and isinstance(cast("dict[str, Any]", each).get("approved"), bool)
        for each in cast("list[Any]", given)
    ):
        raise RefusedError("tool_approval_response needs approvals: [{id, approved}, …].")
    approvals = cast("list[dict[str, Any]]", given)
    asked = sorted(each.id for each in requests if each.kind == "approval")
    named = sorted(str(each.get("id", "")) for each in approvals)
    if named != asked:
        raise RefusedError(
            f"tool_approval_response must name every requested id exactly once: {asked}, "
            f"not {named}."
        )
    return [
        replace(
            base,
            verdict="approve" if each["approved"] else "reject",
            request=str(each["id"]),
            comment=str(each.get("rejection_reason", "")),
        )
        for each in approvals
    ]


def _data_answer(data: Any, base: Answer) -> Answer:
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    request = str(fields.get("request", fields.get("id", "")))
    comment = str(fields.get("comment", fields.get("reason", "")))
    decision = fields.get("approved", fields.get("decision"))
    if decision is True or decision in APPROVE_DECISIONS:
        return replace(
            base, verdict="approve", request=request, comment=comment, details=fields.get("details")
        )
    if decision is False or decision in REJECT_DECISIONS:
        return replace(base, verdict="reject", request=request, comment=comment)
    if decision is not None:
        raise RefusedError(f"'approved' must be true or false, got {decision!r:.80}.")
    return replace(
        base, verdict="answer", request=request, comment=comment, answer=fields.get("answer", data)
    )


def _looks_like_id(word: str) -> bool:
    return re.fullmatch(r"approval-\d+", word) is not None


def _text_answer(text: str, message: Message, requests: list[OpenRequest], base: Answer) -> Answer:
    word, _, named = text.strip(" .!").partition(" ")
    ids = {each.id for each in requests if each.kind == "approval"}
    if ids and (not named or _looks_like_id(named.strip())):
        if word.lower() in APPROVE_WORDS:
            return replace(base, verdict="approve", request=named.strip())
        if word.lower() in REJECT_WORDS:
            return replace(base, verdict="reject", request=named.strip())
    if ids and not any(each.kind != "approval" for each in requests):
        raise RefusedError(
            f"{text!r:.80} is neither a yes nor a no. Reply with exactly {_words_for(requests)}, "
            f'or with data {{"approved": true, "request": "{min(ids)}"}}.'
        )
    return replace(base, verdict="answer", answer=text or to_json(message))


def _words_for(requests: list[OpenRequest]) -> str:
    """Return the words that decide, named as far as they have to be."""
    if len(requests) == 1 and not requests[0].explicit:
        return "'approve' or 'reject'"
    return " or ".join(f"'approve {each.id}' or 'reject {each.id}'" for each in requests)
