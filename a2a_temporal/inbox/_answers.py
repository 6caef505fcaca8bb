"""From what was posted to an answer: what the person typed is read, or kept with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from a2a_temporal._log.answers import Answer
from a2a_temporal._log.requests import OpenRequest, details_hash
from a2a_temporal._server.waiting import Waiting
from a2a_temporal.inbox._details_form import read_form

MAX_BODY_BYTES = 1_000_000
MAX_FIELDS = 1000

CHANGED_BUT_APPROVED = (
    "You changed the details but pressed “Approve”. Press “Approve with changes” to approve what "
    "you typed, or undo the changes."
)
NOTHING_CHANGED = "Nothing is changed in the details. Change something, or press “Approve”."


class BadAnswerError(Exception):
    """What was posted is no answer yet; the text says why, ``fields`` where."""

    def __init__(self, text: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.fields = dict(fields or {})


@dataclass(frozen=True)
class Typed:
    """What stands in a form that has to be shown again, and why it is shown again."""

    values: Mapping[str, str] = field(default_factory=dict[str, str])
    reason: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def request(self) -> str:
        """The request the form is for."""
        return self.values.get("request", "")

    @property
    def texts(self) -> list[str]:
        """What the person wrote in words."""
        return [text for name in ("comment", "answer") if (text := self.values.get(name, ""))]


async def posted(request: Request) -> dict[str, str]:
    """Read a form.

    Raises:
        BadAnswerError: It cannot be read.
    """
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MAX_FIELDS,
            errors="strict",
        )
    except ValueError as error:
        raise BadAnswerError("The form could not be read. Load the page again.") from error
    # Browsers send the lines of a textarea with CRLF, whatever was in it.
    return {name: text.replace("\r\n", "\n") for name, text in pairs}


def is_foreign(request: Request, public_url: str) -> bool:
    """Say whether a browser posted this from a page of another site."""
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    if origin is None:
        return False
    own = {_origin(f"{request.url.scheme}://{request.headers.get('host', '')}")}
    if public_url:
        own = {_origin(public_url)}
    return _origin(origin) not in own


def answer_of(waiting: Waiting, values: Mapping[str, str]) -> Answer:
    """Read an answer.

    Raises:
        BadAnswerError: Something is missing or cannot be read.
    """
    answer = Answer(
        "answer",
        request=values.get("request", ""),
        channel="inbox",
        comment=values.get("comment", "").strip(),
        token=values.get("token", ""),
    )
    match values.get("do", "answer" if "choice" in values else ""):
        case "answer":
            return replace(answer, answer=_answer_text(values), comment="")
        case "done":
            return replace(answer, answer="done")
        case "comment":
            if not answer.comment:
                raise BadAnswerError(
                    "Write a comment first.", {"comment": "Nothing is written here."}
                )
            return replace(answer, decision="comment")
        case "reject":
            return replace(answer, decision="reject", seen=values.get("seen", ""))
        case "approve" | "change" as pressed:
            approval = replace(answer, decision="approve", seen=values.get("seen", ""))
            return _approval(approval, pressed, _request(waiting, answer.request), values)
        case _:
            raise BadAnswerError("Press one of the buttons.")


def _approval(
    answer: Answer, pressed: str, request: OpenRequest | None, values: Mapping[str, str]
) -> Answer:
    if request is None or request.details is None:
        return answer
    details, errors = read_form(request.schema, request.details, values)
    changed = bool(errors) or details_hash(details) != details_hash(request.details)
    if pressed == "approve":
        if changed:
            raise BadAnswerError(CHANGED_BUT_APPROVED, errors)
        return answer
    if errors:
        raise BadAnswerError("Some of the changed details cannot be read: see below.", errors)
    if not changed:
        raise BadAnswerError(NOTHING_CHANGED)
    return replace(answer, details=details)


def _answer_text(values: Mapping[str, str]) -> str:
    text = values.get("choice", values.get("answer", "")).strip()
    if not text:
        raise BadAnswerError("Write an answer first.", {"answer": "Nothing is written here."})
    return text


def _request(waiting: Waiting, request_id: str) -> OpenRequest | None:
    return next((each for each in waiting.requests if each.id == request_id), None)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    try:
        port = parts.port
    except ValueError:
        port = None
    return f"{parts.scheme}://{parts.hostname}:{port or standard}"
