"""After an answer is stored, what came of it is looked for: for a bounded time, and cheaply."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal._log.answers import Answer
from a2a_temporal._server import approvals
from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.waiting import Person
from tests.integration.inbox.conftest import Office
from tests.support.waiting import eventually, within

COMMENTS = 20


class Counting(PayloadCodec):
    """Changes nothing, and counts what is read."""

    def __init__(self) -> None:
        self.read = 0

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.read += len(payloads)
        return list(payloads)


class StuckOnceWritten(Counting):
    """Reads no more once something was written, as when the key server hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.written = False

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.written = True
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.written:
            await asyncio.Event().wait()
        return list(payloads)


def _reading_by(client: Client, codec: PayloadCodec) -> Approvals:
    converter = replace(DataConverter.default, payload_codec=codec)
    return Approvals(
        Client(client.service_client, namespace=client.namespace, data_converter=converter)
    )


async def test_an_answer_is_reported_as_stored_when_its_log_cannot_be_followed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "_DECISION_WAIT", timedelta(seconds=1))
    task = await office.ask()
    ann = Person(office.name("ann"), (office.group,), verified=True)
    stuck = _reading_by(office.agent.temporal, StuckOnceWritten())
    try:
        answer = Answer("approve", channel="inbox")
        waiting = await stuck.task(ann, task.id)
        outcome = await within(20, stuck.decide(ann, waiting, answer), what="the answer")
    finally:
        await stuck.aclose()
    assert not outcome.handled
    await eventually(lambda: office.agent.records(task), within=20, what="the decision")


async def test_a_second_answer_to_a_task_reads_only_what_is_new(office: Office) -> None:
    task = await office.ask()
    ann = Person(office.name("ann"), (office.group,), verified=True)
    codec, before = Counting(), 0
    counting = _reading_by(office.agent.temporal, codec)
    try:
        for number in range(COMMENTS):
            before = codec.read
            answer = Answer("comment", comment=f"number {number}", channel="inbox")
            waiting = await counting.task(ann, task.id)
            outcome = await within(20, counting.decide(ann, waiting, answer))
            assert outcome.handled
        cost = codec.read - before
    finally:
        await counting.aclose()
    whole = Counting()
    reading = _reading_by(office.agent.temporal, whole)
    await reading.task(ann, task.id)
    await reading.aclose()
    assert cost < whole.read / 2, (
        f"{cost} entries were read for an answer, of a log of {whole.read}"
    )
