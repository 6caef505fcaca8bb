"""Configs are entries of the log: set and deleted in order, and carried into the next run."""

from dataclasses import replace
from typing import Any

import pytest

from a2a_temporal._log import wire
from a2a_temporal._log.entries import EmissionEntry, parse_signal
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, begin, snapshot
from tests.unit.log.building import COMPLETED, clock, started, status, user_message

AT = "2026-01-02T12:00:00.000Z"
FIRST = {"id": "c1", "url": "https://one.example.com/"}
SECOND = {"id": "c2", "url": "https://two.example.com/", "token": "t"}


def apply(state: LogState, **fields: Any) -> None:
    entry = parse_signal(wire.PUSH_CONFIG_SIGNAL, {"version": 1, "at": AT, **fields})
    assert entry is not None
    assert fold(state, entry) == []


def urls(state: LogState) -> dict[str, str]:
    return {config_id: push.config.url for config_id, push in state.push_configs.items()}


def test_a_start_brings_its_config() -> None:
    state = begin(replace(started(), push_config=FIRST))
    assert urls(state) == {"c1": FIRST["url"]}


def test_configs_are_set_replaced_and_deleted() -> None:
    state = begin(started())
    apply(state, set=FIRST)
    apply(state, set=SECOND)
    apply(state, set={**FIRST, "url": "https://new.example.com/"})
    assert urls(state) == {"c1": "https://new.example.com/", "c2": SECOND["url"]}
    apply(state, delete="c2")
    apply(state, delete="unknown")
    assert urls(state) == {"c1": "https://new.example.com/"}


def test_a_full_task_takes_changes_but_no_further_config() -> None:
    state = begin(started())
    apply(state, set=FIRST, most=1)
    revision = state.push_revision
    apply(state, set=SECOND, most=1)
    assert (urls(state), state.push_revision) == ({"c1": FIRST["url"]}, revision)
    apply(state, set={**FIRST, "url": "https://new.example.com/"}, most=1)
    assert urls(state) == {"c1": "https://new.example.com/"}
    apply(state, delete="c1")
    apply(state, set=SECOND, most=1)
    assert urls(state) == {"c2": SECOND["url"]}


def test_a_replaced_config_is_the_same_receiver_and_a_deleted_one_begins_anew() -> None:
    state = begin(replace(started(), push_config=FIRST))
    first = state.push_configs["c1"]
    apply(state, set={**FIRST, "token": "new"})
    replaced = state.push_configs["c1"]
    assert (replaced.since, replaced.revision > first.revision) == (first.since, True)
    apply(state, delete="c1")
    apply(state, set=FIRST)
    assert state.push_configs["c1"].since > replaced.revision


def test_a_config_counts_if_its_message_does() -> None:
    state = begin(started(user_message("m1")))
    entry = {"at": AT, "request": {}, "push_config": FIRST}
    for message_id, expected in (("m1", {}), ("m2", {"c1": FIRST["url"]})):
        message = to_json(user_message(message_id, "hello"))
        parsed = parse_signal(wire.MESSAGE_SIGNAL, {**entry, "message": message})
        assert parsed is not None
        fold(state, parsed)
        assert urls(state) == expected


def test_the_next_run_knows_them() -> None:
    state = begin(replace(started(), push_config=FIRST))
    apply(state, set=SECOND)
    carried = begin(replace(started(), snapshot=snapshot(state).to_json()))
    assert carried.push_configs == state.push_configs
    assert carried.push_revision == state.push_revision


def test_nothing_changes_after_the_end() -> None:
    state = begin(replace(started(), push_config=FIRST))
    fold(state, EmissionEntry([status(COMPLETED)], clock(1)))
    apply(state, set=SECOND)
    apply(state, delete="c1")
    assert urls(state) == {"c1": FIRST["url"]}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"set": {}},
        {"set": {"id": "c1"}},
        {"set": {"url": "https://one.example.com/"}},
        {"set": "c1"},
        {"set": {"id": 5, "url": "https://one.example.com/"}},
    ],
)
def test_a_malformed_entry_is_skipped(fields: dict[str, Any]) -> None:
    assert parse_signal(wire.PUSH_CONFIG_SIGNAL, {"at": AT, **fields}) is None


def test_names_that_stand_in_running_workflows() -> None:
    assert wire.PUSH_WORKFLOW == "A2APush"
    assert wire.PUSH_CONFIG_SIGNAL == "a2a_push_config"
    assert wire.PUSH_NOTIFY_SIGNAL == "a2a_push_notify"
    assert wire.PUSH_REDELIVER_SIGNAL == "a2a_push_redeliver"
    assert wire.PUSH_DELIVER_ACTIVITY == "a2a_push_deliver"
    assert wire.PUSH_LOG_END_ACTIVITY == "a2a_push_log_end"
    assert wire.PUSH_RESUME_ACTIVITY == "a2a_push_resume"
    assert wire.push_workflow_id("task", 2) == "task/push/2"
    assert wire.push_task_queue("reports") == "reports/push"
    assert wire.SEARCH_ATTRIBUTES[wire.STATE_ATTRIBUTE] == "Keyword"
