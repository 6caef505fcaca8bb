"""Which errors of a storage or a codec pass by themselves, and which mean that a thing is lost."""

import asyncio
from typing import Any

import httpx
import pytest
from google.protobuf.message import DecodeError

from a2a_temporal._log.history import LogUnreadableError
from a2a_temporal._server.engine_errors import is_unreadable
from a2a_temporal._storage import StoredPayloadError


class _BotoError(Exception):
    __module__ = "botocore.exceptions"

    def __init__(self, status: int) -> None:
        self.response: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": status}}


class _GoogleError(Exception):
    __module__ = "google.api_core.exceptions"

    def __init__(self, code: int) -> None:
        self.code = code


def _answered(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://codec.example/decode")
    return httpx.HTTPStatusError("", request=request, response=httpx.Response(status))


def _unreadable(cause: BaseException, *, wrapped: bool) -> BaseException:
    """What reading a log raises, with or without the storage driver's own error in between."""
    try:
        try:
            raise cause
        except Exception as error:
            if not wrapped:
                raise
            raise RuntimeError("StorageDriver retrieve failed") from error
    except Exception as error:
        unreadable = LogUnreadableError("A payload of the task log could not be decoded")
        unreadable.__cause__ = error
        return unreadable


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    "cause",
    [
        ConnectionRefusedError("10.0.0.1"),
        asyncio.TimeoutError(),
        OSError(5, "Input/output error"),
        httpx.ConnectError("All connection attempts failed"),
        httpx.ReadTimeout(""),
        _answered(503),
        _BotoError(503),
        _GoogleError(503),
    ],
    ids=repr,
)
def test_what_says_that_a_service_is_down_passes(cause: Exception, wrapped: bool) -> None:
    assert not is_unreadable(_unreadable(cause, wrapped=wrapped))


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    "cause",
    [
        FileNotFoundError("payload"),
        PermissionError("payload"),
        StoredPayloadError("It is damaged."),
        KeyError("no such key"),
        DecodeError("wrong wire type"),
        _answered(404),
        _BotoError(404),
        _GoogleError(404),
    ],
    ids=repr,
)
def test_what_says_that_something_is_not_there_does_not(cause: Exception, wrapped: bool) -> None:
    assert is_unreadable(_unreadable(cause, wrapped=wrapped))


def test_a_log_without_its_key_cannot_be_read() -> None:
    assert is_unreadable(LogUnreadableError("The task log is encrypted, and no key is set here"))
