"""The resumable-streams extension: a subscription goes on exactly where a stream was lost."""

import asyncio
import re
import uuid

import pytest

from a2a_temporal._server.resume import URI
from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, refused_to_open, send_params
from tests.support.cluster import Cluster, Options
from tests.support.frames import Frame, state_in
from tests.support.resets import reset_to_the_start
from tests.support.results import Json
from tests.support.waiting import eventually


def _resumable(caller: Caller, cursor: str | None = None, **headers: str) -> Caller:
    places = {"A2A_Stream_Cursor": cursor} if cursor else {}
    return caller.with_headers(**{"A2A_Extensions": URI, **places, **headers})


def _event(frame: Frame) -> Json:
    (event,) = frame.values()
    return event


def _cursor(frame: Frame) -> str:
    return str(_event(frame)["metadata"][URI]["cursor"])


def _generation(frame: Frame) -> int:
    generation = _event(frame)["metadata"][URI]["generation"]
    assert type(generation) is int
    return generation


def _bare(frame: Frame) -> Frame:
    """Return the frame as it is without the extension."""
    ((kind, event),) = frame.items()
    metadata = {name: value for name, value in event["metadata"].items() if name != URI}
    bare = {name: value for name, value in event.items() if name != "metadata"}
    return {kind: bare | ({"metadata": metadata} if metadata else {})}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_every_cursor_is_followed_by_exactly_the_rest(cluster: Cluster, binding: str) -> None:
    first, second = cluster.callers(binding=binding)
    async with _resumable(first).stream("chunks 6 8 0.2; ask colour?") as stream:
        sent = list(await stream.to_the_end())
    task_id = _event(sent[0])["id"]
    assert len({_cursor(frame) for frame in sent}) == len(sent)
    assert [_generation(frame) for frame in sent] == list(range(1, len(sent) + 1))

    for position, frame in enumerate(sent):
        async with _resumable(second, _cursor(frame)).subscribe(task_id) as resumed:
            rest = [await resumed.next() for _ in sent[position + 1 :]]
            assert rest == sent[position + 1 :]

    async with _resumable(second, _cursor(sent[-1])).subscribe(task_id) as resumed:
        await first.start("red", task_id=task_id)
        further = await resumed.to_the_end()
    assert not any("task" in frame for frame in further)
    assert state_in(further[-1]) == "COMPLETED"


async def test_a_stream_that_breaks_while_events_flow_is_resumed_without_a_gap(
    cluster: Cluster,
) -> None:
    first, second = cluster.callers()
    async with _resumable(first).stream("chunks 30 16 0.05") as stream:
        whole = asyncio.ensure_future(stream.to_the_end())
        task_id = _event(await stream.next())["id"]
        seen: list[Frame] = []
        cursor = None
        while not seen or state_in(seen[-1]) != "COMPLETED":
            caller = _resumable(second if len(seen) % 2 else first, cursor)
            async with caller.subscribe(task_id) as resumed:
                for _ in range(3):
                    seen.append(await resumed.next())
                    if state_in(seen[-1]) == "COMPLETED":
                        break
            cursor = _cursor(seen[-1])
        sent = await whole
    assert "task" in seen[0]
    start = next(i for i, frame in enumerate(sent) if _cursor(frame) == _cursor(seen[1]))
    assert seen[1:] == sent[start:]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_end_that_was_missed_is_delivered_after_the_task_has_ended(
    cluster: Cluster, binding: str
) -> None:
    caller = cluster.caller.over(binding)
    async with _resumable(caller).stream("chunks 3 8 0") as stream:
        sent = list(await stream.to_the_end())
    task_id = _event(sent[0])["id"]
    async with _resumable(caller, _cursor(sent[-2])).subscribe(task_id) as resumed:
        assert await resumed.to_the_end() == sent[-1:]
    nothing_left = _resumable(caller, _cursor(sent[-1])).subscribe(task_id)
    await refused_to_open(nothing_left, code=-32004, status=400)
    await refused_to_open(_resumable(caller).subscribe(task_id), code=-32004, status=400)


async def test_a_cursor_that_is_of_no_use_gets_a_snapshot(cluster: Cluster) -> None:
    caller = cluster.caller
    task = await caller.send_task("ask colour?")
    other = await caller.send_task("ask number?")
    async with _resumable(caller).subscribe(other["id"]) as stream:
        foreign = _cursor(await stream.next())
    for cursor in (foreign, f"{uuid.uuid4()}.4.0", "x.1.1", "garbage", "9" * 500, foreign + ".1"):
        async with _resumable(caller, cursor).subscribe(task["id"]) as stream:
            assert _event(await stream.next())["id"] == task["id"]


async def test_without_the_extension_nothing_of_it_shows(cluster: Cluster) -> None:
    caller = cluster.caller
    async with _resumable(caller).stream("chunks 3 8 0") as stream:
        sent = list(await stream.to_the_end())
    async with caller.stream("chunks 3 8 0") as stream:
        plain = await stream.to_the_end()
    assert URI not in str(plain)
    assert [list(_bare(frame)) for frame in sent] == [list(frame) for frame in plain]
    task = await caller.send_task("ask colour?")
    async with caller.with_headers(A2A_Stream_Cursor=_cursor(sent[0])).subscribe(
        task["id"]
    ) as stream:
        assert "task" in await stream.next()


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_cursor_is_the_id_of_the_server_sent_event(
    cluster: Cluster, binding: str
) -> None:
    caller = _resumable(cluster.caller.over(binding))
    response = await caller.raw("SendStreamingMessage", send_params("chunks 3 8 0; ask colour?"))
    assert response.headers["A2A-Extensions"] == URI
    ids = [line[4:] for line in response.text.splitlines() if line.startswith("id: ")]
    blocks = [block for block in response.text.split("\r\n\r\n") if "data: " in block]
    assert len(ids) == len(blocks)
    assert all(f'"{cursor}"' in block for cursor, block in zip(ids, blocks, strict=True))

    task_id = re.findall(r'"taskId": ?"([^"]+)"', response.text)[0]
    again = _resumable(cluster.caller.over(binding), Last_Event_ID=ids[1])
    async with again.subscribe(task_id) as stream:
        assert _cursor(await stream.next()) == ids[2]


async def test_a_cursor_outlives_continue_as_new(new_cluster: NewCluster) -> None:
    options = Options(worker=("--continue-as-new-after=8",))
    async with new_cluster(options=options) as cluster:
        caller = cluster.caller
        async with _resumable(caller).stream("chunks 4 8 0; ask a?; chunks 2 8 0") as stream:
            sent = list(await stream.to_the_end())
        task_id = _event(sent[0])["id"]
        async with _resumable(caller, _cursor(sent[-1])).subscribe(task_id) as stream:
            await caller.send_task("x", task_id=task_id)
            sent += await stream.to_the_end()

        async def several_runs() -> bool:
            return await cluster.runs(task_id) > 1

        await eventually(several_runs, within=30)
        assert [_generation(frame) for frame in sent] == list(range(1, len(sent) + 1))
        async with _resumable(caller, _cursor(sent[1])).subscribe(task_id) as stream:
            assert await stream.to_the_end() == sent[2:]


async def test_no_generation_is_used_again_after_a_reset(cluster: Cluster) -> None:
    caller = cluster.caller
    task_id = (await caller.send_task("chunks 3 8 0; ask colour?"))["id"]
    async with _resumable(caller).subscribe(task_id) as stream:
        seen = [await stream.next()]
        await reset_to_the_start(cluster.client, task_id, without_signals=True)
        while len(seen) < 2 or state_in(seen[-1]) != "INPUT_REQUIRED":
            seen.append(await stream.next())
        await caller.start("red", task_id=task_id)
        seen = list(await stream.to_the_end())
    generations = [_generation(frame) for frame in seen]
    assert generations == sorted(set(generations)), seen


async def test_the_card_declares_the_extension_where_the_agent_streams(
    cluster: Cluster, new_cluster: NewCluster
) -> None:
    card = await cluster.http.get(f"{cluster.apis[0].url}/.well-known/agent-card.json")
    assert URI in [each["uri"] for each in card.json()["capabilities"]["extensions"]]
    async with new_cluster(workers=0, options=Options(api=("--no-streaming",))) as silent:
        card = await silent.http.get(f"{silent.apis[0].url}/.well-known/agent-card.json")
        assert URI not in card.text
        response = await _resumable(silent.caller).raw("GetTask", {"id": "x"})
        assert "A2A-Extensions" not in response.headers
