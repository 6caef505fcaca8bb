"""P5: no URL of a client makes the server or the worker post into the own network."""

from collections.abc import AsyncIterator
from typing import Final

import pytest_asyncio

from tests.conftest import NewCluster
from tests.support.calls import Caller, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.hook import Answer, hook
from tests.support.push import inline, list_configs, pushing, set_config
from tests.support.waiting import eventually

INVALID_PARAMS: Final = -32602

REFUSED_URLS: Final = (
    "http://127.0.0.1:9/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://localhost/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::a00:1]/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "http://224.0.0.1/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "http://user:pass@example.com/",
    "http:///nohost",
    "//example.com/",
    "example.com",
    "http://example.com\\@127.0.0.1/",
    "http://exa mple.com/",
    "http://does-not-exist.invalid/",
)


@pytest_asyncio.fixture
async def cluster(new_cluster: NewCluster) -> AsyncIterator[Cluster]:
    async with new_cluster(options=pushing(allow=False)) as cluster:
        yield cluster


async def test_internal_urls_are_refused_and_leave_nothing_behind(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("ask it")
        context_id = f"refused-{caller.binding}"
        for url in REFUSED_URLS:
            config = {"url": url}
            options = {"configuration": inline(config)}
            await refused(set_config(caller, task["id"], config), code=INVALID_PARAMS)
            await refused(caller.send("answer", task_id=task["id"], **options), code=INVALID_PARAMS)
            await refused(
                caller.send("echo", context_id=context_id, **options), code=INVALID_PARAMS
            )
        assert await cluster.requests(task["id"]) == []
        assert not (await list_configs(caller, task["id"])).get("configs")
        marker = await caller.send_task("echo", context_id=context_id)
        found = await eventually(lambda: cluster.workflows_of_context(context_id), within=30)
        assert found == [marker["id"]]

    await over_every_binding(cluster.caller, scenario)


async def test_the_worker_checks_again(new_cluster: NewCluster) -> None:
    """Here the server allows what the worker does not, as if a name had changed its answer."""
    options = pushing(allow=False)
    server_allows = type(options)(
        api=(*options.api, "--push-allow=127.0.0.1"),
        worker=(*options.worker, "--push-attempts=2"),
    )
    async with new_cluster(options=server_allows) as cluster, hook() as receiver:
        task = await cluster.caller.send_task("ask it", configuration=inline(receiver.config()))
        worker = cluster.workers[0]
        await worker.logged("has an address that is not public", within=30)
        await worker.logged("Gave up push config", within=30)
        assert not receiver.seen
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


async def test_redirects_are_not_followed(new_cluster: NewCluster) -> None:
    statuses = (301, 302, 307, 308)
    async with (
        new_cluster(options=pushing("--push-attempts=2")) as cluster,
        hook() as receiver,
        hook() as elsewhere,
    ):
        receiver.script = lambda request: Answer(
            status=int(request.path.rpartition("/")[2]), headers={"location": elsewhere.url}
        )
        for status in statuses:
            config = {"url": f"{receiver.url}/{status}"}
            await cluster.caller.send("echo x", configuration=inline(config))
        for status in statuses:
            await cluster.workers[0].logged(f"127.0.0.1 answered {status}", within=30)
        await receiver.asked(2 * len(statuses))
        assert not elsewhere.seen
