"""``FileSystemStorage``: large payloads in files, for one machine or a shared file system."""

import asyncio
import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    DataConverter,
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

STORAGE_VARIABLE: Final = "A2A_TEMPORAL_STORAGE"

_DIGEST = "sha256"


class StoredPayloadError(Exception):
    """A payload that was stored outside Temporal is not there, or is not what was stored."""


class FileSystemStorage(StorageDriver):
    """Keep payloads as files named by their content; Temporal's history keeps the names.

    Servers and workers must see the same directory. For several machines without a shared file
    system use the S3 or GCS driver of ``temporalio.contrib`` the same way. Files are never deleted
    here: remove those that are older than the namespace's retention.

    Args:
        directory: Made when missing; readable by its owner only.
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)

    def name(self) -> str:
        """Return the name by which histories refer to this driver."""
        return "a2a-temporal-files"

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Write each payload to its file; one that is there already only becomes young again."""
        return [await asyncio.to_thread(self._write, payload) for payload in payloads]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Read payloads back.

        Raises:
            StoredPayloadError: A file is missing or damaged.
        """
        return [await asyncio.to_thread(self._read, claim) for claim in claims]

    def _write(self, payload: Payload) -> StorageDriverClaim:
        content = payload.SerializeToString(deterministic=True)
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        try:
            # Whoever removes what is older than the retention must not remove what is used anew.
            os.utime(path)
        except FileNotFoundError:
            _write_whole(path, content)
        return StorageDriverClaim({_DIGEST: digest})

    def _read(self, claim: StorageDriverClaim) -> Payload:
        digest = claim.claim_data.get(_DIGEST, "")
        if len(digest) != hashlib.sha256().digest_size * 2 or not digest.isalnum():
            raise StoredPayloadError(f"{digest!r} is no name of a stored payload.")
        try:
            content = self._path(digest).read_bytes()
        except OSError as error:
            raise StoredPayloadError(
                f"The payload {digest} is not in {self._directory}. Every server and worker needs "
                "the directory the payload was written to."
            ) from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoredPayloadError(f"The file of payload {digest} is damaged.")
        return Payload.FromString(content)

    def _path(self, digest: str) -> Path:
        return self._directory / digest[:2] / digest


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none, whenever we are killed."""
    for directory in (path.parent.parent, path.parent):  # the mode does not hold for parents
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        # On a full disk the attempts that follow would each leave one.
        Path(unfinished).unlink(missing_ok=True)
        raise


def stored(converter: DataConverter, env: Mapping[str, str] | None = None) -> DataConverter:
    """Return the converter with the storage the environment names, unless it has one.

    Args:
        converter: A data converter.
        env: The environment, when it is not the one of the process.
    """
    directory = (os.environ if env is None else env).get(STORAGE_VARIABLE, "")
    if not directory or converter.external_storage is not None:
        return converter
    storage = ExternalStorage(drivers=[FileSystemStorage(directory)])
    return dataclasses.replace(converter, external_storage=storage)
