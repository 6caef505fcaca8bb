"""A line of the bench agent is read the way its author meant it."""

import pytest

from tests.bench_agent.commands import chunk_text, split


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("echo hi", [("echo", "hi")]),
        ("effect a; crash;effect b", [("effect", "a"), ("crash", ""), ("effect", "b")]),
        ("sleep-nohb 3", [("sleep-nohb", "3")]),
        ("echo a; then b", [("echo", "a; then b")]),
        ('echo-data {"a": "x;y"}', [("echo-data", '{"a": "x;y"}')]),
        ("hello there; echo a", [("echo", "hello there; echo a")]),
        ("asking", [("echo", "asking")]),
        (" ; ", []),
    ],
)
def test_commands_are_told_from_text(line: str, commands: list[tuple[str, str]]) -> None:
    assert split(line) == commands


def test_chunks_have_their_size_and_differ() -> None:
    chunks = [chunk_text(index, 40) for index in range(60)]
    assert {len(chunk) for chunk in chunks} == {40}
    assert len(set(chunks)) == 60
