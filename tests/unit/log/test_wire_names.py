"""The names that stand in running workflows. A change here breaks every task that is under way."""

from dataclasses import asdict

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, parse_start
from a2a_temporal._log.protojson import event_to_json
from a2a_temporal._log.state import snapshot
from tests.unit.log.building import WORKING, agent_says, chunk, folded, started, status


def test_names_of_workflow_activities_signals_query_and_memo() -> None:
    assert wire.AGENT_WORKFLOW == "A2AAgentTask"
    assert wire.RUN_AGENT_ACTIVITY == "a2a_run_agent"
    assert wire.CANCEL_AGENT_ACTIVITY == "a2a_cancel_agent"
    assert wire.MESSAGE_SIGNAL == "a2a_message"
    assert wire.EVENTS_SIGNAL == "a2a_events"
    assert wire.ENTRY_MEMO == "a2a"
    assert wire.TASK_QUERY == "a2a_task"
    assert wire.LOG_VERSION == 1


def test_names_and_types_of_search_attributes() -> None:
    expected = {
        "A2aAgent": "Keyword",
        "A2aOwner": "Keyword",
        "A2aTenant": "Keyword",
        "A2aContextId": "Keyword",
        "A2aState": "Keyword",
        "A2aUpdatedAt": "Datetime",
        "A2aApprovers": "KeywordList",
    }
    assert {name: wire.SEARCH_ATTRIBUTES.get(name) for name in expected} == expected


def test_fields_of_a_start() -> None:
    fields = {"task_id", "context_id", "agent", "message", "owner", "tenant", "request", "at"}
    assert set(asdict(started())) >= {*fields, "snapshot", "search_attributes", "version"}


def test_a_start_needs_no_more_than_what_names_the_task() -> None:
    assert parse_start(
        {
            "task_id": "task",
            "context_id": "context",
            "agent": "agent",
            "message": {"messageId": "m1"},
            "at": "2026-01-02T12:00:00Z",
        }
    ) == TaskStart("task", "context", "agent", {"messageId": "m1"}, at="2026-01-02T12:00:00Z")


def test_fields_of_a_snapshot() -> None:
    fields = {"task", "accepted", "turn", "attempt", "sequence", "turn_done", "status_turn"}
    assert set(snapshot(folded()).to_json()) >= {*fields, "reply"}


def test_a_snapshot_of_the_first_release_is_still_read() -> None:
    carried = {
        "task": {"id": "task", "contextId": "context", "status": {"state": "TASK_STATE_WORKING"}},
        "accepted": {"m1": [1, "digest"]},
        "turn": 1,
        "turn_done": True,
        "status_turn": 1,
        "reply": None,
    }
    state = folded(start=TaskStart("task", "context", "agent", {}, snapshot=carried))
    assert (state.turns, state.turn, state.task.status.state) == (1, 1, WORKING)


def test_events_are_stream_responses_without_the_ids_that_all_of_them_repeat() -> None:
    said = status(WORKING, "a1", at=0)
    said.task_id, said.context_id = "task", "context"
    assert event_to_json(said) == {
        "statusUpdate": {
            "status": {
                "message": {
                    "messageId": "a1",
                    "parts": [{"text": "a1"}],
                    "role": "ROLE_AGENT",
                },
                "state": "TASK_STATE_WORKING",
                "timestamp": "2026-01-02T12:00:00Z",
            }
        }
    }
    assert event_to_json(chunk("x", "a", append=True)) == {
        "artifactUpdate": {
            "append": True,
            "artifact": {"artifactId": "x", "parts": [{"text": "a"}]},
        }
    }
    assert list(event_to_json(agent_says("r"))) == ["message"]
    assert list(event_to_json(folded().task)) == ["task"]
