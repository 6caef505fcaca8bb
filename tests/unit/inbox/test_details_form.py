"""Details as a form: from the JSON schema to inputs, and from what was typed back to JSON."""

from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from a2a_temporal.inbox._details_form import FormField, form_for, in_order, read_form


class Kind(Enum):
    TRAVEL = "travel"
    SOFTWARE = "software"


class Line(BaseModel):
    item: str
    price: float


class Address(BaseModel):
    """Where the money goes."""

    street: str
    city: str


class Claim(BaseModel):
    payee: str = Field(description="Who gets the money")
    amount: float
    nights: int = 1
    kind: Kind = Kind.TRAVEL
    rating: Literal["a", "b"] | None = None
    urgent: bool = False
    due: date | None = None
    tags: list[str] = []
    lines: list[Line] = []
    address: Address = Address(street="Unter den Linden 77", city="Berlin")
    anything: dict[str, Any] | list[int] = []


SCHEMA = TypeAdapter(Claim).json_schema()
DETAILS = Claim(payee="Hotel", amount=1250.5, tags=["x", "y"], lines=[Line(item="Bed", price=9)])
PLAIN: dict[str, Any] = DETAILS.model_dump(mode="json")


def leaves(form: FormField) -> dict[str, FormField]:
    if form.kind != "group":
        return {form.name: form}
    return {name: each for part in form.fields for name, each in leaves(part).items()}


def as_posted(form: FormField) -> dict[str, str]:
    """What a browser sends for an untouched form."""
    return {
        name: each.value
        for name, each in leaves(form).items()
        if each.kind != "boolean" or each.value == "true"
    }


def test_every_type_gets_the_input_that_fits() -> None:
    kinds = {name: each.kind for name, each in leaves(form_for(SCHEMA, PLAIN)).items()}
    assert kinds == {
        "details.payee": "text",
        "details.amount": "number",
        "details.nights": "integer",
        "details.kind": "choice",
        "details.rating": "choice",
        "details.urgent": "boolean",
        "details.due": "text",
        "details.tags": "lines",
        "details.lines": "json",
        "details.address.street": "text",
        "details.address.city": "text",
        "details.anything": "json",
    }


def test_an_untouched_form_gives_the_details_back() -> None:
    assert read_form(SCHEMA, PLAIN, as_posted(form_for(SCHEMA, PLAIN))) == (PLAIN, {})


def test_labels_come_from_the_field_and_not_from_the_class_behind_it() -> None:
    fields = leaves(form_for(SCHEMA, PLAIN))
    assert fields["details.kind"].label == "Kind"
    assert fields["details.payee"].hint == "Who gets the money"
    assert form_for(SCHEMA, PLAIN).fields[-2].label == "Address"


def test_changes_are_read_with_their_types() -> None:
    typed = as_posted(form_for(SCHEMA, PLAIN)) | {
        "details.amount": " 999.50 ",
        "details.nights": "3",
        "details.kind": "software",
        "details.rating": "b",
        "details.urgent": "true",
        "details.due": "2026-12-01",
        "details.tags": "one\n\n  two \n",
        "details.lines": "[]",
        "details.address.city": "Köln",
    }
    changed, errors = read_form(SCHEMA, PLAIN, typed)
    assert not errors
    claim = Claim.model_validate(changed)
    assert (claim.amount, claim.nights, claim.kind, claim.rating) == (999.5, 3, Kind.SOFTWARE, "b")
    assert (claim.urgent, claim.due, claim.tags) == (True, date(2026, 12, 1), ["one", "two"])
    assert (claim.lines, claim.address.city) == ([], "Köln")


def test_an_emptied_optional_field_is_null() -> None:
    details = PLAIN | {"due": "2026-12-01", "rating": "a"}
    typed = as_posted(form_for(SCHEMA, details)) | {"details.due": "", "details.rating": ""}
    changed, errors = read_form(SCHEMA, details, typed)
    assert not errors
    assert changed == PLAIN


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("details.amount", "a lot", "not a number"),
        ("details.amount", "1e999", "not a number"),
        ("details.amount", "NaN", "not a number"),
        ("details.nights", "2.5", "not a whole number"),
        ("details.kind", "<script>", "Choose one of"),
        ("details.lines", "[{", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_named_and_kept(name: str, text: str, problem: str) -> None:
    typed = as_posted(form_for(SCHEMA, PLAIN)) | {name: text}
    _, errors = read_form(SCHEMA, PLAIN, typed)
    assert problem in errors[name]
    shown = leaves(form_for(SCHEMA, PLAIN, typed=typed, errors=errors))[name]
    assert (shown.value, shown.error) == (text, errors[name])


def test_fields_the_schema_does_not_know_stay_as_they_are() -> None:
    details = PLAIN | {"extra": {"deep": [1, None]}}
    typed = {"details.payee": "Other"}
    assert read_form(SCHEMA, details, typed)[0]["extra"] == {"deep": [1, None]}


@pytest.mark.parametrize("details", [None, 5, "text", ["a"], [{"a": 1}], {}, {"a": {"b": [1]}}])
def test_details_without_a_schema_can_be_changed_as_well(details: Any) -> None:
    form = form_for(None, details)
    assert read_form(None, details, as_posted(form)) == (details, {})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"$ref": "https://elsewhere.example/schema"},
        {"type": ["string", "null"]},
        {"type": "object", "properties": {"payee": {"anyOf": []}}},
        {"enum": []},
        {"type": "array", "items": True},
    ],
)
def test_a_strange_schema_breaks_no_form(schema: dict[str, Any]) -> None:
    form_for(schema, PLAIN)
    in_order(schema, PLAIN)


def test_fields_are_shown_in_the_order_their_author_gave() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}, "b": {}}, "x-order": ["b", "a"]}
    assert list(in_order(schema, {"z": 1, "a": 2, "b": 3})) == ["b", "a", "z"]
