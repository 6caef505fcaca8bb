"""A seed makes the same stories again, however often a client has to ask."""

import asyncio
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from a2a.server.context import ServerCallContext
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette

from a2a_temporal import connect, create_app
from tests.chaos import episodes
from tests.chaos.episodes import Player
from tests.chaos.fleet import Fleet
from tests.chaos.journal import Journal
from tests.support.hook import Hook
from tests.support.http_app import URL
from tests.support.stub_handler import StubHandler
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

MESSAGES = 40

STORIES = (
    episodes.quick,
    episodes.interrupted_by_messages,
    episodes.canceled_while_parked,
    episodes.flaky,
    episodes.listing,
)


class _Timeless(Player):
    """A client that never waits."""

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(0)


class _Slow(StubHandler):
    """Tells of every task that it works, so many times, and then that it is over."""

    def __init__(self, client: object, *, looks: int) -> None:
        super().__init__(client)
        self._looks = looks
        self._looked: dict[str, int] = {}

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task:
        return self._task(params.message.task_id or f"task-{params.message.message_id}")

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        self._looked[params.id] = self._looked.get(params.id, 0) + 1
        return self._task(params.id)

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        return self._task(params.id)

    def _task(self, task_id: str) -> Task:
        over = self._looked.get(task_id, 0) > self._looks
        state = TaskState.TASK_STATE_COMPLETED if over else TaskState.TASK_STATE_WORKING
        return Task(id=task_id, context_id="c", status=TaskStatus(state=state))


class _Unreliable(httpx.ASGITransport):
    """Loses every n-th request."""

    def __init__(self, app: Starlette, *, loses: int) -> None:
        super().__init__(app=app, raise_app_exceptions=False)
        self._loses = loses
        self._requests = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._requests += 1
        if self._loses and self._requests % self._loses == 0:
            raise httpx.ConnectError("lost")
        return await super().handle_async_request(request)


async def test_two_clients_with_different_answers_play_the_same_stories(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(episodes, "EPISODES", STORIES)
    monkeypatch.setattr(episodes, "WEIGHTS", [1] * len(STORIES))
    lucky = await _played(tmp_path, seed="1/client/0", looks=0, loses=0)
    unlucky = await _played(tmp_path, seed="1/client/0", looks=3, loses=2)
    other = await _played(tmp_path, seed="1/client/1", looks=0, loses=0)
    assert unlucky == lucky
    assert other != lucky


async def _played(folder: Path, *, seed: str, looks: int, loses: int) -> list[str]:
    """Play with a server of this kind for a while; the texts that were said."""
    client = await connect(address="127.0.0.1:9", lazy=True, env={})
    app = create_app(cast("Any", _Slow(client, looks=looks)))
    journal = Journal()
    async with httpx.AsyncClient(transport=_Unreliable(app, loses=loses)) as http:
        fleet = Fleet(
            folder=folder,
            temporal=TemporalServer(folder),
            task_queue="none",
            http=http,
            urls=[URL, URL],
            client=client,
        )
        player = _Timeless("client", seed=seed, fleet=fleet, journal=journal, hook=Hook())
        calm = asyncio.Event()
        playing = asyncio.create_task(player.play(calm))
        await eventually(lambda: len(journal.said) >= MESSAGES, within=60)
        calm.set()
        await playing
    assert not journal.complaints
    return [said.text for said in journal.said[:MESSAGES]]
