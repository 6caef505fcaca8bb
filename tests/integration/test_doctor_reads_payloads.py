"""``a2a-temporal doctor`` says whether this process has the keys and the storage of the others."""

import base64
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from a2a_temporal import connect
from a2a_temporal._gateway import Gateway
from a2a_temporal._server.search_attributes import register_search_attributes
from tests.support.command_line import ran
from tests.support.in_process import Scripted, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

KEYS, STORAGE = "A2A_TEMPORAL_ENCRYPTION_KEYS", "A2A_TEMPORAL_STORAGE"
OLD, NEW, OTHER = (
    f"{key_id}:{base64.b64encode(bytes([number]) * 32).decode()}"
    for number, key_id in enumerate(("old", "new", "other"))
)
SAME_ID = f"new:{base64.b64encode(b'x' * 32).decode()}"


@pytest_asyncio.fixture(scope="module")
async def lonely(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TemporalServer]:
    """A Temporal with no task in it but those of this file."""
    server = TemporalServer(tmp_path_factory.mktemp("doctor"))
    await server.start()
    assert await register_search_attributes(Gateway(await server.client()))
    yield server
    await server.process.put_away()


async def _task(server: TemporalServer, env: Mapping[str, str], text: str = "say:x") -> None:
    client = await connect(address=server.address, env=env)
    async with running(client, Scripted()) as agent:
        await within(60, agent.send(text), what="the task")


async def _doctor(server: TemporalServer, env: Mapping[str, str]) -> str:
    """Return the line about payloads; nothing else may look like a traceback."""
    done = await ran(server.address, "doctor", env=env)
    assert "Traceback" not in done.out + done.err
    lines = [line for line in done.out.splitlines() if line[6:].startswith("payloads")]
    assert len(lines) == 1, done.out
    return lines[0]


async def test_each_key_and_what_is_missing(lonely: TemporalServer) -> None:
    assert "no task yet" in await _doctor(lonely, {})
    await _task(lonely, {KEYS: OLD})
    await _task(lonely, {KEYS: f"{NEW},{OLD}"})

    right = await _doctor(lonely, {KEYS: f"{NEW},{OLD}"})
    assert right.startswith("ok    payloads")
    assert "the 2 newest tasks can be read, encrypted with key 'new'" in right

    one = await _doctor(lonely, {KEYS: NEW})
    assert one.startswith("FAIL  payloads")
    assert "1 of the 2 newest tasks cannot be read here" in one
    assert f"key 'old', which this process does not have. Add it to {KEYS}" in one

    wrong = await _doctor(lonely, {KEYS: OTHER})
    assert "2 of the 2 newest tasks" in wrong
    assert "key 'new'" in wrong

    forged = await _doctor(lonely, {KEYS: f"{SAME_ID},{OLD}"})
    assert "does not open with key 'new'" in forged

    none = await _doctor(lonely, {})
    assert none.startswith("FAIL  payloads")
    assert f"encrypted with key 'new', and no key is set here; set {KEYS}" in none

    await _task(lonely, {})
    mixed = await _doctor(lonely, {KEYS: f"{NEW},{OLD}"})
    assert mixed.startswith("note  payloads")
    assert "the newest is not encrypted" in mixed


async def test_large_starts_need_the_storage_of_the_others(
    lonely: TemporalServer, tmp_path: Path
) -> None:
    storage = {KEYS: f"{NEW},{OLD}", STORAGE: str(tmp_path / "stored")}
    await _task(lonely, storage, "say:x " + "y" * 400_000)
    right = await _doctor(lonely, storage)
    assert "can be read" in right, right
    without = await _doctor(lonely, {KEYS: f"{NEW},{OLD}"})
    assert without.startswith("FAIL  payloads")
    assert f"external storage, and none is set here; set {STORAGE}" in without
    elsewhere = await _doctor(lonely, {**storage, STORAGE: str(tmp_path / "empty")})
    assert elsewhere.startswith("FAIL  payloads")
    assert "is not in" in elsewhere
