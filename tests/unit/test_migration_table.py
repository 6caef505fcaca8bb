"""The names in the table of docs/migrating.md: the old are gone from a2a-sdk, the new are there."""

import importlib
import re

from tests.support.processes import ROOT

_NAME = re.compile(r"`((?:a2a|a2a_temporal|google\.protobuf)\.[\w.]+)[^`]*`")


def _rows() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
    table = page.partition("| 0.3 | 1.x |")[2]
    return re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)


def test_the_old_names_of_the_table_are_gone() -> None:
    old = [name for row in _rows() for name in _NAME.findall(row[0])]
    assert "a2a.types.TextPart" in old
    assert [name for name in old if _exists(name)] == []


def test_the_new_names_of_the_table_exist() -> None:
    new = [name for row in _rows() for name in _NAME.findall(row[1])]
    assert "a2a.helpers.new_text_part" in new
    assert [name for name in new if not _exists(name)] == []


def _exists(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False
