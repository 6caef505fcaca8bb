"""What workflow authors write is checked where they write it, by type and range."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from a2a_temporal._worker.approvals import arguments
from a2a_temporal._worker.approvals.policy import rule_of
from a2a_temporal.workflow import Approve, Approvers, Escalate, Expire, Reject

WRONG: list[Callable[[], Any]] = [
    lambda: Approvers(["finance", "cfo"]),  # pyright: ignore[reportArgumentType] # as all here
    lambda: Approvers(("finance",)),  # pyright: ignore[reportArgumentType]
    lambda: Approvers(""),
    lambda: Approvers(" "),
    lambda: Approvers("\u200b"),
    lambda: Approvers("\ud800"),
    lambda: Approvers(None),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("a" * 501),
    lambda: Approvers(7),  # pyright: ignore[reportArgumentType]
    lambda: Approvers(b"ann"),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("ann", quorum=0),
    lambda: Approvers("ann", quorum=-1),
    lambda: Approvers("ann", quorum=10**6),
    lambda: Approvers("ann", quorum="2"),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("ann", quorum=1.5),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("ann", quorum=True),
    lambda: Approvers("ann", quorum=None),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("ann", exclude_requester="no"),  # pyright: ignore[reportArgumentType]
    lambda: Approvers("ann", verified_only=1),  # pyright: ignore[reportArgumentType]
    lambda: Escalate(),
    lambda: Escalate(["cfo"]),  # pyright: ignore[reportArgumentType]
    lambda: Escalate("cfo", quorum=0),
    lambda: Escalate("cfo", timeout=timedelta(0)),
    lambda: Escalate("cfo", timeout=60),  # pyright: ignore[reportArgumentType]
    lambda: Escalate("cfo", then=Reject),  # pyright: ignore[reportArgumentType]
    lambda: Escalate("cfo", then="reject"),  # pyright: ignore[reportArgumentType]
    lambda: rule_of("on_timeout", Approve),
    lambda: rule_of("on_timeout", False),
    *(lambda given=given: arguments.choices(given) for given in ("ab", ["a", "a"], ["a", " a"])),
    *(lambda given=given: arguments.choices(given) for given in ([""], [1], None, {"a": 1}, 5)),
    *(lambda given=given: arguments.text("summary", given) for given in ("", " ", None, b"x", 5)),
    *(
        lambda given=given: arguments.duration("timeout", given)
        for given in (5, "1h", timedelta(0), timedelta(-1), timedelta.max, True)
    ),
    lambda: arguments.optional_text("text", None),
    lambda: arguments.optional_text("text", "\udfff"),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_argument_is_refused_at_once(wrong: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


def test_right_ones_are_taken() -> None:
    assert Approvers().names == ()
    assert Approvers("*", "Ann O'Hara", quorum=2).quorum == 2
    assert Escalate("cfo", then=Escalate("ceo")).then == Escalate("ceo")
    assert rule_of("on_timeout", None) == Expire()
    assert arguments.choices(("a", "b")) == ["a", "b"]
    assert arguments.duration("timeout", None) is None
    assert arguments.duration("timeout", timedelta(days=1)) == timedelta(days=1)
    assert arguments.optional_text("text", "") == ""
