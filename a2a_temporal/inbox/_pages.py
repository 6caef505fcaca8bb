"""The pages of the inbox: who may see them, and what happens to an answer."""

import asyncio
import base64
import binascii
import logging
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from temporalio.service import RPCError

from a2a_temporal._log import wire
from a2a_temporal._log.answers import RefusedError
from a2a_temporal._server.approvals import (
    Approvals,
    BadPageError,
    UnknownTaskError,
    not_counted,
    outcome_in,
)
from a2a_temporal._server.records import UnreadableTaskError
from a2a_temporal._server.search_attributes import registration_command
from a2a_temporal._server.waiting import Person, View
from a2a_temporal.inbox._answers import BadAnswerError, Typed, answer_of, is_foreign, posted
from a2a_temporal.inbox._conversation import decided_text, row_of
from a2a_temporal.inbox._sessions import is_own_form
from a2a_temporal.inbox._views import Settings, Views, link
from a2a_temporal.inbox.authenticators import Authenticator, who

logger = logging.getLogger("a2a_temporal.inbox")

TEMPORAL_FAILURES = (RPCError, RuntimeError, OSError, asyncio.TimeoutError)

STALE_FORM = (
    "This page was open for longer than your session. Nothing was sent; please check and press "
    "the button again."
)
UNREACHABLE = "Temporal does not answer just now."

Endpoint = Callable[[Request, Person, Typed], Awaitable[Response]]


class Pages:
    """Endpoints.

    Args:
        approvals: What waits, and how it is answered.
        authenticator: Says who is looking.
        views: Render the pages.
        settings: Page size and addresses.
    """

    def __init__(
        self,
        approvals: Approvals,
        authenticator: Authenticator,
        views: Views,
        settings: Settings,
    ) -> None:
        self._approvals = approvals
        self._authenticator = authenticator
        self._views = views
        self._settings = settings

    def for_person(
        self, endpoint: Endpoint, *, in_background: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """Serve an endpoint to people who are signed in; others are asked to.

        Whatever goes wrong, what was typed into a form is shown again.

        Args:
            endpoint: Serves the request.
            in_background: The page's script asks, so a person would not see a redirect.
        """

        async def serve(request: Request) -> Response:
            try:
                typed = Typed(await posted(request) if request.method == "POST" else {})
            except BadAnswerError as error:
                return self._views.message(request, 400, "That did not work", str(error))
            person = await who(self._authenticator, request)
            if person is None:
                return (
                    PlainTextResponse("", 401) if in_background else self._ask_who(request, typed)
                )
            try:
                return await endpoint(request, person, typed)
            except UnknownTaskError:
                return self._views.unknown(request, person, typed)
            except UnreadableTaskError as error:
                return self._views.unreadable(request, person, error, typed)
            except BadPageError:
                return RedirectResponse(link(request, "/"), 303)
            except TEMPORAL_FAILURES as error:
                logger.error("Temporal: %s", error)
                return self._not_available(request, person, error, typed)

        return serve

    async def inbox(self, request: Request, person: Person, _: Typed) -> Response:
        """List what waits for this person."""
        view, token, first = _place(request)
        size = self._settings.page_size
        page, total = await asyncio.gather(
            self._approvals.waiting(person, view=view, size=size, token=token),
            self._approvals.count(person, view=view),
        )
        return self._views.render(
            request,
            "inbox.html",
            person=person,
            view=view,
            rows=[row_of(each, person) for each in page.tasks],
            total=max(total, len(page.tasks)),
            unreadable=page.unreadable,
            first=first,
            # Stores give a token with the last full page as well.
            next=_next_link(request, view, page.next_token, first + size)
            if first + size < total
            else "",
            start=link(request, "/", {"view": view}),
            version=page.version,
            watch=link(request, "/version/inbox", dict(request.query_params)),
        )

    async def inbox_version(self, request: Request, person: Person, _: Typed) -> Response:
        """Return what changes when the list does."""
        view, token = _place(request)[:2]
        size = self._settings.page_size
        version = await self._approvals.version(person, view=view, size=size, token=token)
        return PlainTextResponse(version)

    async def task(self, request: Request, person: Person, _: Typed) -> Response:
        """Show a task, and what became of the answer that was sent from here."""
        waiting = await self._approvals.task(person, request.path_params["task_id"])
        token = request.query_params.get("sent", "")
        outcome = None
        if token:
            outcome = outcome_in(waiting.state, token) or not_counted(waiting.state, token)
        return self._views.task(request, person, waiting, outcome=outcome)

    async def task_version(self, request: Request, person: Person, _: Typed) -> Response:
        """Return what changes when the task does."""
        waiting = await self._approvals.task(person, request.path_params["task_id"])
        return PlainTextResponse(waiting.version)

    async def file(self, request: Request, person: Person, _: Typed) -> Response:
        """Hand out the bytes of a part of an artifact, always as a download."""
        waiting = await self._approvals.task(person, request.path_params["task_id"])
        at, index = request.path_params["artifact"], request.path_params["part"]
        parts = [
            part
            for artifact in waiting.state.task.artifacts[at : at + 1]
            if not waiting.past
            for part in artifact.parts[index : index + 1]
        ]
        if not parts:
            return self._views.unknown(request, person)
        name = quote(parts[0].filename or "file", safe="")
        return Response(
            parts[0].raw,
            media_type="application/octet-stream",
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
                "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
            },
        )

    async def answer(self, request: Request, person: Person, typed: Typed) -> Response:
        """Take an answer."""
        waiting = await self._approvals.task(person, request.path_params["task_id"])
        foreign = _foreign_reason(request, self._settings.public_url, typed.values)
        if foreign:
            typed = Typed(typed.values, foreign)
            return self._views.task(request, person, waiting, typed=typed, status=403)
        try:
            answer = answer_of(waiting, typed.values)
        except BadAnswerError as error:
            typed = Typed(typed.values, str(error), error.fields)
            return self._views.task(request, person, waiting, typed=typed, status=422)
        try:
            outcome = await self._approvals.decide(person, waiting, answer)
            if not outcome.refused:
                path = f"/tasks/{quote(waiting.task_id, safe='')}"
                return RedirectResponse(link(request, path, {"sent": outcome.token}), 303)
            reason = outcome.refused
        except RefusedError as refused:
            reason = str(refused)
        waiting = await self._approvals.task(person, waiting.task_id)
        decided = decided_text(waiting.state, answer.request, person)
        if decided and not waiting.takes(answer.request):
            reason = f"{decided} Your answer changed nothing."
        else:
            reason = f"Your answer did not count. {reason}"
        typed = Typed(typed.values, reason)
        return self._views.task(request, person, waiting, typed=typed, status=409)

    def _ask_who(self, request: Request, typed: Typed) -> Response:
        here = _path_here(request)
        if not typed.values and self._views.can_sign_in:
            return RedirectResponse(link(request, "/sign-in", {"next": here}), 303)
        return self._views.sign_in(request, next_path=here, typed=typed, status=401)

    def _not_available(
        self, request: Request, person: Person, error: Exception, typed: Typed
    ) -> Response:
        if request.method == "POST":
            text = (
                f"{UNREACHABLE} Whether your answer was stored is not known. Send it again: it "
                "counts once."
            )
            return self._views.message(
                request, 503, "Not sure", text, person=person, typed=typed, again="Send it again"
            )
        text = f"{UNREACHABLE} This page tries again by itself."
        if isinstance(error, RPCError) and "A2a" in error.message:
            names = list(wire.SEARCH_ATTRIBUTES)
            command = registration_command(self._approvals.client.namespace, names)
            text = f"The namespace lacks the search attributes tasks are found by. Run: {command}"
        return self._views.message(request, 503, "Not available", text, person=person)


def _foreign_reason(request: Request, public_url: str, values: Mapping[str, str]) -> str:
    """Return why a form is not one of ours; empty when it is."""
    if is_foreign(request, public_url):
        origin = request.headers.get("origin", "another site")
        return (
            f"This form was sent from {origin}, not from here. Nothing was sent on. If that is the "
            "address of this inbox, its operator has to set the public URL."
        )
    return "" if is_own_form(request, values.get("form", "")) else STALE_FORM


def _place(request: Request) -> tuple[View, bytes, int]:
    """Return the view, the page token and the number of tasks before the page."""
    view: View = "asked" if request.query_params.get("view") == "asked" else "decide"
    text = request.query_params.get("page", "")
    after = request.query_params.get("after", "0")
    try:
        token = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadPageError("That page does not exist.") from error
    return view, token, int(after) if token and after.isdecimal() and len(after) < 9 else 0


def _next_link(request: Request, view: View, token: bytes, first: int) -> str:
    if not token:
        return ""
    text = base64.urlsafe_b64encode(token).decode().rstrip("=")
    return link(request, "/", {"view": view, "page": text, "after": str(first)})


def _path_here(request: Request) -> str:
    """Return this page as a path within the inbox."""
    raw: bytes = request.scope.get("raw_path") or quote(request.url.path).encode()
    path = raw.decode("ascii", "replace").split("?")[0]
    path = path.removeprefix(request.scope.get("root_path", "")) or "/"
    query = request.url.query
    return f"{path}?{query}" if query and request.method == "GET" else path
