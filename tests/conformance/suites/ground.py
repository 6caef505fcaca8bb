"""What a suite is run against: the bench agent on real Temporal, one server or several replicas."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.support.cluster import Api, Cluster, Options, running_cluster
from tests.support.processes import free_port
from tests.support.push import KEYS
from tests.support.round_robin import round_robin
from tests.support.serving import served
from tests.support.temporal_server import running_server

_HOOKS: Final = ("--push-allow=127.0.0.1", "--push-allow=localhost", "--push-allow=example.invalid")


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Running servers.

    Attributes:
        url: Where a client finds the agent.
        replicas: The servers behind it.
        options: What they were started with.
        cluster: The rest of what runs.
    """

    url: str
    replicas: Sequence[Api]
    options: Sequence[str]
    cluster: Cluster

    @property
    def ports(self) -> list[int]:
        """The ports of the replicas."""
        return [urlsplit(each.url).port or 0 for each in self.replicas]


@contextlib.asynccontextmanager
async def bench_agent() -> AsyncGenerator[Cluster]:
    """Run Temporal and workers, and no server yet."""
    # Suites cancel, or subscribe to, what is still at work.
    options = Options(worker=_HOOKS, env={**KEYS, "PLAIN_TEXT_SECONDS": "2"})
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        async with (
            running_server(folder) as temporal,
            running_cluster(temporal, folder, apis=0, options=options) as cluster,
        ):
            yield cluster


@contextlib.asynccontextmanager
async def ground(
    cluster: Cluster,
    options: Sequence[str],
    *,
    replicas: int = 1,
    proxied: bool = False,
    grpc: bool = False,
) -> AsyncGenerator[Ground]:
    """Run servers, with a proxy in front that sends each request to the next one if `proxied`.

    Requests over gRPC pass by the proxy: each server's card names its own port.
    """
    options = ["--push", *_HOOKS, *options]
    proxy_port = free_port()
    url = f"http://127.0.0.1:{proxy_port}"
    if proxied:
        options = [*options, f"--url={url}"]
    apis: list[Api] = []
    try:
        while len(apis) < replicas:
            own = [f"--grpc-port={free_port()}"] if grpc else []
            apis.append(await cluster.add_api(*options, *own))
        if not proxied:
            yield Ground(url=apis[0].url, replicas=apis, options=options, cluster=cluster)
            return
        async with served(round_robin([each.url for each in apis]), port=proxy_port):
            yield Ground(url=url, replicas=apis, options=options, cluster=cluster)
    finally:
        for api in apis:
            api.process.kill()
