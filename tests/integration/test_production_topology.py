"""The topology of docker-compose.yml without containers: the same commands, a real nginx."""

import asyncio
import json
import os
import shutil
import sys
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from a2a_temporal._app import DEFAULT_MAX_BODY_BYTES
from tests.support.calls import Caller, send_params
from tests.support.compose import Service, config, made_secrets, services
from tests.support.processes import Process, free_port
from tests.support.results import artifact_text, state
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")

pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx (Debian: nginx-light)")

EXPENSE = "42.50 EUR to Blue Taxi for the airport ride"


@dataclass
class Topology:
    """What runs."""

    proxy: str
    inbox: str
    apis: list[Process]
    workers: list[Process]
    metrics: int
    volumes: Path
    tokens: dict[str, str]
    http: httpx.AsyncClient

    @property
    def caller(self) -> Caller:
        """A caller that goes through the proxy."""
        return Caller(http=self.http, url=self.proxy, binding="JSONRPC")


@pytest.fixture(scope="module")
async def topology(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Topology]:
    folder = tmp_path_factory.mktemp("topology")
    described = services()
    queue, metrics, ports = f"expenses-{uuid.uuid4()}", free_port(), [free_port(), free_port()]
    inbox_port, proxy_port = free_port(), free_port()
    env = {"TEMPORAL_ADDRESS": temporal.address, "TASK_QUEUE": queue}
    volumes = folder / "volumes"
    people = made_secrets(folder)
    tokens = {each["name"]: token for token, each in json.loads(people.read_text("utf-8")).items()}

    def process(name: str, service: Service, **changed: str) -> Process:
        swapped = {"/run/secrets/people": str(people), "--port=8000": f"--port={inbox_port}"}
        arguments = [each for each in service.command if each != "0.0.0.0"]
        for old, new in swapped.items():
            arguments = [each.replace(old, new) for each in arguments]
        arguments = [each for each in arguments if not each.startswith("--host")]
        command = [sys.executable, "-m", "a2a_temporal", *arguments]
        return Process(
            name,
            command,
            env={**_with_volumes(service, volumes), **env, **changed},
            log=folder / f"{name}.log",
        )

    proxy_url = f"http://127.0.0.1:{proxy_port}"
    apis = [
        process(
            f"api-{port}",
            described["api"],
            A2A_PORT=str(port),
            A2A_PUBLIC_URL=proxy_url,
            A2A_METRICS=f"127.0.0.1:{free_port()}",
        )
        for port in ports
    ]
    workers = [
        process("worker-1", described["worker"], A2A_METRICS=f"127.0.0.1:{metrics}"),
        process("worker-2", described["worker"], A2A_METRICS=f"127.0.0.1:{free_port()}"),
    ]
    inbox = process("inbox", described["inbox"])
    proxy = _nginx(folder, proxy_port, ports)
    running = [*apis, *workers, inbox, proxy]
    for each in running:
        each.start()
    async with httpx.AsyncClient(timeout=30) as http:
        inbox_url = f"http://127.0.0.1:{inbox_port}"
        made = Topology(proxy_url, inbox_url, apis, workers, metrics, volumes, tokens, http)
        servers = [*(f"http://127.0.0.1:{port}" for port in ports), proxy_url]
        for url in [*(f"{each}/readyz" for each in servers), f"{inbox_url}/healthz"]:

            async def answers(url: str = url) -> bool:
                for each in running:
                    each.must_run()
                return await _answers(http, url)

            await eventually(answers, within=60, what=f"an answer of {url}")
        yield made
    for each in running:
        await each.put_away()


def _with_volumes(service: Service, volumes: Path) -> dict[str, str]:
    """The environment of a service, with a directory of its own for every volume it names."""
    environment = service.environment
    for target, volume in service.volumes.items():
        for name, value in environment.items():
            if value == target or value.startswith(f"{target}/"):
                environment[name] = value.replace(target, str(volumes / volume), 1)
    return environment


def _nginx(folder: Path, port: int, apis: list[int]) -> Process:
    """The proxy of the file, with the two servers by their ports."""
    upstream = "".join(f"    server 127.0.0.1:{each};\n" for each in apis)
    site = config("proxy").replace("resolver 127.0.0.11 valid=5s;", "")
    site = site.replace("  server api:8000 resolve;\n", upstream)
    site = site.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    assert "api:8000" not in site
    temporary = "\n".join(
        f"  {name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        # Where the tests run as root, nginx's workers too: the folder is root's.
        f"{'user root;' if os.geteuid() == 0 else ''}\n"
        f"pid {folder}/nginx.pid;\nevents {{}}\n"
        f"http {{\n  access_log off;\n{temporary}\n{site}}}\n",
        encoding="utf-8",
    )
    command = [
        str(NGINX),
        "-c",
        str(folder / "nginx.conf"),
        "-e",
        str(folder / "nginx-errors.log"),
        "-g",
        "daemon off;",
    ]
    return Process("nginx", command, env={}, log=folder / "nginx.log")


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).is_success
    except httpx.HTTPError:
        return False


async def _asked(topology: Topology) -> str:
    task = await topology.caller.send_task(EXPENSE)
    assert state(task) == "INPUT_REQUIRED"
    return str(task["id"])


async def test_the_card_names_the_proxy(topology: Topology) -> None:
    card = (await topology.http.get(f"{topology.proxy}/.well-known/agent-card.json")).json()
    assert {each["url"].rstrip("/") for each in card["supportedInterfaces"]} == {topology.proxy}


async def test_servers_without_affinity_agree(topology: Topology) -> None:
    task_id = await _asked(topology)
    answers = [await topology.caller.get(task_id) for _ in range(6)]
    assert all(answer == answers[0] for answer in answers)


async def test_the_proxy_passes_what_the_server_takes_and_what_it_refuses_itself(
    topology: Topology,
) -> None:
    large = await topology.caller.raw("SendMessage", send_params("x" * 1_200_000))
    assert large.status_code == httpx.codes.OK, large.text
    too_large = send_params("x" * (DEFAULT_MAX_BODY_BYTES + 1))
    refused = await topology.caller.raw("SendMessage", too_large)
    assert refused.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
    assert str(DEFAULT_MAX_BODY_BYTES) in refused.json()["error"]["message"]


async def test_an_expense_is_approved_by_two_people_in_the_inbox(topology: Topology) -> None:
    task_id = await _asked(topology)
    for name in ("ann", "bob"):
        headers = {"Authorization": f"Bearer {topology.tokens[name]}"}
        page = await topology.http.get(f"{topology.inbox}/tasks/{task_id}", headers=headers)
        assert page.status_code == httpx.codes.OK, page.text
        assert "Blue Taxi" in page.text
    stranger = {"Authorization": f"Bearer {topology.tokens['cfo']}"}
    hidden = await topology.http.get(f"{topology.inbox}/tasks/{task_id}", headers=stranger)
    assert hidden.status_code == httpx.codes.NOT_FOUND


async def test_a_dead_server_and_a_dead_worker_are_not_missed(topology: Topology) -> None:
    task_id = await _asked(topology)
    dead = [topology.apis[0], topology.workers[0]]
    for each in dead:
        each.kill()
    try:
        answers = [await topology.caller.get(task_id) for _ in range(4)]
        assert {state(answer) for answer in answers} == {"INPUT_REQUIRED"}
        refused = await topology.caller.send_task("nonsense")
        assert state(refused) == "FAILED"
        assert "42.50 EUR" in str(refused["status"])
    finally:
        for each in dead:
            each.start()


async def test_prometheus_finds_the_worker(topology: Topology) -> None:
    url = f"http://127.0.0.1:{topology.metrics}/metrics"

    async def counted() -> bool:
        try:
            return "temporal_" in (await topology.http.get(url)).text
        except httpx.HTTPError:
            return False

    await eventually(counted, within=60)


async def test_nothing_is_lost_when_everything_restarts(
    topology: Topology, temporal: TemporalServer
) -> None:
    task_id = await _asked(topology)
    for each in [*topology.apis, *topology.workers]:
        each.kill()
        each.start()
    await eventually(lambda: _answers(topology.http, f"{topology.proxy}/readyz"), within=60)
    client = await temporal.client()
    for name in ("ann", "bob"):
        await client.get_workflow_handle(task_id).signal("approve", {"by": name, "as": "finance"})

    async def paid() -> bool:
        await asyncio.sleep(0.2)
        return state(await topology.caller.get(task_id)) == "COMPLETED"

    await eventually(paid, within=60)
    assert "Blue Taxi" in artifact_text(await topology.caller.get(task_id), "receipt")
    written = [path.name for path in topology.volumes.rglob("payment-*.json")]
    assert len(written) == 1, written
