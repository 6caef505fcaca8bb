"""Details are what the log can hold exactly, or they are refused at once with the place and why."""

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from a2a.types.a2a_pb2 import Part
from hypothesis import given
from hypothesis import strategies as some
from pydantic import BaseModel, Field, SecretStr, computed_field, field_validator
from temporalio.exceptions import ApplicationError

from a2a_temporal._log.answers import Answer, RefusedError, check_fits
from a2a_temporal._log.exact import InexactError, exact, read_json
from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._log.requests import canonical, details_hash
from a2a_temporal._worker.approvals.details import details_of, validated


class Colour(str, Enum):
    RED = "red"


class Pair(Enum):
    A = "a"


class Secret(BaseModel):
    token: SecretStr


class Excluded(BaseModel):
    account: str = Field(default="default", exclude=True)
    amount: int


class Base(BaseModel):
    amount: int


class Wider(Base):
    fee: int = 0


class Narrow(BaseModel):
    payment: Base


class Defaults(BaseModel):
    payee: str = "nobody"
    amount: float = 5000

    @field_validator("amount")
    @classmethod
    def at_most(cls, value: float) -> float:
        return min(value, 10_000)


class Aliased(BaseModel):
    pay_to: str = Field(alias="payTo")


class Both(BaseModel):
    pay_to: str = Field(validation_alias="in", serialization_alias="out")


class Doubled(BaseModel):
    amount: int

    @field_validator("amount")
    @classmethod
    def double(cls, value: int) -> int:
        return value * 2


class Computed(BaseModel):
    amount: int

    @computed_field
    @property
    def twice(self) -> int:
        return self.amount * 2


class Strict(Computed, extra="forbid"):
    pass


class Holder(BaseModel):
    value: Any = None


class Tags(BaseModel):
    tags: set[str]


class Money(BaseModel):
    amount: Decimal
    at: datetime


@dataclass
class Payment:
    payee: str
    amount: float


DEEP: Any = json.loads('{"in":' * 25 + "1" + "}" * 25)


@pytest.mark.parametrize(
    ("details", "place"),
    [
        ({"account": 9007199254740993}, "details.account"),
        ({"account": 2**53}, "details.account"),
        ({"account": -(10**4000)}, "details.account"),
        ({"account": 1e22}, "details.account"),
        ({"a": [1, {"b": float("nan")}]}, "details.a[1].b"),
        ({"a": float("inf")}, "details.a"),
        ({"a": Decimal("5.00")}, "details.a"),
        ({"a": datetime.now(timezone.utc)}, "details.a"),
        ({"a": b"x"}, "details.a"),
        ({"a": {1, 2}}, "details.a"),
        ({"a": Payment("x", 1)}, "details.a"),
        ({1: "a", "1": "b"}, "details"),
        ({"a": "\ud800"}, "details.a"),
        ({"\ud800": 1}, "details"),
        (DEEP, "nested"),
        (Holder(value=2**60), "details.value"),
        (Holder(value=float("nan")), "details"),
        (Holder(value={1: "a", "1": "b"}), "details.value"),
        (Tags(tags={"a"}), "details.tags"),
        (Doubled.model_construct(amount=5), "Doubled"),
        (Strict(amount=5), "Strict"),
        (object(), "object"),
        ({Pair.A: 1, "a": 2}, "details"),
        (Secret(token=SecretStr("hunter2")), "Secret"),
        (Excluded(account="DE1", amount=5), "Excluded"),
        (Narrow(payment=Wider(amount=5, fee=7)), "Narrow"),
        (Holder(value=Decimal("5.10")), "Holder"),
        (Holder(value=Aliased(payTo="x")), "Holder"),
        ([Holder.model_construct(value={"a": 2**53})], "details[0]"),
    ],
)
def test_what_the_log_cannot_hold_is_refused_with_the_place(details: Any, place: str) -> None:
    with pytest.raises(ApplicationError) as refused:
        details_of(details)
    assert place in str(refused.value)
    assert refused.value.non_retryable


@pytest.mark.parametrize(
    ("details", "held"),
    [
        ({"a": 1.0, "b": -0.0, "c": 0.1}, {"a": 1, "b": 0, "c": 0.1}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({"a": Colour.RED}, {"a": "red"}),
        ({"a": 2**53 - 1, "b": True, "c": None}, {"a": 2**53 - 1, "b": True, "c": None}),
        (Aliased(payTo="x"), {"payTo": "x"}),
        (Both(**{"in": "x"}), {"pay_to": "x"}),
        (Payment("x", 5.0), {"payee": "x", "amount": 5}),
        (Computed(amount=5), {"amount": 5, "twice": 10}),
        (
            Money(amount=Decimal("5.10"), at=datetime(2026, 1, 1, tzinfo=timezone.utc)),
            {"amount": "5.10", "at": "2026-01-01T00:00:00Z"},
        ),
    ],
)
def test_what_is_handed_out_is_what_the_log_holds(details: Any, held: Any) -> None:
    written, kind = details_of(details)
    assert written == held
    read = _through_the_log(written)
    assert json.dumps(written, sort_keys=True) == json.dumps(read, sort_keys=True)
    assert details_hash(written) == details_hash(read)
    if kind is not None:
        assert kind.read(written) == details
        assert kind.schema() is not None


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSON)
def test_whatever_is_taken_comes_back_as_it_is(value: Any) -> None:
    try:
        held = exact(value)
    except InexactError:
        return
    assert held == _through_the_log(held)
    assert repr(held) == repr(exact(held))


@pytest.mark.parametrize("details", [{"n": 2**53 + 1}, {"n": float("nan")}, {"n": "\ud800"}, DEEP])
def test_changed_details_that_the_log_cannot_hold_do_not_count(details: Any) -> None:
    with pytest.raises(RefusedError, match="details"):
        check_fits(Answer("approve", details=details))


@pytest.mark.parametrize(
    ("details", "why"),
    [
        ({"payee": "X", "amuont": 80}, "has no 'amuont'|needs 'amount'"),
        ({"amount": 80}, "needs 'payee'"),
        ({"payee": "X", "amount": 20_000}, "would become 10000, not 20000"),
        ({"payee": "X", "amount": True}, "would become 1, not true"),
    ],
)
def test_changed_details_of_which_a_model_drops_or_replaces_something_do_not_count(
    details: Any, why: str
) -> None:
    _, kind = details_of(Defaults(payee="X", amount=5))
    assert kind is not None
    assert validated(kind, {"payee": "Y", "amount": 80.0}) == {"payee": "Y", "amount": 80}
    with pytest.raises(RefusedError, match=why):
        validated(kind, details)


def test_what_a_model_computes_may_be_left_out_or_stand_as_it_was() -> None:
    _, kind = details_of(Computed(amount=5))
    assert kind is not None
    for changed in ({"amount": 8}, {"amount": 8, "twice": 10}):
        assert validated(kind, changed) == {"amount": 8, "twice": 16}


def test_a_field_that_is_typed_twice_is_no_json() -> None:
    with pytest.raises(ValueError, match="'a' stands there twice"):
        read_json('{"a": 1, "b": {"a": 1}, "a": 2}')
    with pytest.raises(ValueError, match="NaN"):
        read_json('{"a": NaN}')


def _through_the_log(value: Any) -> Any:
    return canonical(to_json(from_json({"data": value}, Part()))["data"])
