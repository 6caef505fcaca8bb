"""The client-side reducer: a Task and the frames behind it make the Task that GetTask says."""

from functools import reduce

from tests.chaos.monkey import plan
from tests.chaos.views import reduced, view
from tests.support.frames import Frame
from tests.support.results import Json


def _status(state: str, *said: str) -> Json:
    status: Json = {"state": f"TASK_STATE_{state}"}
    if said:
        status["message"] = {"messageId": said[0], "role": "ROLE_AGENT"}
    return status


def _chunk(text: str, *, append: bool) -> Frame:
    artifact = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"artifact": artifact, "append": append}}


def _held(*frames: Frame) -> Json:
    first: Json | None = None
    held = reduce(reduced, frames, first)
    assert held is not None
    return view(held)


SUBMITTED: Frame = {"task": {"id": "t", "status": _status("SUBMITTED")}}


def test_chunks_are_appended_and_whole_artifacts_replace() -> None:
    frames = (SUBMITTED, _chunk("a", append=False), _chunk("b", append=True))
    assert _held(*frames)["artifacts"] == {"a": ["", "ab"]}
    assert _held(*frames, _chunk("c", append=False))["artifacts"] == {"a": ["", "c"]}


def test_an_append_to_an_artifact_that_was_never_seen_equals_nothing() -> None:
    assert _held(SUBMITTED, _chunk("b", append=True))["artifacts"] != {"a": ["", "b"]}


def test_what_the_agent_said_is_kept_in_order() -> None:
    frames = [{"statusUpdate": {"status": _status("WORKING", said)}} for said in ("m1", "m2")]
    end = {"statusUpdate": {"status": _status("COMPLETED")}}
    assert _held(SUBMITTED, *frames, end)["said"] == ["m1", "m2"]


def test_a_snapshot_replaces_what_was_held() -> None:
    assert _held(SUBMITTED, _chunk("a", append=False), SUBMITTED)["artifacts"] == {}


def test_the_same_seed_makes_the_same_plan() -> None:
    assert plan(7, 60) == plan(7, 60) != plan(8, 60)
    assert all(0 < blow.at < 60 for blow in plan(7, 60))
