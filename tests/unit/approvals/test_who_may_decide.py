"""Whose answer counts, by name, group, quorum, four eyes and proof of identity."""

import pytest

from a2a_temporal._log.answers import Answer, RefusedError, check_entitled
from a2a_temporal._log.requests import OpenRequest, Record


def _asked(**fields: object) -> OpenRequest:
    request = OpenRequest(id="approval-1", kind="approval", summary="Pay?", asked_at="")
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def _said(by: str, *groups: str, verified: bool = True, channel: str = "a2a") -> Answer:
    return Answer("approve", by=by, groups=groups, verified=verified, channel=channel)  # pyright: ignore[reportArgumentType] # a literal


ANN = Record("approval-1", "Pay?", "", "approve", "ann", True, "a2a", "")

ENTITLED = [
    (_asked(), _said("")),
    (_asked(), _said("ann")),
    (_asked(approvers=["*"]), _said("")),
    (_asked(approvers=["ann"]), _said("ann")),
    (_asked(approvers=["finance"]), _said("ann", "finance", "staff")),
    (_asked(approvers=["finance"], quorum=2, records=[ANN]), _said("bob", "finance")),
    (_asked(excluded="rita"), _said("ann")),
    (_asked(named=True), _said("ann")),
    (_asked(verified_only=True), _said("ann")),
    # whoever may signal a workflow is an operator of the namespace
    (_asked(approvers=["finance"]), _said("", verified=False, channel="temporal")),
]
REFUSED = [
    (_asked(approvers=["ann"]), _said("bob"), "'bob' may not decide"),
    (_asked(approvers=["finance"]), _said("ann", "staff"), "finance may"),
    (_asked(approvers=["ann"]), _said(""), "An unnamed caller"),
    (_asked(quorum=2), _said(""), "needs to know who answers"),
    (_asked(quorum=2, records=[ANN]), _said("ann"), "has already answered"),
    (_asked(excluded="rita"), _said("rita"), "four eyes"),
    (_asked(excluded="team-red", requester="rita"), _said("rita"), "four eyes"),
    (_asked(excluded="team-red", requester="rita"), _said("team-red"), "four eyes"),
    (_asked(requester="rita"), _said(""), "needs to know who answers"),
    (_asked(excluded="rita"), _said(""), "needs to know who answers"),
    (_asked(named=True), _said(""), "needs to know who answers"),
    (_asked(verified_only=True), _said("ann", verified=False), "server has authenticated"),
]


@pytest.mark.parametrize(("request_", "answer"), ENTITLED)
def test_counts(request_: OpenRequest, answer: Answer) -> None:
    check_entitled(request_, answer)


@pytest.mark.parametrize(("request_", "answer", "why"), REFUSED)
def test_does_not_count_and_says_why(request_: OpenRequest, answer: Answer, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        check_entitled(request_, answer)
