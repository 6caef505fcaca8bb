"""What clients say: kept once, in order, and always answered."""

from hypothesis import given

from a2a_temporal._log.entries import Entry, TaskStart
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import snapshot
from tests.unit.log.building import (
    AUTH_REQUIRED,
    COMPLETED,
    INPUT_REQUIRED,
    WORKING,
    Role,
    Task,
    TaskStatusUpdateEvent,
    agent_says,
    batch,
    chunk,
    emitted,
    folded,
    logs,
    plausible_logs,
    sent,
    spoken,
    status,
)


@given(logs)
def test_every_accepted_message_is_in_the_history_exactly_once(log: list[Entry]) -> None:
    state = folded(*log)
    of_clients = [each.message_id for each in state.task.history if each.role == Role.ROLE_USER]
    assert of_clients == list(state.accepted)


@given(logs)
def test_accepted_messages_open_turns_without_gaps(log: list[Entry]) -> None:
    state = folded(*log)
    assert [each.turn for each in state.accepted.values()] == list(range(1, state.turns + 1))


def test_messages_get_the_ids_of_their_task() -> None:
    state = folded(sent("m2"))
    assert {each.task_id for each in state.task.history} == {"task"}
    assert {each.context_id for each in state.task.history} == {"context"}


def test_an_agents_copy_of_the_history_adds_no_message_twice() -> None:
    asked = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1")))
    fold(asked, batch(1, 1, 2, _with_artifact(asked.copy_task())))
    assert spoken(asked.task) == ["m1"]
    assert asked.task.status.message.message_id == "a1"
    answered = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1")), sent("m2"))
    fold(answered, batch(2, 1, 1, _with_artifact(answered.copy_task())))
    assert spoken(answered.task) == ["m1", "a1", "m2"]


def test_an_agents_stale_copy_of_the_task_brings_no_old_message_back() -> None:
    asked = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1")))
    stale = asked.copy_task()
    fold(asked, sent("m2"))
    fold(asked, batch(2, 1, 1, stale))
    assert spoken(asked.task) == ["m1", "a1", "m2"]
    assert not asked.task.status.HasField("message")


def test_the_message_of_a_status_goes_into_the_history_before_the_answer() -> None:
    state = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1")), sent("m2"))
    assert spoken(state.task) == ["m1", "a1", "m2"]
    assert not state.task.status.HasField("message")


def test_completing_an_earlier_turn_while_messages_wait_reads_as_working() -> None:
    state = folded(sent("m2"))
    made = fold(state, batch(1, 1, 1, chunk("x", "a"), status(COMPLETED, "a1"), done=True))
    assert state.task.status.state == WORKING
    assert isinstance(made[-1], TaskStatusUpdateEvent)
    assert made[-1].status.state == WORKING
    fold(state, batch(2, 1, 1, status(COMPLETED), done=True))
    assert state.task.status.state == COMPLETED
    assert spoken(state.task) == ["m1", "m2", "a1"]


def test_a_direct_answer_to_an_earlier_turn_does_not_end_a_task_with_waiting_messages() -> None:
    state = folded(sent("m2"), batch(1, 1, 1, agent_says("r")))
    assert state.task.status.state == WORKING
    assert state.reply is None
    fold(state, batch(2, 1, 1, agent_says("s")))
    assert state.task.status.state == COMPLETED
    assert state.reply is not None
    assert state.reply.message_id == "s"


def test_the_workflow_itself_may_end_a_task_with_waiting_messages() -> None:
    state = folded(sent("m2"), emitted(status(COMPLETED)))
    assert state.task.status.state == COMPLETED


def test_a_waiting_caller_has_an_answer_when_the_question_is_about_its_own_turn() -> None:
    state = folded(sent("m2"), batch(1, 1, 1, status(INPUT_REQUIRED)))
    assert state.settled(1)
    assert not state.settled(2)
    fold(state, batch(2, 1, 1, status(INPUT_REQUIRED)))
    assert state.settled(2)


def _with_artifact(task: Task) -> Task:
    task.artifacts.add(artifact_id="x")
    return task


def test_a_question_that_somebody_has_answered_is_an_answer_all_the_same() -> None:
    state = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1"), done=True), sent("m2"))
    fold(state, batch(2, 1, 1, status(WORKING)))
    assert state.settled(1)
    assert not state.settled(2)
    carried = folded(
        start=TaskStart("task", "context", "agent", {}, snapshot=snapshot(state).to_json())
    )
    assert carried.settled(1)
    assert not carried.settled(2)


def test_a_question_of_a_turn_whose_successor_waited_already_is_an_answer_to_its_caller() -> None:
    state = folded(sent("m2"), batch(1, 1, 1, status(INPUT_REQUIRED, "a1"), done=True))
    fold(state, batch(2, 1, 1, status(WORKING)))
    assert state.was_settled(1)
    assert not state.was_settled(2)


def test_a_question_that_is_answered_otherwise_than_by_a_message_is_an_answer_to_its_caller() -> (
    None
):
    state = folded(emitted(status(INPUT_REQUIRED, "a1")), emitted(status(WORKING)))
    assert state.was_settled(1)
    assert not state.was_settled(2)


def test_who_sends_again_after_such_an_answer_has_yet_to_get_his() -> None:
    state = folded(emitted(status(INPUT_REQUIRED, "a1")), emitted(status(WORKING)))
    carried = folded(
        start=TaskStart("task", "context", "agent", {}, snapshot=snapshot(state).to_json())
    )
    for each in (state, carried):
        assert each.was_settled(1)
        assert not each.settled(1)
        fold(each, emitted(status(INPUT_REQUIRED, "a2")))
        assert each.settled(1)


def test_a_question_that_a_lost_attempt_had_asked_is_no_answer() -> None:
    state = folded(batch(1, 1, 1, status(INPUT_REQUIRED, "a1")), batch(1, 2, 1, status(WORKING)))
    assert not state.was_settled(1)


def test_an_agent_that_goes_on_without_an_answer_still_owes_one() -> None:
    """As it does once a credential has come out of band (A2A 1.0 section 7.6.1)."""
    state = folded(batch(1, 1, 1, status(AUTH_REQUIRED, "a1")), batch(1, 1, 2, status(WORKING)))
    assert not state.was_settled(1)
    fold(state, batch(1, 1, 3, status(COMPLETED)))
    assert state.settled(1)


@given(plausible_logs(kinds="meee"))
def test_who_has_an_answer_of_a_workflow_keeps_it(log: list[Entry]) -> None:
    """So it does not matter whether a reader comes upon the log just then, or later."""
    state = folded()
    answered: set[int] = set()
    for entry in log:
        fold(state, entry)
        answered |= {turn for turn in range(1, state.turns + 1) if state.was_settled(turn)}
        assert all(state.was_settled(turn) for turn in answered)
