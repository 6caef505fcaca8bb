"""Answers given in the inbox: each counts once, and whoever was too late is told why."""

import asyncio

from a2a_temporal.testing import state_of, status_text
from tests.integration.inbox.conftest import Office
from tests.support.waiting import eventually


async def test_an_approval_goes_through_and_is_recorded(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        page = await ann.task(task.id)
        page = await ann.send(page.form_of("approval-1"), do="approve", comment="fine\r\nby me")
        assert "You approved" in page.text
    task = await office.agent.settled(task)
    assert state_of(task) == "completed"
    (record,) = await office.agent.records(task)
    assert (record.by, record.verified, record.channel) == (office.name("ann"), True, "inbox")
    assert (record.decision, record.comment) == ("approve", "fine\nby me")


async def test_a_rejection_keeps_its_comment(office: Office) -> None:
    task = await office.ask()
    async with office.visit("bob") as bob:
        page = await bob.task(task.id)
        await bob.send(page.form_of("approval-1"), do="reject", comment="too much")
    task = await office.agent.settled(task)
    assert state_of(task) == "rejected"
    assert status_text(task) == "No: too much"


async def test_changed_details_are_what_is_done(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        await ann.send(form, do="change", **{"details.amount": "4.5", "details.payee": "Y"})
    task = await office.agent.settled(task)
    assert task.artifacts[-1].parts[0].text == "paid 4.5 to Y"
    (record,) = await office.agent.records(task)
    assert record.changed_details


async def test_details_the_agent_does_not_take_come_back_with_the_reason(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        typed = {"details.amount": "-1", "comment": "please keep me"}
        page = await ann.send(form, do="change", **typed)
        assert page.status == 409
        assert "greater than 0" in page.text
        form = page.form_of("approval-1")
        assert {name: form.values[name] for name in typed} == typed
        page = await ann.send(form, do="change", **{"details.amount": "two"})
        assert page.status == 422
        assert "not a number" in page.text
        assert page.form_of("approval-1").values["details.amount"] == "two"
        page = await ann.send(page.form_of("approval-1"), do="change", **{"details.amount": "2"})
        assert page.status == 200
    task = await office.agent.settled(task)
    assert task.artifacts[-1].parts[0].text == "paid 2 to X"


async def test_changing_something_and_pressing_plain_approve_asks_again(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        page = await ann.send(form, do="approve", **{"details.payee": "Z"})
        assert page.status == 422
        assert "Approve with changes" in page.text
        assert page.form_of("approval-1").values["details.payee"] == "Z"
        assert not await office.agent.records(task)


async def test_two_tabs_answer_the_same_request_and_the_second_is_told(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann, office.visit("bob") as bob:
        first = (await ann.task(task.id)).form_of("approval-1")
        second = (await ann.task(task.id)).form_of("approval-1")
        third = (await bob.task(task.id)).form_of("approval-1")
        assert (await ann.send(first, do="approve")).status == 200
        page = await ann.send(second, do="reject", comment="I changed my mind")
        assert page.status == 409
        assert "You have already approved this" in page.text
        assert "I changed my mind" in page.html
        page = await bob.send(third, do="approve")
        assert f"{office.name('ann')} has already approved this" in page.text
    assert len(await office.agent.records(task)) == 1


async def test_a_double_click_counts_once(office: Office) -> None:
    task = await office.ask(quorum=2)
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        pages = await asyncio.gather(*(ann.send(form, do="approve") for _ in range(4)))
        assert [page.status for page in pages] == [200] * 4
        page = await ann.task(task.id)
        assert "1 of 2 approvals" in page.text
        assert "You have approved this; it waits for others" in page.text
        assert ("do", "approve") not in page.form_of("approval-1").buttons
    assert len(await office.agent.records(task)) == 1


async def test_details_that_changed_meanwhile_are_not_approved_unseen(office: Office) -> None:
    task = await office.ask(quorum=2)
    async with office.visit("ann") as ann, office.visit("bob") as bob:
        stale = (await bob.task(task.id)).form_of("approval-1")
        form = (await ann.task(task.id)).form_of("approval-1")
        await ann.send(form, do="change", **{"details.amount": "500"})
        page = await bob.send(stale, do="approve", comment="as I saw it")
        assert page.status == 409
        assert "changed the details meanwhile" in page.text
        assert "as I saw it" in page.html
        fresh = next(each for each in page.forms if "seen" in each.values)
        assert fresh.values["details.amount"] == "500"
        await bob.send(fresh, do="approve")
    task = await office.agent.settled(task)
    assert task.artifacts[-1].parts[0].text == "paid 500 to X"


async def test_an_answer_without_a_worker_is_shown_as_stored_and_counts_later(
    office: Office,
) -> None:
    task = await office.ask()
    await office.agent.stop_worker()
    async with office.visit("ann") as ann, office.visit("bob") as bob:
        form = (await ann.task(task.id)).form_of("approval-1")
        page = await ann.send(form, do="approve")
        assert page.status == 200
        assert "Your answer is stored" in page.text
        assert "Stored, and waiting for a worker" in (await bob.task(task.id)).text
        assert "waiting for a worker" in (await bob.get("/")).text
        again = await ann.send(form, do="approve")
        assert "Your answer is stored" in again.text
        await office.agent.start_worker()
        await office.agent.until(task, "completed")
        assert "You approved" in (await ann.get(page.path)).text
    assert len(await office.agent.records(task)) == 1


async def test_a_comment_decides_nothing_and_is_kept(office: Office) -> None:
    task = await office.ask()
    async with office.visit("carl") as carl, office.visit("ann") as ann:
        form = (await carl.task(task.id)).form_of("approval-1")
        assert form.buttons == [("do", "comment")]
        assert (await carl.send(form, do="comment")).status == 422
        await carl.send(form, do="comment", comment="it is urgent")
        page = await ann.task(task.id)
        assert "it is urgent" in page.text
        assert ("do", "approve") in page.form_of("approval-1").buttons
    (record,) = await office.agent.records(task)
    assert (record.decision, record.comment) == ("comment", "it is urgent")


async def test_a_question_is_answered_by_a_button_or_in_words(office: Office) -> None:
    for typed, answer in (({"choice": "b & <c>"}, "b & <c>"), ({"do": "answer"}, "neither")):
        task = await office.ask(choices=["a", "b & <c>"])
        async with office.visit("carl") as carl:
            form = (await carl.task(task.id)).form_of("input-1")
            assert ("choice", "b & <c>") in form.buttons
            assert (await carl.send(form, do="answer", answer=" ")).status == 422
            page = await carl.send(form, **typed, answer="neither")
            assert page.status == 200
        task = await office.agent.settled(task)
        assert task.artifacts[-1].parts[0].text == f"chosen: {answer}"
        (record,) = await office.agent.records(task)
        assert (record.decision, record.comment) == ("answer", answer)


async def test_a_credential_is_reported_as_given_and_never_typed_here(office: Office) -> None:
    task = await office.ask(auth=True)
    async with office.visit("carl") as carl:
        form = (await carl.task(task.id)).form_of("auth-1")
        assert form.buttons == [("do", "done")]
        await carl.send(form, do="done")
    assert state_of(await office.agent.settled(task)) == "completed"


async def test_whoever_may_not_decide_sees_nothing_or_no_buttons(office: Office) -> None:
    task = await office.ask(four_eyes=True)
    async with office.visit("eve") as eve, office.visit("carl") as carl, office.visit("ann") as ann:
        page = await eve.task(task.id)
        assert page.status == 404
        assert "Pay 5" not in page.html
        form = (await ann.task(task.id)).form_of("approval-1")
        form.values["form"] = (await eve.get("/")).forms[0].values["form"]
        assert (await eve.send(form, do="approve")).status == 404
        page = await carl.task(task.id)
        assert "somebody else has to decide" in page.text
        form.values["form"] = page.forms[0].values["form"]
        assert (await carl.send(form, do="approve")).status == 409
    assert not await office.agent.records(task)


async def test_forms_of_other_sites_and_sessions_are_refused_with_the_text_kept(
    office: Office,
) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        page = await ann.send(form, origin="https://evil.example", do="approve", comment="kept 1")
        assert (page.status, page.form_of("approval-1").values["comment"]) == (403, "kept 1")
        form.values["form"] = "of another session"
        page = await ann.send(form, do="approve", comment="kept 2")
        assert (page.status, page.form_of("approval-1").values["comment"]) == (403, "kept 2")
        assert not await office.agent.records(task)
        assert (await ann.send(page.form_of("approval-1"), do="approve")).status == 200


async def test_an_expired_session_leads_back_to_the_page_with_the_text(office: Office) -> None:
    task = await office.ask()
    async with office.visit("ann") as ann:
        form = (await ann.task(task.id)).form_of("approval-1")
        ann.forget()
        typed = {"comment": "a long\r\n<b>explanation</b>", "details.payee": "Somebody else"}
        page = await ann.send(form, do="change", **typed)
        assert page.status == 401
        assert "Nothing was sent" in page.text
        page = await ann.send(page.forms[-1], token="wrong")
        page = await ann.send(page.forms[-1], token=office.token("ann"))
        assert "signed in again" in page.text
        again = page.form_of("approval-1")
        assert again.values["comment"] == "a long\n<b>explanation</b>"
        assert again.values["details.payee"] == "Somebody else"
        assert not await office.agent.records(task)
        assert (await ann.send(again, do="change")).status == 200
    await eventually(lambda: office.agent.records(task), within=30)
