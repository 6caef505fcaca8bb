"""Two ways to write the name of one person are that person, for every rule of an approval."""

import pytest

from a2a_temporal._log.answers import Answer, RefusedError, check_entitled
from a2a_temporal._log.names import indexed_name, normal
from a2a_temporal._log.requests import OpenRequest, Record

SAME = [
    "Alice",
    "ALICE",
    " alice ",
    "\uff21lice",
    "al\u00adice",
    "alice\u200b",
    "alice\ufe0f",
    "a\u2060lice",
    "alice\ufffe",
    "al\uffffice",
    "alice\ufdd0\ufdef",
    "ali\U0001fffece\U0010ffff",
    "ali\x00ce",
]


@pytest.mark.parametrize("name", SAME)
def test_another_spelling_is_the_same_person(name: str) -> None:
    assert normal(name) == normal("alice")
    request = OpenRequest("approval-1", "approval", "Pay?", "", excluded="alice")
    with pytest.raises(RefusedError, match="four eyes"):
        check_entitled(request, Answer("approve", by=name))
    record = Record("approval-1", "Pay?", "", "approve", "alice", True, "a2a", "")
    request = OpenRequest("approval-1", "approval", "Pay?", "", quorum=2, records=[record])
    with pytest.raises(RefusedError, match="already answered"):
        check_entitled(request, Answer("approve", by=name))
    request = OpenRequest("approval-1", "approval", "Pay?", "", approvers=["alice"])
    check_entitled(request, Answer("approve", by=name))
    check_entitled(request, Answer("approve", by="bob", groups=(name,)))


@pytest.mark.parametrize("name", ["\u0430lice", "alice2", "al ice", "älice"])
def test_another_name_is_another_person(name: str) -> None:
    assert normal(name) != normal("alice")


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\u3164", "\u00ad\ufeff", "\ufffe", "\t\n"])
def test_a_name_that_nobody_can_see_is_none(name: str) -> None:
    assert normal(name) == ""
    request = OpenRequest("approval-1", "approval", "Pay?", "", quorum=2)
    with pytest.raises(RefusedError, match="who answers"):
        check_entitled(request, Answer("approve", by=name, channel="temporal"))


def test_names_of_any_kind_can_be_searched_for() -> None:
    assert indexed_name("Finance") == "finance"
    assert indexed_name("*") == "*"
    assert indexed_name("O'Hara").startswith("sha256:")
    assert indexed_name("x" * 500) == indexed_name("X" * 500)
    assert len(indexed_name("x" * 500)) < 100
