"""The list: what waits for whom, page by page, and what tells a page that it is stale."""

import re
from collections.abc import Awaitable

from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.waiting import Person
from tests.integration.inbox.conftest import Office
from tests.support.inbox import Visitor
from tests.support.waiting import eventually


async def tasks_listed(visitor: Visitor, path: str = "/") -> list[str]:
    page = await visitor.get(path)
    return [link.rsplit("/", 1)[1] for link in page.links if "/tasks/" in link]


async def test_everybody_sees_what_they_may_decide_or_answer(office: Office) -> None:
    for_group = await office.ask()
    for_ann = await office.ask(approvers=[office.name("ann")])
    for_carl = await office.ask(choices=["a"])
    async with office.visit("ann") as ann, office.visit("bob") as bob, office.visit("carl") as carl:
        expected = {for_group.id, for_ann.id}
        await eventually(
            lambda: _is(tasks_listed(ann), expected), within=30, what="the list of ann"
        )
        assert set(await tasks_listed(bob)) == {for_group.id}
        assert set(await tasks_listed(carl)) == {for_carl.id}
        asked = {for_group.id, for_ann.id, for_carl.id}
        assert set(await tasks_listed(carl, "/?view=asked")) == asked
        assert "Nothing of yours waits" in (await ann.get("/?view=asked")).text
        assert "1 request waits for an answer" in (await carl.get("/")).text


async def test_the_page_of_a_task_shows_what_there_is_to_know(office: Office) -> None:
    task = await office.ask(artifact="see https://example.com/bill", quorum=2)
    async with office.visit("ann") as ann:
        page = await ann.task(task.id)
        for text in ("Pay 5 to X?", "Payee", "0 of 2 approvals", "Looking into it.", "Evidence"):
            assert text in page.text
        assert office.name("carl") in page.text
        assert re.search(r"due in \d days?", page.text)
        assert "https://example.com/bill" in page.links
        workflow = f"https://temporal.example/namespaces/default/workflows/{task.id}"
        assert workflow in page.links


async def test_pages_hold_each_task_once(office: Office) -> None:
    tasks = {(await office.ask()).id for _ in range(7)}
    async with office.visit("ann", office.new_inbox(page_size=3)) as ann:

        async def all_pages() -> bool:
            found: list[str] = []
            path: str | None = "/"
            while path:
                page = await ann.get(path)
                listed = [link for link in page.links if "/tasks/" in link]
                assert len(listed) <= 3
                found += [link.rsplit("/", 1)[1] for link in listed]
                path = next((link for link in page.links if "page=" in link), None)
            return sorted(found) == sorted(tasks)

        await eventually(all_pages, within=30, what="every task on one page")
        assert "7 requests wait for an answer" in (await ann.get("/")).text
        assert (await ann.get("/?page=bm9uc2Vuc2U&after=3")).path == "/"
        assert (await ann.get("/?page=%C3%A4&after=x")).status == 200


async def test_a_version_tells_when_to_look_again(office: Office) -> None:
    task = await office.ask(quorum=2)
    async with office.visit("ann") as ann:
        await eventually(lambda: _is(tasks_listed(ann), {task.id}), within=30)
        page = await ann.get("/")
        (shown,) = re.findall(r'data-version="(\w+)"', page.html)
        assert (await ann.get("/version/inbox")).html == shown
        task_page = await ann.task(task.id)
        (task_shown,) = re.findall(r'data-version="([\w-]+)"', task_page.html)
        assert (await ann.get(f"/version/tasks/{task.id}")).html == task_shown
        await office.agent.approve(task, by=office.name("bob"), groups=[office.group])
        assert (await ann.get(f"/version/tasks/{task.id}")).html != task_shown

        async def list_changed() -> bool:
            return (await ann.get("/version/inbox")).html != shown

        await eventually(list_changed, within=30, what="another version of the list")


async def test_files_of_an_artifact_are_downloads(office: Office) -> None:
    task = await office.ask(artifact="text only")
    async with office.visit("ann") as ann:
        answer = await ann.http.get(f"/files/0/{task.id}/0")
        assert "attachment" in answer.headers["content-disposition"]
        assert "sandbox" in answer.headers["content-security-policy"]
        assert (await ann.get(f"/files/0/{task.id}/7")).status == 404
        assert (await ann.get(f"/files/7/{task.id}/0")).status == 404


async def test_a_person_of_one_tenant_sees_nothing_of_others(office: Office) -> None:
    task = await office.ask()
    approvals = Approvals(office.agent.temporal)
    mine = Person(office.name("ann"), (office.group,), tenant="")
    other = Person(office.name("ann"), (office.group,), tenant="elsewhere")
    try:
        await eventually(lambda: approvals.count(mine), within=30, what="the task")
        assert await approvals.count(other) == 0
        assert (await approvals.task(mine, task.id)).task_id == task.id
        async with office.visit("eve") as eve:
            assert (await eve.task(task.id)).status == 404
    finally:
        await approvals.aclose()


async def test_names_cannot_widen_the_search(office: Office) -> None:
    await office.ask()
    approvals = Approvals(office.agent.temporal)
    try:
        for name in ("x' OR A2aState IS NOT NULL OR 'a'='", "\\", "') OR ('a'='a", "a\nb", "*%"):
            page = await approvals.waiting(Person(name, (name,)))
            assert all(name in task.state.approvers for task in page.tasks)
            assert await approvals.count(Person(name, (name,))) == 0
    finally:
        await approvals.aclose()


async def _is(found: Awaitable[list[str]], expected: set[str]) -> bool:
    return set(await found) == expected
