"""The details of an approval: as JSON for everybody, validated where somebody changes them."""

from typing import Any, cast

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import TypeAdapter, ValidationError

    from a2a_temporal._log.requests import PROPERTY_ORDER, RefusedError

_PLAIN = (type(None), dict, list, str, int, float, bool)


def details_of(details: Any) -> tuple[Any, "TypeAdapter[Any] | None", dict[str, Any] | None]:
    """Return details as plain JSON, how to validate changed ones, and their JSON schema."""
    if type(details) in _PLAIN:
        return details, None, None
    adapter: TypeAdapter[Any] = TypeAdapter(cast("type[Any]", type(details)))
    schema = adapter.json_schema()
    _note_order(schema)
    return adapter.dump_python(details, mode="json"), adapter, schema


def validated(adapter: "TypeAdapter[Any]", details: Any) -> Any:
    """Return changed details as the JSON of what they are.

    Raises:
        RefusedError: They are no such thing; says what is wrong where.
    """
    try:
        return adapter.dump_python(adapter.validate_python(details), mode="json")
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(step) for step in each['loc']) or 'details'}: {each['msg']}"
            for each in error.errors()
        )
        raise RefusedError(f"The changed details are not valid: {problems}.") from error


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
