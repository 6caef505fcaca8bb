"""Which errors of a storage or a codec pass by themselves, and which mean that a thing is lost."""

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from google.protobuf.message import DecodeError

from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._server.errors import is_unreadable
from a2a_temporal._storage import StoredPayloadError


class _BotoError(Exception):
    __module__ = "botocore.exceptions"

    def __init__(self, status: int, code: str = "") -> None:
        self.response: dict[str, Any] = {
            "ResponseMetadata": {"HTTPStatusCode": status},
            "Error": {"Code": code},
        }


class _GoogleError(Exception):
    __module__ = "google.api_core.exceptions"

    def __init__(self, code: int) -> None:
        self.code = code


class _GrpcError(Exception):
    __module__ = "grpc.aio"

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self._status = SimpleNamespace(name=status)

    def code(self) -> Any:
        return self._status


def _raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


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
        _answered(401),
        _BotoError(400, "ThrottlingException"),
        _BotoError(403, "AccessDenied"),
        _GoogleError(503),
        _GrpcError("UNAVAILABLE"),
        _raised_from(ConnectionResetError("the replica"), FileNotFoundError("the cache")),
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
        _answered(400),
        _answered(422),
        _BotoError(400, "InvalidCiphertextException"),
        _BotoError(403, "InvalidObjectState"),
        _GoogleError(404),
        _GrpcError("NOT_FOUND"),
        _raised_from(_GoogleError(404), _GrpcError("UNKNOWN")),
    ],
    ids=repr,
)
def test_what_says_that_something_is_not_there_does_not(cause: Exception, wrapped: bool) -> None:
    assert is_unreadable(_unreadable(cause, wrapped=wrapped))


def test_a_log_without_its_key_cannot_be_read() -> None:
    assert is_unreadable(LogUnreadableError("The task log is encrypted, and no key is set here"))
