"""The inbox as people see it: in a real browser."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from a2a.types import Task
from playwright.async_api import Browser, Page, expect

from a2a_temporal.testing import state_of
from tests.integration.inbox.conftest import Office
from tests.support.browser import chromium, running_browser
from tests.support.serving import served

pytestmark = pytest.mark.skipif(chromium() is None, reason="no chromium: apt-get install chromium")

EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> and so on "
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => {
    const part = each / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!own || !node.checkVisibility() || node.closest(".skip, .visually-hidden")) continue;
    const [one, two] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName} ${node.className} ${node.textContent} ${ratio}`);
  }
  return poor;
}"""


class Desk:
    """Somebody's browser: pages that share a session, and what went wrong in them."""

    def __init__(self, browser: Browser, office: Office, url: str) -> None:
        self.browser = browser
        self.office = office
        self.url = url
        self.problems: list[str] = []

    async def sign_in(self, who: str, **options: Any) -> Page:
        """Open a browser of one's own and sign in."""
        context = await self.browser.new_context(**options)
        context.set_default_timeout(15_000)
        page = self._watched(await context.new_page())
        await page.goto(self.url)
        await page.get_by_label("Access token").fill(self.office.token(who))
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        return page

    async def tab(self, page: Page) -> Page:
        """Open another tab beside a page."""
        return self._watched(await page.context.new_page())

    def task(self, task: Task) -> str:
        """Return the address of a task's page."""
        return f"{self.url}/tasks/{task.id}"

    def _watched(self, page: Page) -> Page:
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.problems.append(message.text)
                if message.type == "error" and "status of 4" not in message.text
                else None
            ),
        )
        page.on("dialog", lambda dialog: self.problems.append(f"a dialog: {dialog.message}"))
        return page


@pytest_asyncio.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with running_browser() as browser:
        yield browser


@pytest_asyncio.fixture
async def desk(browser: Browser, office: Office) -> AsyncIterator[Desk]:
    async with served(office.inbox) as url:
        desk = Desk(browser, office, url)
        yield desk
        for context in browser.contexts:
            await context.close()
        assert not desk.problems


async def test_keys_lead_from_the_list_to_an_approval(desk: Desk, office: Office) -> None:
    tasks = [await office.ask(summary=f"Pay number {number}?") for number in (1, 2)]
    page = await desk.sign_in("ann")
    await expect(page.locator("a.row")).to_have_count(2)
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await page.keyboard.press("j")
    await expect(page.locator("a.row").nth(1)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Pay number 1?")).to_be_visible()
    await page.keyboard.press("c")
    await page.keyboard.type("all right")
    await page.keyboard.press("Escape")
    await page.keyboard.press("r")
    await expect(page.get_by_role("button", name="Reject")).to_be_focused()
    await page.keyboard.press("a")
    await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("You approved.")).to_be_visible()
    (record,) = await office.agent.records(tasks[0])
    assert (record.decision, record.comment) == ("approve", "all right")
    await page.keyboard.press("u")
    await expect(page.locator("a.row")).to_have_count(1)
    await page.keyboard.press("r")
    await expect(page.get_by_role("button", name="Reject")).to_be_focused()


async def test_the_enter_key_in_an_input_sends_nothing(desk: Desk, office: Office) -> None:
    task = await office.ask()
    page = await desk.sign_in("ann")
    await page.goto(desk.task(task))
    await page.get_by_text("Change the details").click()
    await page.get_by_label("Payee").fill("Somebody")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Payee")).to_have_value("Somebody")
    assert page.url == desk.task(task)
    assert not await office.agent.records(task)


async def test_two_tabs_answer_the_same_request(desk: Desk, office: Office) -> None:
    task = await office.ask()
    one = await desk.sign_in("ann")
    two = await desk.tab(one)
    await one.goto(desk.task(task))
    await two.goto(desk.task(task))
    await two.get_by_label("Comment").fill("I am still thinking")
    await one.get_by_role("button", name="Approve", exact=True).click()
    await expect(one.get_by_text("You approved.")).to_be_visible()
    await two.bring_to_front()
    told = two.locator("main").get_by_text("answered or changed while you were writing")
    await expect(told).to_be_visible()
    await expect(two.get_by_label("Comment")).to_have_value("I am still thinking")
    await two.get_by_role("button", name="Reject").click()
    await expect(two.get_by_role("alert")).to_contain_text("You have already approved this")
    await expect(two.get_by_label("What you typed").last).to_have_value("I am still thinking")
    assert len(await office.agent.records(task)) == 1


async def test_a_long_text_with_a_script_is_only_text(desk: Desk, office: Office) -> None:
    task = await office.ask(summary=EVIL, artifact=EVIL * 200)
    page = await desk.sign_in("ann")
    await expect(page.locator("a.row")).to_contain_text("<script>window.pwned")
    await page.locator("a.row").click()
    await page.get_by_label("Comment").fill(EVIL)
    await page.get_by_role("button", name="Comment only").click()
    await expect(page.locator(".conversation")).to_contain_text("<script>window.pwned")
    await page.get_by_text("show all").first.click()
    assert await page.evaluate("window.pwned") is None
    assert await page.locator("main img, main script").count() == 0
    assert len(await office.agent.records(task)) == 1


async def test_an_expired_session_costs_no_word(desk: Desk, office: Office) -> None:
    task = await office.ask()
    page = await desk.sign_in("ann")
    await page.goto(desk.task(task))
    await page.get_by_label("Comment").fill("two\nlines")
    await page.context.clear_cookies()
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.get_by_text("You were signed out. Nothing was sent")).to_be_visible()
    await page.get_by_label("Access token").fill(office.token("ann"))
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was sent yet")
    await expect(page.get_by_label("Comment")).to_have_value("two\nlines")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.get_by_text("You approved.")).to_be_visible()
    (record,) = await office.agent.records(task)
    assert record.comment == "two\nlines"


async def test_what_was_typed_is_there_after_leaving_the_page(desk: Desk, office: Office) -> None:
    task = await office.ask()
    page = await desk.sign_in("ann")
    await page.goto(desk.task(task))
    await page.get_by_text("Change the details").click()
    await page.get_by_label("Payee").fill("Somebody else")
    await page.get_by_label("Comment").fill("a draft")
    await page.goto(desk.url)
    await page.goto(desk.task(task))
    await expect(page.get_by_label("Comment")).to_have_value("a draft")
    await expect(page.get_by_label("Payee")).to_have_value("Somebody else")
    await page.get_by_role("link", name="Undo the changes").click()
    await expect(page.get_by_label("Comment")).to_have_value("a draft")
    await expect(page.locator("details.edit")).not_to_have_attribute("open", "")
    await expect(page.locator("[name='details.payee']")).to_have_value("X")


async def test_pages_update_themselves(desk: Desk, office: Office) -> None:
    page = await desk.sign_in("ann")
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    task = await office.ask(quorum=2)
    await expect(page.get_by_text("1 request waits for an answer")).to_be_visible()
    await page.locator("a.row").click()
    await expect(page.get_by_text("0 of 2 approvals")).to_be_visible()
    await office.agent.approve(task, by=office.name("bob"), groups=[office.group])
    await expect(page.get_by_text("1 of 2 approvals")).to_be_visible()


async def test_a_phone_needs_no_sideways_scrolling(desk: Desk, office: Office) -> None:
    task = await office.ask(summary=EVIL + "Donaudampfschifffahrt" * 12, artifact="y" * 900)
    page = await desk.sign_in("ann", viewport={"width": 390, "height": 844}, has_touch=True)
    for address in (desk.url, desk.task(task), f"{desk.url}/sign-in"):
        await page.goto(address)
        for summary in await page.locator("details > summary").all():
            await summary.click()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    await page.goto(desk.task(task))
    for button in await page.locator(".actions button").all():
        box = await button.bounding_box()
        assert box is not None
        assert box["height"] >= 44


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everything_can_be_read_in_light_and_dark(
    desk: Desk, office: Office, scheme: Any
) -> None:
    task = await office.ask(quorum=2)
    await office.agent.approve(task, by=office.name("bob"), groups=[office.group], comment="yes")
    page = await desk.sign_in("ann", color_scheme=scheme)
    colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    first = int(re.findall(r"\d+", colour)[0])
    assert first < 60 if scheme == "dark" else first > 200
    for address in (desk.url, desk.task(task)):
        await page.goto(address)
        assert await page.evaluate(CONTRAST) == []
    await page.get_by_text("Change the details").click()
    await page.get_by_label("Amount").fill("x")
    await page.get_by_role("button", name="Approve with changes").click()
    await expect(page.get_by_role("alert")).to_be_focused()
    assert await page.evaluate(CONTRAST) == []


async def test_it_works_without_a_script(desk: Desk, office: Office) -> None:
    task = await office.ask()
    page = await desk.sign_in("ann", java_script_enabled=False)
    await page.goto(desk.task(task))
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.get_by_text("You approved.")).to_be_visible()
    assert state_of(await office.agent.settled(task)) == "completed"


async def test_every_control_has_a_name(desk: Desk, office: Office) -> None:
    task = await office.ask()
    page = await desk.sign_in("ann")
    await page.goto(desk.task(task))
    await page.get_by_text("Change the details").click()
    nameless = await page.evaluate(
        """() => [...document.querySelectorAll("input:not([type=hidden]), textarea, select")]
          .filter((each) => !each.hidden && !each.labels.length && !each.ariaLabel)
          .map((each) => each.outerHTML)"""
    )
    assert nameless == []
    assert await page.locator("html[lang] main h1").count() == 1
