"""Render the pages of the inbox."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from a2a_temporal._server.approvals import ASKS_NOTHING, Outcome
from a2a_temporal._server.records import UnreadableTaskError
from a2a_temporal._server.waiting import Person, Waiting
from a2a_temporal.inbox._answers import Typed
from a2a_temporal.inbox._conversation import (
    Asked,
    asked_of,
    conversation_of,
    pieces_of,
    state_text,
)
from a2a_temporal.inbox._details_form import FormField, differs, form_for
from a2a_temporal.inbox._sessions import form_token
from a2a_temporal.inbox.authenticators import Authenticator, FormSignIn, RedirectSignIn

logger = logging.getLogger("a2a_temporal.inbox")

SIGNED_OUT = "You were signed out. Nothing was sent, and what you typed is kept."


@dataclass(frozen=True)
class Settings:
    """What the inbox is configured with; see :func:`~a2a_temporal.inbox.create_inbox`."""

    title: str
    temporal_ui: str
    public_url: str
    page_size: int


class Views:
    """Makes responses.

    Args:
        environment: The templates.
        authenticator: Decides how people sign in.
        settings: Title and addresses.
        namespace: The Temporal namespace, for links.
    """

    def __init__(
        self,
        environment: Environment,
        authenticator: Authenticator,
        settings: Settings,
        namespace: str,
    ) -> None:
        self._environment = environment
        self._authenticator = authenticator
        self._settings = settings
        self._namespace = namespace

    @property
    def can_sign_in(self) -> bool:
        """Whether there is a page on which people sign in."""
        return isinstance(self._authenticator, (FormSignIn, RedirectSignIn))

    def render(
        self, request: Request, template: str, *, status: int = 200, **values: Any
    ) -> Response:
        """Render a template."""
        html = self._environment.get_template(template).render(
            root=request.scope.get("root_path", ""),
            site=self._settings.title,
            can_sign_out=self.can_sign_in,
            form_token=form_token(request),
            **values,
        )
        return HTMLResponse(html, status)

    def task(
        self,
        request: Request,
        person: Person,
        waiting: Waiting,
        *,
        typed: Typed | None = None,
        outcome: Outcome | None = None,
        status: int = 200,
    ) -> Response:
        """Show a task, with what somebody had typed."""
        state = waiting.state
        asked = asked_of(waiting, person)
        forms, edited = _forms(asked, typed)
        return self.render(
            request,
            "task.html",
            status=status,
            person=person,
            task_id=waiting.task_id,
            agent=state.start.agent,
            owner=state.start.owner,
            state=state_text(state),
            note=ASKS_NOTHING if state.start.plain and not state.terminal else "",
            interrupted=state.interrupted and not waiting.past,
            asked=asked,
            forms=forms,
            edited=edited,
            problems=waiting.problems,
            past=waiting.past,
            question=waiting.question if state.interrupted and not asked else "",
            conversation=conversation_of(waiting),
            artifacts=[
                (each.name or each.artifact_id, pieces_of(each))
                for each in state.task.artifacts
                if not waiting.past
            ],
            pending=[] if waiting.past else waiting.pending,
            version=waiting.version,
            token=uuid.uuid4().hex,
            typed=typed,
            typed_in_form=typed is not None and waiting.takes(typed.request),
            outcome=outcome,
            workflow_url=self._workflow_url(waiting.task_id),
        )

    def message(
        self,
        request: Request,
        status: int,
        title: str,
        text: str,
        *,
        person: Person | None = None,
        typed: Typed | None = None,
        again: str = "",
        action: str = "",
    ) -> Response:
        """Show a page that only says something.

        With ``again`` it has a button of that name, which sends what was typed: to ``action``, or
        where it was sent before.
        """
        return self.render(
            request,
            "message.html",
            status=status,
            retry=status == 503 and typed is None,
            person=person,
            title=title,
            text=text,
            typed=typed,
            again=again,
            action=action,
        )

    def unknown(self, request: Request, person: Person, typed: Typed | None = None) -> Response:
        """Say that there is no such task."""
        return self.message(
            request,
            404,
            "No such task",
            "There is no such task, it is too old to be kept, or it is not for you.",
            person=person,
            typed=typed,
        )

    def unreadable(
        self,
        request: Request,
        person: Person,
        error: UnreadableTaskError,
        typed: Typed | None = None,
    ) -> Response:
        """Say that a task cannot be read here; what is missing is for the operator to know."""
        logger.error("Task %s cannot be read: %s", error, error.__cause__)
        return self.message(
            request,
            500,
            "Cannot be read here",
            "This inbox lacks the key this task is encrypted with, or the files that are kept for "
            "it elsewhere. Tell its operator: the log says what is missing.",
            person=person,
            typed=typed,
        )

    def sign_in(
        self,
        request: Request,
        *,
        next_path: str,
        typed: Typed,
        status: int = 200,
        problem: str = "",
    ) -> Response:
        """Ask who this is; what was typed before waits in the form."""
        form = self._authenticator if isinstance(self._authenticator, FormSignIn) else None
        return self.render(
            request,
            "sign_in.html",
            status=status,
            person=None,
            fields=form.fields if form else [],
            by_form=form is not None,
            by_redirect=isinstance(self._authenticator, RedirectSignIn),
            next=next_path,
            typed=typed,
            notice=SIGNED_OUT if typed.values else "",
            problem=problem,
        )

    def _workflow_url(self, task_id: str) -> str:
        if not self._settings.temporal_ui:
            return ""
        base = self._settings.temporal_ui.rstrip("/")
        namespace = quote(self._namespace, safe="")
        return f"{base}/namespaces/{namespace}/workflows/{quote(task_id, safe='')}"


def link(request: Request, path: str, query: Mapping[str, str] | None = None) -> str:
    """Return the address of a page of the inbox, wherever it is mounted."""
    root = request.scope.get("root_path", "")
    return f"{root}{path}" + (f"?{urlencode(query)}" if query else "")


def _forms(asked: list[Asked], typed: Typed | None) -> tuple[dict[str, FormField], set[str]]:
    """Return the form of each request's details, and the requests where somebody changed some."""
    forms: dict[str, FormField] = {}
    edited: set[str] = set()
    for each in asked:
        request = each.request
        if request.details is None:
            continue
        forms[request.id] = form_for(request.schema, request.details)
        if typed is not None and typed.request == request.id:
            now = form_for(request.schema, request.details, typed=typed.values, errors=typed.errors)
            if differs(now, forms[request.id]):
                edited.add(request.id)
            forms[request.id] = now
    return forms, edited
