"""A caller whose server reads the question late, with what followed it, has its answer as well."""

import asyncio
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway
from tests.support.in_process import Scripted, agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


async def test_a_blocking_send_ends_though_the_next_turn_has_begun(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, queue, scripted = await temporal.client(), new_task_queue(), Scripted()
    poll = Gateway.poll_history
    out_of_reach = False

    async def poll_or_fail(*args: Any, **options: Any) -> Any:
        page = None if out_of_reach else await poll(*args, **options)
        if out_of_reach:  # a poll that was under way brings nothing either
            raise RPCError("the connection is gone", RPCStatusCode.UNAVAILABLE, b"")
        return page

    monkeypatch.setattr(Gateway, "poll_history", poll_or_fail)
    async with (
        agent_worker(client, queue, agent=scripted),
        served(client, queue) as agent,
        served(client, queue) as other,
    ):
        task_id = (await agent.send("ask:first")).id
        sending = asyncio.create_task(agent.send("say:second gate ask:second", task_id=task_id))

        async def says(text: str) -> bool:
            status = (await other.get(task_id)).status
            return [part.text for part in status.message.parts] == [text]

        await eventually(lambda: says("second"), within=20)
        await other.send("say:third gate", task_id=task_id, wait=False)
        out_of_reach = True
        scripted.gate.set()
        scripted.gate.clear()  # the third turn waits at a gate that is closed again
        await eventually(lambda: says("third"), within=20)
        assert not sending.done()
        out_of_reach = False
        task = await within(20, sending, what="a send whose question has been asked")
        assert "second" in [part.text for message in task.history for part in message.parts]
        scripted.gate.set()
