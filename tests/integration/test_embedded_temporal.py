"""The embedded Temporal: started, killed, found again; never two on one database."""

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import Client

from a2a_temporal import _embedded
from a2a_temporal._embedded import EmbeddedTemporal, EmbeddedTemporalError
from a2a_temporal._embedded_state import DIRECTORY, is_alive, make_private, running_address
from a2a_temporal._log.wire import SEARCH_ATTRIBUTES, STATE_ATTRIBUTE
from tests.support.processes import Process
from tests.support.waiting import eventually

OWNER = """
import asyncio, pathlib, sys
from a2a_temporal._embedded import EmbeddedTemporal

async def main():
    server = EmbeddedTemporal(directory=pathlib.Path(sys.argv[1]))
    await server.start()
    print("pid", server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@workflow.defn
class Sleeper:
    @workflow.run
    async def run(self) -> None:
        await workflow.sleep(timedelta(days=3))


async def test_it_runs_in_its_directory_and_leaves_only_data_behind(tmp_path: Path) -> None:
    folder = tmp_path / "embedded"
    folder.mkdir(mode=0o755)  # as older versions made it
    async with EmbeddedTemporal(directory=folder) as server:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert running_address(folder) == server.address
        client = await server.client()
        await client.count_workflows(f"{STATE_ATTRIBUTE} = 'x'")
        assert server.workflow_url("a/b").endswith("/namespaces/default/workflows/a%2Fb")
        pid = server.pid
    assert not is_alive(pid)
    assert running_address(folder) is None
    assert (folder / ".gitignore").read_text() == "*\n"
    assert open_to_others(folder) == []


def test_the_usual_directory_is_closed_even_where_it_was_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        DIRECTORY.mkdir()
        (DIRECTORY / "temporal.db").touch()
        make_private(DIRECTORY)
        make_private(DIRECTORY / "demo")
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared" / "notes.txt").touch()
        make_private(Path("shared"))
    finally:
        os.umask(before)
    assert open_to_others(DIRECTORY) == []
    assert open_to_others(DIRECTORY / "demo") == []
    assert tmp_path / "shared" in open_to_others(tmp_path / "shared"), "not ours to close"


def open_to_others(folder: Path) -> list[Path]:
    """Return what of a directory others may read; what is below a closed one they may not."""
    if not folder.stat().st_mode & 0o077:
        return [
            each
            for each in folder.glob("temporal*")
            if each.stat().st_mode & 0o077 and each.is_file()
        ]
    return [folder]


async def test_workflows_and_ports_survive_a_kill(tmp_path: Path) -> None:
    server = EmbeddedTemporal(directory=tmp_path)
    await server.start()
    try:
        before = (server.address, server.ui_url)
        await _start_workflow(await server.client())
        await server.kill()
        await server.start()
        assert (server.address, server.ui_url) == before
        found = await (await server.client()).get_workflow_handle("w").describe()
        assert found.workflow_type == "Sleeper"
    finally:
        await server.stop()


async def test_ports_are_kept_from_one_start_to_the_next(tmp_path: Path) -> None:
    addresses: set[str] = set()
    for _ in range(2):
        async with EmbeddedTemporal(directory=tmp_path) as server:
            addresses.add(server.address)
    assert len(addresses) == 1


async def test_two_directories_have_two_servers_at_once(tmp_path: Path) -> None:
    async with (
        EmbeddedTemporal(directory=tmp_path / "a") as one,
        EmbeddedTemporal(directory=tmp_path / "b") as two,
    ):
        assert one.address != two.address
        await _start_workflow(await one.client())
        assert (await (await two.client()).count_workflows("")).count == 0


async def test_servers_that_start_at_the_same_moment_get_ports_of_their_own(tmp_path: Path) -> None:
    servers = [EmbeddedTemporal(directory=tmp_path / name) for name in ("a", "b", "c")]
    async with contextlib.AsyncExitStack() as stack:
        for server in servers:
            stack.push_async_callback(server.stop)
        await asyncio.gather(*(server.start() for server in servers))
        await _start_workflow(await servers[0].client())
        counts = [(await (await each.client()).count_workflows("")).count for each in servers]
        assert counts == [1, 0, 0]


async def test_a_server_of_a_living_owner_is_shared_and_not_stopped(tmp_path: Path) -> None:
    async with _owned(tmp_path) as (owner, pid):
        async with EmbeddedTemporal(directory=tmp_path) as server:
            assert server.pid == pid
        assert is_alive(pid)
        assert owner.running


async def test_a_server_whose_owner_was_killed_is_taken_over_and_stopped(tmp_path: Path) -> None:
    async with _owned(tmp_path) as (owner, pid):
        owner.kill()
        assert is_alive(pid), "the server should outlive its owner"
        async with EmbeddedTemporal(directory=tmp_path) as server:
            assert server.pid == pid
        assert not is_alive(pid)


async def test_a_server_that_hangs_is_replaced_at_the_same_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_embedded, "JOIN_SECONDS", 1.0)
    async with _owned(tmp_path) as (owner, pid):
        owner.kill()
        os.kill(pid, signal.SIGSTOP)
        before = running_address(tmp_path)
        async with EmbeddedTemporal(directory=tmp_path) as server:
            assert server.pid != pid
            assert server.address == before
        assert not is_alive(pid)


async def test_a_note_about_somebody_elses_process_is_ignored(tmp_path: Path) -> None:
    note = f'{{"pid": {os.getpid()}, "owner": {os.getpid()}, "port": 1, "ui_port": 2}}'
    (tmp_path / "server.json").write_text(note)
    assert running_address(tmp_path) is None
    async with EmbeddedTemporal(directory=tmp_path) as server:
        assert server.pid != os.getpid()


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedTemporalError, match=f"port {port} is in use"):
            await EmbeddedTemporal(directory=tmp_path, port=port).start()


async def test_an_old_database_gets_the_search_attributes_of_a_new_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_some = dict(list(SEARCH_ATTRIBUTES.items())[:2])
    with monkeypatch.context() as patched:
        patched.setattr(_embedded, "SEARCH_ATTRIBUTES", only_some)
        patched.setattr(_embedded, "register_search_attributes", _register_nothing)
        async with EmbeddedTemporal(directory=tmp_path):
            pass
    async with EmbeddedTemporal(directory=tmp_path) as server:
        client = await server.client()
        for name in SEARCH_ATTRIBUTES:
            await eventually(
                lambda name=name: client.count_workflows(f"{name} IS NULL"), within=5, what=name
            )


async def test_without_the_program_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EmbeddedTemporalError, match=r"a2a-temporal\[embedded\]"):
        await EmbeddedTemporal(directory=tmp_path).start()


async def test_a_server_that_ends_at_once_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "temporal"
    program.write_text("#!/bin/sh\necho 'Error: no such luck' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(EmbeddedTemporalError, match="no such luck"):
        await EmbeddedTemporal(directory=tmp_path / "data").start()


@asynccontextmanager
async def _owned(folder: Path) -> AsyncGenerator[tuple[Process, int]]:
    """A server that another process has started and owns."""
    owner = Process(
        "owner", [sys.executable, "-c", OWNER, str(folder)], env={}, log=folder / "owner.log"
    )
    owner.start()
    try:
        await owner.logged("pid ", within=30)
        yield owner, int(owner.output().split()[-1])
    finally:
        owner.kill()
        await owner.put_away()
        # Whoever fails above must not leave a server behind.
        server = EmbeddedTemporal(directory=folder)
        if running_address(folder) is not None:
            await server.start()
            await server.kill()


async def _start_workflow(client: Client) -> None:
    await client.start_workflow(Sleeper.run, id="w", task_queue="nobody")


async def _register_nothing(_: object) -> bool:
    return await asyncio.sleep(0, True)
