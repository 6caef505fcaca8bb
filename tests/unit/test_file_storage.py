"""Payloads in files: what is used again stays young, and a full disk is not filled with halves."""

import dataclasses
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from temporalio.converter import DataConverter, ExternalStorage

from a2a_temporal import FileSystemStorage

LARGE = "x" * 1_000_000
LONG_AGO = 1_000_000_000


def _converter(folder: Path) -> DataConverter:
    storage = ExternalStorage(drivers=[FileSystemStorage(folder)])
    return dataclasses.replace(DataConverter.default, external_storage=storage)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@contextmanager
def _files_of_at_most(size: int) -> Generator[None]:
    """Let no larger file be written: what a write meets on a full disk, as far as it gets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_payload_that_is_stored_again_is_no_old_file(tmp_path: Path) -> None:
    converter = _converter(tmp_path)
    await converter.encode([LARGE])
    (file,) = _files(tmp_path)
    os.utime(file, (LONG_AGO, LONG_AGO))
    payloads = await converter.encode([LARGE])
    assert _files(tmp_path) == [file]
    assert file.stat().st_mtime > LONG_AGO
    assert await converter.decode(payloads) == [LARGE]


async def test_a_write_that_fails_leaves_nothing_and_succeeds_later(tmp_path: Path) -> None:
    converter = _converter(tmp_path)
    for _ in range(3):
        with _files_of_at_most(100_000), pytest.raises(OSError, match="File too large"):
            await converter.encode([LARGE])
    assert _files(tmp_path) == []
    assert await converter.decode(await converter.encode([LARGE])) == [LARGE]
