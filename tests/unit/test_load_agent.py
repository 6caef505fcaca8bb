"""`module:object` on the command line: what is accepted, and what is said about the rest."""

import sys
from pathlib import Path

import pytest

from a2a_temporal._cli.agents import (
    AgentLoadError,
    default_task_queue,
    load_agent,
    served_card,
)

MODULE = '''
from a2a.server.agent_execution import AgentExecutor
from a2a.types import AgentCard, AgentInterface
from a2a_temporal import Agent

class EchoAgentExecutor(AgentExecutor):
    """Says again what it is told.

    And more.
    """
    async def execute(self, context, event_queue): ...
    async def cancel(self, context, event_queue): ...

class Plain(EchoAgentExecutor):
    pass

class Needy(EchoAgentExecutor):
    def __init__(self, model): ...

def make():
    return EchoAgentExecutor()

def make_agent():
    return agent

def make_number():
    return 5

def fail():
    raise ValueError("no model")

async def make_later():
    return EchoAgentExecutor()

echo = EchoAgentExecutor()
agent = Agent(card=AgentCard(name="Expense Reports!"), executor=echo)
class Nested:
    inner = echo
number = 3
'''

BEFORE_1_0 = {
    "a_part": "from a2a.types import TextPart",
    "a_helper": "from a2a.utils import new_agent_text_message",
    "a_module": "from a2a.utils.message import new_agent_text_message",
    "an_app": "import a2a.server.apps",
    "an_error": "from a2a.utils.errors import ServerError",
    "an_attribute": "import a2a.types\n\nPart = a2a.types.TextPart",
    "a_state": "from a2a.types import TaskState\n\nDONE = TaskState.completed",
    "a_role": "from a2a.types import Role\n\nUS = Role.agent",
    "a_field": "from a2a.types import AgentCard\n\ncard = AgentCard(name='a', url='http://a')",
    "a_root": "from a2a.types import Part\n\ntext = Part(text='x').root.text",
    "a_model": "from a2a.types import AgentCard\n\ncard = AgentCard.model_validate({})",
}


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current directory, and some that cannot be imported."""
    (tmp_path / "an_agent.py").write_text(MODULE)
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    (tmp_path / "fails.py").write_text("x = 1\n1 / 0\n")
    (tmp_path / "broken.py").write_text("def (\n")
    for name, text in BEFORE_1_0.items():
        (tmp_path / f"{name}.py").write_text(f"{text}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("an_agent", "needs_more", "fails", "broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "an_agent"


@pytest.mark.parametrize("name", ["echo", "EchoAgentExecutor", "make", "Nested.inner"])
def test_an_executor_is_described_by_its_class(name: str) -> None:
    loaded = load_agent(f"an_agent:{name}")
    assert loaded.executor is not None
    assert loaded.card.name == "Echo"
    assert loaded.card.description == "Says again what it is told."
    assert loaded.card.capabilities.streaming
    assert not loaded.card.capabilities.push_notifications
    assert loaded.card.skills[0].description == "Says again what it is told."


def test_a_class_without_a_docstring_does_not_get_the_one_of_the_sdk() -> None:
    assert load_agent("an_agent:Plain").card.description == "The agent Plain."


@pytest.mark.parametrize("name", ["agent", "make_agent"])
def test_an_agent_keeps_its_card(name: str) -> None:
    loaded = load_agent(f"an_agent:{name}")
    assert loaded.card.name == "Expense Reports!"
    assert default_task_queue(loaded) == "a2a-expense-reports"


WRONG = [
    ("an_agent", "write module:object"),
    (":agent", "write module:object"),
    ("nowhere:agent", "no module 'nowhere'"),
    ("nowhere.deep:agent", "no module 'nowhere.deep'"),
    ("an_agent:missing", "it has: EchoAgentExecutor, Needy, Plain, agent, echo"),
    ("an_agent:agent.deep", "no 'deep'"),
    ("an_agent:number", "is of type int: an a2a_temporal.Agent or an a2a-sdk AgentExecutor"),
    ("an_agent:make_number", "is of type int"),
    ("an_agent:make_later", "is of type coroutine"),
    ("an_agent:Needy", "cannot be called without arguments"),
    ("an_agent:fail", "raised ValueError when it was called: no model"),
    ("needs_more:agent", "No module named 'not_installed_anywhere'"),
    ("fails:agent", "fails.py, line 2"),
    ("broken:agent", "SyntaxError"),
]


@pytest.mark.parametrize(("reference", "text"), WRONG)
def test_what_is_no_agent_is_refused_with_what_to_do(reference: str, text: str) -> None:
    with pytest.raises(AgentLoadError) as caught:
        load_agent(reference)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("module_name", BEFORE_1_0)
def test_code_for_a2a_sdk_0_3_is_recognised(module_name: str) -> None:
    with pytest.raises(AgentLoadError, match=r"a2a-sdk 1\.\d+\.\d+ has no .*docs/migrating\.md"):
        load_agent(f"{module_name}:agent")


def test_other_missing_names_are_no_matter_of_the_sdk() -> None:
    for reference in ("needs_more:agent", "fails:agent", "an_agent:fail"):
        with pytest.raises(AgentLoadError) as caught:
            load_agent(reference)
        assert "a2a-sdk" not in str(caught.value)


def test_a_card_without_interfaces_gets_those_that_are_served() -> None:
    card = load_agent("an_agent:agent").card
    served = served_card(card, "https://example.org/agents/a/", replace=False)
    found = {(i.url, i.protocol_binding, i.protocol_version) for i in served.supported_interfaces}
    assert found == {
        ("https://example.org/agents/a/", "JSONRPC", "1.0"),
        ("https://example.org/agents/a", "HTTP+JSON", "1.0"),
        ("https://example.org/agents/a/", "JSONRPC", "0.3"),
        ("https://example.org/agents/a", "HTTP+JSON", "0.3"),
    }
    assert not card.supported_interfaces


def test_interfaces_of_a_card_stay_unless_a_public_url_is_given() -> None:
    card = served_card(load_agent("an_agent:agent").card, "http://own", replace=False)
    kept = served_card(card, "http://other", replace=False)
    replaced = served_card(card, "http://other", replace=True)
    assert kept == card
    assert {i.url for i in replaced.supported_interfaces} == {"http://other/", "http://other"}
