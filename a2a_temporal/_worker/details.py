"""The details of an approval: one value for everybody, the one that the log holds.

What the author gives is written as JSON at once. That JSON is what people see, what is hashed and
compared, and what the decision hands out, read into the author's type again.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, cast

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import PydanticUserError, TypeAdapter, ValidationError
    from pydantic_core import PydanticSerializationError

    from a2a_temporal._log.exact import InexactError, exact
    from a2a_temporal._log.requests import PROPERTY_ORDER, RefusedError, canonical

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
            if kind.write(kind.read(written)) == written:
                return written, kind
        except ValidationError:
            continue
    raise InexactError(
        "details",
        f"a {type(details).__name__} does not come back from its own JSON, {written!r:.200}, as "
        "what it was. Look at its aliases, validators, excluded and computed fields.",
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
        return kind.write(kind.read(details))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(step) for step in each['loc']) or 'details'}: {each['msg']}"
            for each in error.errors()
        )
        raise RefusedError(f"The changed details are not valid: {problems}.") from error
    except (PydanticSerializationError, InexactError) as error:
        raise RefusedError(f"The changed details cannot be kept exactly: {error}") from error


def changes_between(before: Any, after: Any) -> str:
    """Return in words what has changed in details."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return f"{_short(before)} → {_short(after)}"
    old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    more = f" and {len(changed) - _MOST_CHANGES} more" if len(changed) > _MOST_CHANGES else ""
    told = [f"{name}: {_short(old.get(name))} → {_short(new.get(name))}" for name in changed]
    return "; ".join(told[:_MOST_CHANGES]) + more


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
