"""What the inbox lets in and says without a user, without Temporal, and to other sites."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from temporalio.client import Client

from a2a_temporal.inbox import Anonymous, BearerTokens, Person, ProxyHeaders, create_inbox
from a2a_temporal.inbox._sign_in import local_path
from tests.support.inbox import Visitor

TOKENS = BearerTokens({"ann-secret-token": Person("ann")})


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    """A client that has never connected: whatever asks Temporal fails."""
    yield await Client.connect("127.0.0.1:1", lazy=True)


@pytest.mark.parametrize(
    "path",
    ["/", "/tasks/x", "/tasks/a%2Fb", "/files/0/x/0", "/version/inbox", "/version/tasks/x"],
)
async def test_no_page_works_without_a_user(client: Client, path: str) -> None:
    for authenticator in (TOKENS, ProxyHeaders(["10.9.9.9"]), Anonymous("ann")):
        app = create_inbox(client, authenticator=authenticator)
        async with Visitor(app) as visitor:
            answer = await visitor.http.get(path, follow_redirects=False)
            assert answer.status_code in (303, 401)
            if answer.status_code == 303:
                assert answer.headers["location"].startswith("/sign-in?next=")
            sent = await visitor.http.post("/tasks/x", data={"do": "approve"})
            assert sent.status_code == 401


async def test_probes_and_static_files_work_without_one(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS)) as visitor:
        assert (await visitor.get("/healthz")).status == 200
        assert (await visitor.get("/readyz")).status == 503
        style = await visitor.get("/static/inbox.css")
        assert style.status == 200
        assert "max-age" in style.headers["cache-control"]


async def test_every_answer_forbids_scripts_frames_and_caches(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS)) as visitor:
        for path in ("/", "/sign-in", "/nowhere", "/healthz"):
            headers = (await visitor.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"


async def test_the_session_cookie_is_of_no_use_to_scripts_and_other_sites(client: Client) -> None:
    app = create_inbox(client, authenticator=TOKENS, public_url="https://inbox.example")
    async with Visitor(app) as visitor:
        cookie = (await visitor.http.get("/sign-in")).headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Secure" in cookie


async def test_a_forged_or_foreign_cookie_is_no_session(client: Client) -> None:
    one = create_inbox(client, authenticator=TOKENS, secret="0123456789abcdef" * 2)
    other = create_inbox(client, authenticator=TOKENS, secret="fedcba9876543210" * 2)
    async with Visitor(one, token="ann-secret-token") as visitor:
        good = visitor.http.cookies["a2a_inbox"]
        for cookie in (good[:-2] + "AA", good.split(".")[0], "", "x" * 4000):
            async with Visitor(one) as thief:
                thief.http.cookies.set("a2a_inbox", cookie)
                assert "Sign in" in (await thief.get("/")).text
        async with Visitor(other) as elsewhere:
            elsewhere.http.cookies.set("a2a_inbox", good)
            assert "Sign in" in (await elsewhere.get("/")).text


async def test_with_temporal_away_a_page_says_so_and_tries_again(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS), token="ann-secret-token") as ann:
        page = await ann.get("/")
        assert page.status == 503
        assert "Temporal does not answer" in page.text
        assert "data-retry" in page.html


async def test_an_answer_that_could_not_be_sent_can_be_sent_again_as_it_was(
    client: Client,
) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS), token="ann-secret-token") as ann:
        form = (await ann.get("/sign-in")).forms[-1]
        form.action = "/tasks/some-task"
        typed = {"request": "approval-1", "token": "t1", "comment": "Only <b>this</b> once\nok"}
        page = await ann.send(form, do="approve", **typed)
        assert page.status == 503
        again = page.form_of("approval-1")
        assert {name: again.values[name] for name in typed} == typed
        assert again.values["do"] == "approve"


async def test_what_was_typed_outlives_signing_in_while_temporal_is_away(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS)) as visitor:
        form = (await visitor.get("/sign-in")).forms[-1]
        form.action = "/tasks/a%2Fb"
        typed = {"request": "approval-1", "token": "t1", "comment": "Only <b>this</b> once\nok"}
        page = await visitor.send(form, do="approve", **typed)
        assert page.status == 401
        page = await visitor.send(page.forms[-1], token="ann-secret-token")
        assert page.status == 503
        assert "You are signed in again. Temporal does not answer just now." in page.text
        for _ in range(2):
            again = page.form_of("approval-1")
            assert {name: again.values[name] for name in typed} == typed
            assert again.values["do"] == "approve"
            again.action = again.action or page.path
            assert again.action == "/tasks/a%2Fb"
            page = await visitor.send(again)
            assert page.status == 503


async def test_signing_in_from_another_sites_form_is_refused(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS)) as visitor:
        form = (await visitor.get("/sign-in")).forms[-1]
        page = await visitor.send(form, origin="https://evil.example", token="ann-secret-token")
        assert page.status == 401
        assert "another site" in page.text
        form.values["form"] = "guessed"
        assert (await visitor.send(form, token="ann-secret-token")).status == 401


async def test_after_signing_in_people_are_where_they_wanted_to_be(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS)) as visitor:
        page = await visitor.get("/tasks/a%2Fb?sent=1")
        form = page.forms[-1]
        assert form.values["next"] == "/tasks/a%2Fb?sent=1"
        landed = await visitor.send(form, token="ann-secret-token")
        assert landed.path == "/tasks/a%2Fb?sent=1"


@pytest.mark.parametrize(
    "path",
    ["https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "evil", ""],
)
def test_nobody_is_sent_elsewhere_after_signing_in(path: str) -> None:
    assert local_path(path) == "/"


async def test_all_links_stay_under_the_prefix_it_is_mounted_at(client: Client) -> None:
    app = Starlette(routes=[Mount("/people/inbox", create_inbox(client, authenticator=TOKENS))])
    async with Visitor(app) as visitor:
        page = await visitor.get("/people/inbox/tasks/x")
        assert page.path == "/people/inbox/sign-in?next=%2Ftasks%2Fx"
        assert page.forms[-1].action == "/people/inbox/sign-in"
        assert (await visitor.get("/people/inbox/static/inbox.js")).status == 200
        cookie = (await visitor.http.get("/people/inbox/sign-in")).cookies
        assert not cookie  # the first page has set it already
        landed = await visitor.send(page.forms[-1], token="ann-secret-token")
        assert landed.path == "/people/inbox/tasks/x"
        assert all(link.startswith("/people/inbox/") for link in landed.links if link != "#main")


async def test_a_form_that_is_too_large_is_refused(client: Client) -> None:
    async with Visitor(create_inbox(client, authenticator=TOKENS), token="ann-secret-token") as ann:
        answer = await ann.http.post("/tasks/x", data={"comment": "x" * 1_100_000})
        assert answer.status_code == 413


@pytest.mark.parametrize(
    "wrong",
    [{"secret": "short"}, {"page_size": 0}, {"temporal_ui": "javascript:alert(1)"}],
)
async def test_wrong_settings_are_named(client: Client, wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        create_inbox(client, authenticator=TOKENS, **wrong)  # pyright: ignore[reportArgumentType] # wrong on purpose


async def test_signing_out_ends_the_session_for_copies_of_its_cookie_too(client: Client) -> None:
    app = create_inbox(client, authenticator=TOKENS)
    async with Visitor(app) as visitor, Visitor(app) as thief, Visitor(app) as other:
        form = (await visitor.get("/sign-in")).forms[-1]
        signed_in = await visitor.send(form, token="ann-secret-token")
        copies = [dict(visitor.http.cookies)]
        other_form = (await other.get("/sign-in")).forms[-1]
        await other.send(other_form, token="ann-secret-token")
        assert signed_in.status == 503, "Temporal is away, and ann is signed in"
        copies.append(dict(visitor.http.cookies))
        out = next(form for form in signed_in.forms if form.action.endswith("/sign-out"))
        assert (await visitor.send(out)).path == "/sign-in"
        for copy in copies:
            thief.http.cookies.clear()
            thief.http.cookies.update(copy)
            assert (await thief.get("/")).path.startswith("/sign-in")
        assert (await other.get("/")).status == 503, "another session of ann goes on"


async def test_somebody_without_a_name_is_not_signed_in(client: Client) -> None:
    class Nameless:
        async def authenticate(self, request: Request) -> Person:
            return Person(" ", verified=True, operator=True)

    async with Visitor(create_inbox(client, authenticator=Nameless())) as visitor:
        assert (await visitor.get("/")).status == 401
        assert (await visitor.get("/version/inbox")).status == 401
