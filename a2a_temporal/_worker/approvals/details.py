"""The details of an approval: one value for everybody, the one that the log holds.

What the author gives is written as JSON at once. That JSON is what people see, what is hashed and
compared, and what the decision hands out, read into the author's type again.
"""

import json
import math
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as fields_of
from typing import Any, cast

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
    from pydantic_core import PydanticSerializationError

    from a2a_temporal._log.answers import RefusedError
    from a2a_temporal._log.exact import InexactError, exact
    from a2a_temporal._log.requests import PROPERTY_ORDER, canonical, details_hash

_PLAIN = (type(None), dict, list, tuple, str, int, float, bool)
_NO_JSON = (PydanticUserError, PydanticSerializationError, ValidationError, InexactError)


@dataclass(frozen=True)
class DetailsType:
    """How the details of a request are read from JSON and written as JSON."""

    adapter: "TypeAdapter[Any]"
    by_alias: bool

    def read(self, details: Any) -> Any:
        """Return what JSON stands for; raises what pydantic does."""
        return self.adapter.validate_python(
            details, by_alias=self.by_alias, by_name=not self.by_alias
        )

    def write(self, value: Any) -> Any:
        """Return a value as JSON, as the log holds it."""
        return exact(self.adapter.dump_python(value, mode="json", by_alias=self.by_alias))

    def schema(self) -> dict[str, Any] | None:
        """Return the JSON schema, with the order of properties; None if the log cannot hold it."""
        schema = self.adapter.json_schema(by_alias=self.by_alias)
        _note_order(schema)
        try:
            exact(schema, "schema")
        except InexactError:
            return None
        return schema


def details_of(details: Any) -> tuple[Any, DetailsType | None]:
    """Return details as the JSON that the log holds, and how to read it.

    Raises:
        ApplicationError: The log cannot hold them exactly, or they come back as something else.
    """
    try:
        if type(details) in _PLAIN:
            return exact(details), None
        return _typed(details)
    except _NO_JSON as error:
        raise ApplicationError(
            f"The details of an approval cannot be what everybody sees. {error}",
            type="ValueError",
            non_retryable=True,
        ) from error


def _typed(details: Any) -> tuple[Any, DetailsType]:
    adapter: TypeAdapter[Any] = TypeAdapter(cast("type[Any]", type(details)))
    _check_written(adapter.dump_python(details, warnings=False), "details")
    written: Any = None
    for by_alias in (True, False):
        kind = DetailsType(adapter, by_alias)
        written = kind.write(details)
        try:
            read = kind.read(written)
            if details_hash(kind.write(read)) == details_hash(written) and _same(details, read):
                return written, kind
        except ValidationError:
            continue
    raise InexactError(
        "details",
        f"a {type(details).__name__} does not come back from its own JSON, {written!r:.200}, as "
        "what it was. Look at its aliases, validators, excluded and computed fields, secrets, and "
        "fields of a wider type than what they hold.",
    )


def _same(one: Any, other: Any) -> bool:
    """Say whether two values are alike in all that their author may read, shown or not."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(_same, items, others))
    return _same_object(one, other)


def _same_object(one: Any, other: Any) -> bool:
    kind = cast("type[Any]", type(one))
    if kind is not type(other):
        return bool(one == other)
    if isinstance(one, dict):
        fields, kept = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return fields.keys() == kept.keys() and all(_same(fields[key], kept[key]) for key in fields)
    if isinstance(one, BaseModel):
        names = [*kind.model_fields, *(one.model_extra or {})]
    elif is_dataclass(kind):
        names = [each.name for each in fields_of(kind)]
    else:
        return bool(one == other) or kind.__eq__ is object.__eq__
    missing = object()
    first, second = cast("object", one), cast("object", other)
    return all(
        _same(getattr(first, each, missing), getattr(second, each, missing)) for each in names
    )


def _check_written(value: Any, path: str) -> None:
    """Refuse what JSON would write in any order, under one key twice, or as null."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InexactError(path, f"JSON has no number {value!r}. Write it as a text.")
    if isinstance(value, (set, frozenset)):
        raise InexactError(path, "a set has no order. Use a list.")
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        if len({str(key) for key in fields}) < len(fields):
            raise InexactError(path, "two of its keys are the same text in JSON.")
        for key, each in fields.items():
            _check_written(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(cast("list[Any]", value)):
            _check_written(each, f"{path}[{at}]")


def validated(kind: DetailsType, details: Any) -> Any:
    """Return changed details as the JSON of what they are.

    Raises:
        RefusedError: They are no such thing; says what is wrong where.
    """
    try:
        read = kind.read(details)
        written = kind.write(read)
        _check_taken(exact(details), written, read, "details")
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(step) for step in each['loc']) or 'details'}: {each['msg']}"
            for each in error.errors()
        )
        raise RefusedError(f"The changed details are not valid: {problems}.") from error
    except (PydanticSerializationError, InexactError) as error:
        raise RefusedError(f"The changed details cannot be kept exactly: {error}") from error
    return written


def _check_taken(given: Any, taken: Any, read: Any, path: str) -> None:
    """Refuse changed details of which the model would drop, add or replace something.

    Args:
        given: What somebody has typed.
        taken: What it is written as once it is read.
        read: The value between them, which knows what of it is computed.
        path: Where it stands.
    """
    if isinstance(given, dict) and isinstance(taken, dict):
        fields, kept = cast("dict[str, Any]", given), cast("dict[str, Any]", taken)
        for name in sorted({*fields, *kept} - _computed(read)):
            if name not in kept or name not in fields:
                what = "has no" if name not in kept else "needs"
                raise RefusedError(
                    f"The changed details are not valid: {path} {what} {name!r:.60}. Give the "
                    "fields of the model, all of them."
                )
            _check_taken(fields[name], kept[name], _inner(read, name), f"{path}.{name}")
    elif isinstance(given, list) and isinstance(taken, list):
        items, kept_items = cast("list[Any]", given), cast("list[Any]", taken)
        if len(items) != len(kept_items):
            raise RefusedError(f"The changed details are not valid: {path} has another length.")
        sequence = isinstance(read, (list, tuple))
        values = list(cast("list[Any]", read)) if sequence else [None] * len(items)
        for at, (one, other, value) in enumerate(zip(items, kept_items, values, strict=False)):
            _check_taken(one, other, value, f"{path}[{at}]")
    elif _json_type(given) in ("number", "boolean") and (given, _json_type(given)) != (
        taken,
        _json_type(taken),
    ):
        if isinstance(taken, str):
            return  # a Decimal
        raise RefusedError(
            f"The changed details are not valid: {path} would become {_short(taken)}, not "
            f"{_short(given)}."
        )


def _computed(value: Any) -> set[str]:
    if not isinstance(value, BaseModel):
        return set()
    computed = type(value).model_computed_fields
    return {*computed, *(each.alias for each in computed.values() if each.alias)}


def _inner(value: Any, name: str) -> Any:
    """Return the value of a field that is written under a name."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name)
    if isinstance(value, BaseModel):
        for field, info in type(value).model_fields.items():
            if name in (info.serialization_alias, info.alias):
                name = field
    return getattr(value, name, None)


def like_asked(asked: Any, details: Any) -> Any:
    """Return changed details that no model describes: of the shape of what was asked.

    Raises:
        RefusedError: They have other fields, or values of another type.
    """
    changed = exact(details)
    _check_like(asked, changed, "details")
    return changed


def _check_like(asked: Any, given: Any, path: str) -> None:
    kind, other = _json_type(asked), _json_type(given)
    if path == "details" and asked is None:
        raise RefusedError("The request has no details that could be changed.")
    if kind != other and "null" not in (kind, other):
        raise RefusedError(f"The changed details are not valid: {path} is no {kind}, but {other}.")
    if isinstance(asked, dict) and asked and isinstance(given, dict):
        fields, changed = cast("dict[str, Any]", asked), cast("dict[str, Any]", given)
        for name in sorted({*fields, *changed}):
            if name not in fields or name not in changed:
                what = "has no" if name not in fields else "needs"
                raise RefusedError(
                    f"The changed details are not valid: {path} {what} {name!r:.60}. Give the "
                    "fields that were asked, all of them."
                )
            _check_like(fields[name], changed[name], f"{path}.{name}")


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    names = {str: "text", dict: "object", list: "list"}
    return next((name for each, name in names.items() if isinstance(value, each)), "null")


def changes_between(before: Any, after: Any) -> str:
    """Return in words what has changed in details."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return f"{_short(before)} → {_short(after)}"
    old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    more = f" and {len(changed) - _MOST_CHANGES} more" if len(changed) > _MOST_CHANGES else ""
    shown = [f"{name}: {_short(old.get(name))} → {_short(new.get(name))}" for name in changed]
    return "; ".join(shown[:_MOST_CHANGES]) + more


_MOST_CHANGES, _LONGEST_VALUE = 10, 200


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(canonical(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _note_order(schema: Any) -> None:
    """Write the order of properties down: the protobuf Struct that carries the schema has none."""
    if isinstance(schema, list):
        for each in cast("list[Any]", schema):
            _note_order(each)
    elif isinstance(schema, dict):
        described = cast("dict[str, Any]", schema)
        properties = described.get("properties")
        if isinstance(properties, dict):
            described[PROPERTY_ORDER] = list(cast("dict[str, Any]", properties))
        for name, each in described.items():
            if name not in ("default", "examples", "enum", "const"):
                _note_order(each)
