"""Server, worker, test kit and replay are made from one Agent: no option is lost on the way."""

import dataclasses
from datetime import timedelta

import pytest
from a2a.types import AgentCard, TaskPushNotificationConfig
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkerConfig

from a2a_temporal import Agent, EncryptionCodec, HandlerOptions, PushOptions
from a2a_temporal.testing import running_agent, state_of
from tests.support.hook import hook
from tests.support.in_process import CARD, Scripted
from tests.support.temporal_server import TemporalServer

PUSHING = AgentCard()
PUSHING.CopyFrom(CARD)
PUSHING.capabilities.push_notifications = True
CODEC = EncryptionCodec({"key": b"k" * 32})


class Counting(SimplePlugin):
    """Counts what it configures, and brings a data converter as agent frameworks do."""

    def __init__(self, converter: DataConverter | None = None) -> None:
        super().__init__("test.Counting", data_converter=converter)
        self.workers = 0

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        self.workers += 1
        return super().configure_worker(config)


async def _encrypting(temporal: TemporalServer) -> Client:
    converter = dataclasses.replace(DataConverter.default, payload_codec=CODEC)
    return await Client.connect(temporal.address, data_converter=converter)


async def test_the_worker_of_a_test_delivers_by_the_handlers_push_options(
    temporal: TemporalServer,
) -> None:
    push = PushOptions(allowed_hosts=["127.0.0.1"], initial_interval=timedelta(milliseconds=200))
    agent = Agent(card=PUSHING, executor=Scripted(), handler_options=HandlerOptions(push=push))
    async with running_agent(await temporal.client(), agent) as running, hook() as receiver:
        config = TaskPushNotificationConfig(url=receiver.url)
        await running.handler.start_task("say:hello", owner="requester", push_config=config)
        await receiver.told("COMPLETED")


async def test_what_ran_encrypted_with_a_plugin_is_replayed(temporal: TemporalServer) -> None:
    plugin = Counting()
    agent = Agent(
        card=CARD,
        executor=Scripted(),
        plugins=[plugin],
        data_converter=pydantic_data_converter,
    )
    async with running_agent(await _encrypting(temporal), agent) as running:
        assert running.temporal.data_converter.payload_codec is CODEC
        assert running.temporal.data_converter.payload_converter_class is (
            pydantic_data_converter.payload_converter_class
        )
        task = await running.send("say:hello")
        assert state_of(task) == "completed"
        assert plugin.workers == 1, "configured once, though client and worker both know it"
        await running.replay()


async def test_a_plugin_that_changes_a_converter_once_can_replay(temporal: TemporalServer) -> None:
    """As the plugin of the OpenAI Agents SDK, which refuses a converter that is not the default."""

    def pydantic(converter: DataConverter | None) -> DataConverter:
        given = converter or DataConverter.default
        if given.payload_converter_class is not DataConverter.default.payload_converter_class:
            raise ValueError(f"no default converter: {given}")
        new = pydantic_data_converter.payload_converter_class
        return dataclasses.replace(given, payload_converter_class=new)

    plugin = SimplePlugin("test.Once", data_converter=pydantic)
    agent = Agent(card=CARD, executor=Scripted(), plugins=[plugin])
    async with running_agent(await _encrypting(temporal), agent) as running:
        assert state_of(await running.send("say:hello")) == "completed"
        await running.replay()


async def test_a_client_that_has_all_of_an_agent_is_not_made_again(
    temporal: TemporalServer,
) -> None:
    agent = Agent(
        card=CARD,
        executor=Scripted(),
        plugins=[Counting()],
        data_converter=pydantic_data_converter,
    )
    once = agent.client(await _encrypting(temporal))
    assert agent.client(once) is once


async def test_a_plugin_that_would_drop_the_encryption_is_refused(
    temporal: TemporalServer,
) -> None:
    agent = Agent(card=CARD, executor=Scripted(), plugins=[Counting(pydantic_data_converter)])
    with pytest.raises(ValueError, match="drops the payload codec"):
        agent.client(await _encrypting(temporal))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"card": None, "executor": Scripted()}, "is no card"),
        ({"card": CARD, "executor": Scripted}, r"Agent\(executor=...\) takes .* instance"),
        ({"card": CARD, "workflow": Scripted}, "@workflow.defn"),
        ({"card": CARD}, "nothing to run"),
    ],
)
def test_what_is_no_agent_is_named_where_it_is_made(
    arguments: dict[str, object], text: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        Agent(**arguments)  # pyright: ignore[reportArgumentType] # wrong on purpose


async def test_the_class_of_an_executor_is_not_taken_for_a_workflow(
    temporal: TemporalServer,
) -> None:
    with pytest.raises(TypeError, match=r"write Scripted\("):
        async with running_agent(await temporal.client(), Scripted):
            pass
