"""Sign in and out; a person who was signed out while typing gets the page and the text back."""

import logging
import re
from collections.abc import Mapping
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from a2a_temporal._server.approvals import Approvals, UnknownTaskError
from a2a_temporal._server.records import UnreadableTaskError
from a2a_temporal._server.waiting import Person
from a2a_temporal.inbox._answers import BadAnswerError, Typed, is_foreign, posted
from a2a_temporal.inbox._pages import TEMPORAL_FAILURES, UNREACHABLE
from a2a_temporal.inbox._sessions import end, fits, is_own_form, renew
from a2a_temporal.inbox._views import Views, link
from a2a_temporal.inbox.authenticators import (
    Authenticator,
    FormSignIn,
    RedirectSignIn,
    SignInError,
    who,
)

logger = logging.getLogger("a2a_temporal.inbox")

_KEPT = "kept:"
_NEXT = "next"
_TASK_PATH = "/tasks/"
BACK_AGAIN = "You are signed in again. Nothing was sent yet: check and press the button again."
TOO_MUCH_TO_KEEP = (
    "What the sign-in says of you, your groups above all, is more than browsers keep in a cookie. "
    "The operator has to have fewer groups named: those that are asked to decide."
)


class SignIn:
    """Endpoints of signing in and out.

    Args:
        views: Render the pages.
        authenticator: Knows people.
        approvals: For the task that somebody goes back to.
        public_url: The URL people use; empty to take it from the request.
    """

    def __init__(
        self, views: Views, authenticator: Authenticator, approvals: Approvals, public_url: str
    ) -> None:
        self._views = views
        self._authenticator = authenticator
        self._approvals = approvals
        self._public_url = public_url

    async def page(self, request: Request) -> Response:
        """Show the form, or the way to the place where people sign in."""
        next_path = local_path(request.query_params.get(_NEXT, "/"))
        return self._views.sign_in(request, next_path=next_path, typed=Typed())

    async def sign_in(self, request: Request) -> Response:
        """Sign in with the form."""
        try:
            values = await posted(request)
        except BadAnswerError as error:
            return self._views.message(request, 400, "That did not work", str(error))
        kept = {
            name.removeprefix(_KEPT): text
            for name, text in values.items()
            if name.startswith(_KEPT)
        }
        next_path = local_path(values.get(_NEXT, "/"))
        problem = await self._problem(request, values)
        if problem:
            return self._views.sign_in(
                request, next_path=next_path, typed=Typed(kept), status=401, problem=problem
            )
        if kept and next_path.startswith(_TASK_PATH):
            return await self._back_to_task(request, next_path, kept)
        return RedirectResponse(f"{request.scope.get('root_path', '')}{next_path}", 303)

    async def begin(self, request: Request) -> Response:
        """Go to the place where people sign in."""
        if not isinstance(self._authenticator, RedirectSignIn):
            return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in", 303)
        next_path = local_path(request.query_params.get(_NEXT, "/"))
        renew(request)
        request.session[_NEXT] = next_path
        try:
            away = await self._authenticator.begin(request, self._callback(request))
        except SignInError as error:
            return self._views.sign_in(
                request, next_path=next_path, typed=Typed(), status=503, problem=str(error)
            )
        if not fits(request):
            request.session[_NEXT] = "/"
        return away

    async def callback(self, request: Request) -> Response:
        """Come back from there."""
        next_path = local_path(str(request.session.get(_NEXT, "/")))
        if isinstance(self._authenticator, RedirectSignIn):
            try:
                await self._authenticator.finish(request)
                _check_size(request)
            except SignInError as error:
                return self._views.sign_in(
                    request, next_path=next_path, typed=Typed(), status=401, problem=str(error)
                )
        return RedirectResponse(f"{request.scope.get('root_path', '')}{next_path}", 303)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        try:
            values = await posted(request)
        except BadAnswerError:
            values = {}
        if not is_foreign(request, self._public_url) and is_own_form(
            request, values.get("form", "")
        ):
            # Only a session that somebody is signed in with is worth remembering.
            signed_in = await who(self._authenticator, request) is not None
            (end if signed_in else renew)(request)
        return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in", 303)

    async def _problem(self, request: Request, values: Mapping[str, str]) -> str:
        """Sign in; return what keeps the person out."""
        if not isinstance(self._authenticator, FormSignIn):
            return "There is no form to sign in with here."
        if is_foreign(request, self._public_url):
            return "This form came from another site."
        if not is_own_form(request, values.get("form", "")):
            return "This page was open for too long. Please try again."
        renew(request)
        try:
            await self._authenticator.sign_in(request, values)
            _check_size(request)
        except SignInError as error:
            return str(error)
        return ""

    async def _back_to_task(
        self, request: Request, next_path: str, kept: dict[str, str]
    ) -> Response:
        person = await who(self._authenticator, request)
        task_id = unquote(next_path.removeprefix(_TASK_PATH).split("?")[0])
        if person is None:
            return self._views.sign_in(request, next_path=next_path, typed=Typed(kept), status=401)
        typed = Typed(kept, BACK_AGAIN)
        try:
            waiting = await self._approvals.task(person, task_id)
        except UnknownTaskError:
            return self._views.unknown(request, person, typed)
        except UnreadableTaskError as error:
            return self._views.unreadable(request, person, error, typed)
        except TEMPORAL_FAILURES as error:
            logger.error("Temporal: %s", error)
            return self._not_available(request, person, next_path, typed)
        return self._views.task(request, person, waiting, typed=typed)

    def _not_available(
        self, request: Request, person: Person, next_path: str, typed: Typed
    ) -> Response:
        return self._views.message(
            request,
            503,
            "Not available",
            f"You are signed in again. {UNREACHABLE} Nothing was sent yet.",
            person=person,
            typed=typed,
            again="Send it",
            action=link(request, next_path.split("?")[0]),
        )

    def _callback(self, request: Request) -> str:
        if self._public_url:
            return f"{self._public_url.rstrip('/')}/sign-in/callback"
        base = f"{request.url.scheme}://{request.url.netloc}"
        return f"{base}{request.scope.get('root_path', '')}/sign-in/callback"


def _check_size(request: Request) -> None:
    """Let nobody in whose browser would drop the cookie, and send them to sign in for ever.

    Raises:
        SignInError: It would.
    """
    if not fits(request):
        renew(request)
        raise SignInError(TOO_MUCH_TO_KEEP)


def local_path(path: str) -> str:
    """Return a path that stays within the inbox, whatever was asked for."""
    if not path.startswith("/") or path.startswith("//") or re.search(r"[\\\x00-\x20\x7f]", path):
        return "/"
    return path
