"""A form for the details of a request, from their JSON schema, and back to JSON.

Inputs are plain text wherever a browser would drop what it does not like: what somebody typed is
kept and explained. What no input fits is edited as JSON.
"""

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from a2a_temporal._log.exact import read_json
from a2a_temporal._log.requests import PROPERTY_ORDER

Kind = Literal["text", "long", "number", "integer", "boolean", "choice", "lines", "json", "group"]
Schema = dict[str, Any]

_PREFIX = "details"
_DEEPEST = 4
_LONG_TEXT = 70
_TRUE = ("true", "on")
_SCALARS: dict[str, Kind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


@dataclass
class FormField:
    """One input, or a group of them; ``name`` is the path of the value."""

    name: str
    label: str
    kind: Kind
    path: tuple[str, ...]
    value: str = ""
    nullable: bool = False
    hint: str = ""
    error: str = ""
    options: list[str] = field(default_factory=list[str])
    meant: list[Any] = field(default_factory=list[Any])
    item: Kind = "text"
    fields: list["FormField"] = field(default_factory=list["FormField"])


def form_for(
    schema: Schema | None,
    details: Any,
    *,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> FormField:
    """Return the form for details.

    Args:
        schema: Their JSON schema; made up from the details when there is none.
        details: What the inputs show.
        typed: What somebody typed, shown instead.
        errors: Field name → what is wrong with it.
    """
    root = schema or {}
    form = _field(root, root, details, (_PREFIX,), "")
    _fill(form, typed, errors or {})
    return form


def read_form(
    schema: Schema | None, details: Any, typed: Mapping[str, str]
) -> tuple[Any, dict[str, str]]:
    """Return the details as they were typed, and what cannot be read: field name → problem."""
    errors: dict[str, str] = {}
    holder: dict[str, Any] = {_PREFIX: copy.deepcopy(details)}
    _read(form_for(schema, details), typed, holder, errors)
    return holder[_PREFIX], errors


def differs(form: FormField, other: FormField) -> bool:
    """Say whether two forms of the same schema show different values."""
    if form.kind == "group":
        return any(differs(a, b) for a, b in zip(form.fields, other.fields, strict=True))
    if form.kind == "boolean":
        return (form.value in _TRUE) != (other.value in _TRUE)
    return form.value != other.value


def label_of(key: str) -> str:
    """Return a key as people write it: ``unit_price`` → ``Unit price``."""
    words = re.sub(r"[_\-]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key)).strip()
    return words[:1].upper() + words[1:] if words else key


def _field(root: Schema, schema: Schema, value: Any, path: tuple[str, ...], key: str) -> FormField:
    # Titles and descriptions of what is referred to are names and docstrings of classes.
    title, hint = str(schema.get("title", "")), str(schema.get("description", ""))
    schema, nullable = _resolved(root, schema)
    label = label_of(key)
    made = FormField(
        ".".join(path),
        title if title and title.lower() != label.lower() else label,
        "json",
        path,
        nullable=nullable,
        hint=hint if key else "",
    )
    options = schema.get("enum", [schema["const"]] if "const" in schema else None)
    kind = schema.get("type") or _type_of(value)
    if isinstance(options, list):
        made.kind = "choice"
        made.meant = [*([None] if nullable else []), *cast("list[Any]", options)]
        made.options = [_option(each) for each in made.meant]
        made.value = _option(value)
    elif kind == "object" and len(path) <= _DEEPEST and isinstance(value, dict):
        _group(made, root, schema, cast("dict[str, Any]", value))
    elif kind == "array" and _lines(made, root, schema, value):
        pass
    elif isinstance(kind, str) and kind in _SCALARS and _fits(kind, value):
        made.kind = _SCALARS[kind]
        made.value = "" if value is None else _text(value)
        if made.kind == "text" and ("\n" in made.value or len(made.value) > _LONG_TEXT):
            made.kind = "long"
    else:
        made.value = json.dumps(value, indent=2, ensure_ascii=False)
    return made


def _group(made: FormField, root: Schema, schema: Schema, value: dict[str, Any]) -> None:
    made.kind = "group"
    properties = _schema(schema.get("properties"))
    for key in _ordered(schema, {**properties, **value}):
        present = value.get(key, _schema(properties.get(key)).get("default"))
        made.fields.append(
            _field(root, _schema(properties.get(key)), present, (*made.path, key), key)
        )


def _ordered(schema: Schema, fields: dict[str, Any]) -> list[str]:
    order = schema.get(PROPERTY_ORDER)
    listed = [str(key) for key in cast("list[Any]", order)] if isinstance(order, list) else []
    return sorted(fields, key=lambda key: listed.index(key) if key in listed else len(listed))


def in_order(schema: Schema | None, value: Any) -> Any:
    """Return details with the fields of every object in the author's order."""
    return _in_order(schema or {}, schema or {}, value)


def _in_order(root: Schema, schema: Schema, value: Any) -> Any:
    schema, _ = _resolved(root, schema)
    if isinstance(value, list):
        items = _schema(schema.get("items"))
        return [_in_order(root, items, each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    properties = _schema(schema.get("properties"))
    return {
        key: _in_order(root, _schema(properties.get(key)), fields[key])
        for key in _ordered(schema, fields)
    }


def _lines(made: FormField, root: Schema, schema: Schema, value: Any) -> bool:
    """Make it a list of lines when its items are plain texts or numbers."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    described, nullable = _resolved(root, _schema(schema.get("items")))
    kind = str(described.get("type") or (_type_of(items[0]) if items else ""))
    plain = all(_fits(kind, each) and each is not None and "\n" not in str(each) for each in items)
    if kind not in ("string", "number", "integer") or nullable or not plain or "enum" in described:
        return False
    made.kind, made.item = "lines", _SCALARS[kind]
    made.value = "\n".join(_text(each) for each in items)
    return True


def _resolved(root: Schema, schema: Schema) -> tuple[Schema, bool]:
    """Follow references; returns the schema, and whether null is allowed beside it."""
    nullable = False
    for _ in range(_DEEPEST * 4):
        reference = schema.get("$ref")
        variants = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if isinstance(reference, str):
            schema = _at(root, reference)
        elif isinstance(variants, list):
            some = [_schema(each) for each in cast("list[Any]", variants)]
            others = [each for each in some if each.get("type") != "null"]
            nullable = nullable or len(others) < len(some)
            if len(others) != 1:
                return {"type": "any"}, nullable
            schema = others[0]
        else:
            break
    return schema, nullable


def _schema(value: Any) -> Schema:
    """Return a schema; what is none (JSON Schema allows true and false) says nothing."""
    return cast("Schema", value) if isinstance(value, dict) else {}


def _at(root: Schema, reference: str) -> Schema:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return _schema(found)


def _fill(form: FormField, typed: Mapping[str, str] | None, errors: Mapping[str, str]) -> None:
    for each in form.fields:
        _fill(each, typed, errors)
    if form.kind == "group":
        return
    if typed is not None:
        form.value = typed.get(form.name, "false" if form.kind == "boolean" else form.value)
    form.error = errors.get(form.name, "")


def _read(
    form: FormField, typed: Mapping[str, str], holder: dict[str, Any], errors: dict[str, str]
) -> None:
    key = form.path[-1]
    if form.kind == "group":
        inner = cast("dict[str, Any]", holder[key])
        for each in form.fields:
            _read(each, typed, inner, errors)
        return
    if form.name not in typed and form.kind != "boolean":
        return
    try:
        value = _value(form, typed.get(form.name, ""))
    except ValueError as error:
        errors[form.name] = str(error)
        return
    if key in holder or value not in (None, ""):
        holder[key] = value


def _value(form: FormField, text: str) -> Any:
    if form.kind == "boolean":
        return text in _TRUE
    if form.kind == "choice":
        if text not in form.options:
            raise ValueError("Choose one of: " + ", ".join(form.options) + ".")
        return form.meant[form.options.index(text)]
    if form.kind == "lines":
        return [_scalar(form.item, line.strip()) for line in text.split("\n") if line.strip()]
    if form.nullable and not text.strip():
        return None
    if form.kind == "json":
        try:
            return read_json(text)
        except ValueError as error:
            raise ValueError(f"This is not JSON: {error}.") from None
    return _scalar(form.kind, text)


def _scalar(kind: Kind, text: str) -> Any:
    if kind in ("text", "long"):
        return text
    text = text.strip()
    if re.fullmatch(r"[+-]?\d{1,300}", text):
        return int(text)
    if kind == "integer":
        raise ValueError(f"{text!r} is not a whole number.")
    if not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", text):
        raise ValueError(f"{text!r} is not a number; write it like 1250.5.")
    return float(text)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "any"


def _fits(kind: str, value: Any) -> bool:
    if value is None:
        return True
    actual = _type_of(value)
    return actual == kind or (kind == "integer" and actual == "number")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _option(value: Any) -> str:
    return "" if value is None else _text(value)
