"""Somebody at the inbox without a browser: pages are read, forms are sent as a browser would."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import TracebackType
from urllib.parse import quote

import httpx
from starlette.types import ASGIApp

ORIGIN = "http://inbox.test"


@dataclass
class Form:
    """A form with what its inputs hold."""

    action: str
    values: dict[str, str] = field(default_factory=dict[str, str])
    buttons: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class Page(HTMLParser):
    """A page as somebody reads it: its text, its forms, its links."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        self.status = response.status_code
        self.path = response.url.raw_path.decode()
        self.html = response.text
        self.headers = response.headers
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self._words: list[str] = []
        self._area = self._select = ""
        self.feed(response.text)

    @property
    def text(self) -> str:
        """The visible words, spaces folded."""
        return " ".join(" ".join(self._words).split())

    def form_of(self, request: str) -> Form:
        """Return the form that answers a request."""
        return next(form for form in self.forms if form.values.get("request", "") == request)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif tag == "form":
            self.forms.append(Form(given.get("action", "")))
        elif self.forms:
            self._note_input(tag, given)

    def _note_input(self, tag: str, given: dict[str, str]) -> None:
        form, name = self.forms[-1], given.get("name", "")
        if tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            form.values[name] = given.get("value", "")
        elif tag == "textarea" and name:
            form.values[name] = ""
            self._area = name
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            form.values[self._select] = given.get("value", "")
        elif tag == "button" and name:
            form.buttons.append((name, given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a tag."""
        if tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        """Note words."""
        if self._area:
            self.forms[-1].values[self._area] += data.removeprefix("\n")
        else:
            self._words.append(data)


class Visitor:
    """A browser without a screen.

    Args:
        app: The inbox.
        token: Signs in with it, when given.
        address: Where the visitor's requests come from.
    """

    def __init__(self, app: ASGIApp, *, token: str = "", address: str = "10.1.2.3") -> None:
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app, client=(address, 40000)),
            base_url=ORIGIN,
            follow_redirects=True,
            timeout=30,
        )
        self._token = token

    async def __aenter__(self) -> "Visitor":
        if self._token:
            await self.sign_in({"token": self._token})
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.aclose()

    async def get(self, path: str, **headers: str) -> Page:
        """Load a page."""
        return Page(await self.http.get(path, headers=headers))

    async def task(self, task_id: str) -> Page:
        """Load the page of a task."""
        return await self.get(f"/tasks/{quote(task_id, safe='')}")

    async def sign_in(self, values: dict[str, str]) -> Page:
        """Fill in the sign-in form."""
        page = await self.get("/sign-in")
        return await self.send(page.forms[-1], **values)

    async def send(self, form: Form, *, origin: str = ORIGIN, **typed: str) -> Page:
        """Send a form, as it is but for what was typed."""
        values = {name: text.replace("\n", "\r\n") for name, text in form.values.items()} | typed
        headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        if origin != ORIGIN:
            headers["Sec-Fetch-Site"] = "cross-site"
        return Page(await self.http.post(form.action or "/", data=values, headers=headers))

    def forget(self) -> None:
        """Lose the session, as when it expires."""
        self.http.cookies.clear()
