"""From ``module:object`` on the command line to an `Agent`."""

import dataclasses
import importlib
import inspect
import logging
import re
import sys
import traceback
from pathlib import Path
from urllib.parse import urlsplit

from a2a.server.agent_execution import AgentExecutor
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol
from starlette.authentication import AuthenticationBackend

from a2a_temporal._agent import Agent
from a2a_temporal._sdk_names import missing_sdk_name

logger = logging.getLogger(__name__)

TEXT = "text/plain"


class AgentLoadError(Exception):
    """The agent that was named cannot be used; the text says why and what to do."""


def load_agent(reference: str, *, auth: str | None = None) -> Agent:
    """Import ``module:object`` and make an agent of it.

    The object is an `Agent`, an ``AgentExecutor`` (instance or class), or a function without
    parameters that returns one of them. The current directory is searched first.

    Args:
        reference: The agent.
        auth: Names what says who calls, in the place of ``Agent.authentication``.

    Raises:
        AgentLoadError: There is no such module or object, or it is something else.
    """
    agent = _agent(_loaded(reference, "an agent"), reference)
    if auth is None:
        return agent
    backend = _loaded(auth, "an authentication backend")
    if not isinstance(backend, AuthenticationBackend):
        raise AgentLoadError(
            f"--auth {auth!r} is of type {type(backend).__name__}: a "
            "starlette.authentication.AuthenticationBackend is needed (or its class, or a plain "
            "function that returns one)"
        )
    return dataclasses.replace(agent, authentication=backend)


def _loaded(reference: str, what: str) -> object:
    module_name, colon, path = reference.partition(":")
    if not (module_name and colon and path):
        raise AgentLoadError(
            f"{reference!r} does not name {what}: write module:object, such as my_agent:agent"
        )
    return _made(_attribute(_module(module_name), path, reference), reference)


def default_task_queue(agent: Agent) -> str:
    """Return the queue that server and workers of an agent agree on when none is named."""
    slug = re.sub(r"[^a-z0-9]+", "-", agent.card.name.lower()).strip("-")
    return f"a2a-{slug or 'agent'}"


def served_card(
    card: AgentCard, url: str, *, replace: bool, grpc_port: int | None = None
) -> AgentCard:
    """Return the card as it is served at a URL.

    Args:
        card: The agent's card; it is not changed.
        url: Where clients reach this server.
        replace: Put our interfaces in the place of those the card names already.
        grpc_port: Where gRPC is served beside it.

    Raises:
        ValueError: The card is signed, and would have to be changed.
    """
    served = AgentCard()
    served.CopyFrom(card)
    if served.supported_interfaces and not replace:
        return served
    if served.signatures:
        raise ValueError(
            "the card is signed, so its URLs cannot be changed: name them before you sign it, and "
            "leave out --public-url; or let HandlerOptions.card_signer sign it"
        )
    base = url.rstrip("/")
    addresses = [
        (TransportProtocol.JSONRPC, f"{base}/"),
        (TransportProtocol.HTTP_JSON, base),
    ]
    if grpc_port:
        addresses.append((TransportProtocol.GRPC, f"{urlsplit(url).hostname}:{grpc_port}"))
    del served.supported_interfaces[:]
    served.supported_interfaces.extend(
        AgentInterface(url=address, protocol_binding=binding, protocol_version=version)
        for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
        for binding, address in addresses
    )
    return served


def _module(name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise AgentLoadError(
                f"there is no module {name!r}: run this where {name.split('.')[0]}.py (or the "
                f"package) is, or install it; looked in {here} first"
            ) from None
        raise _failed_import(name, error) from error
    except Exception as error:
        raise _failed_import(name, error) from error


def _failed_import(name: str, error: Exception) -> AgentLoadError:
    logger.debug("the import of %s failed", name, exc_info=error)
    where = ""
    if not isinstance(error, SyntaxError):  # which names the place itself
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f" ({frame.filename}, line {frame.lineno})"
    return AgentLoadError(
        f"module {name!r} cannot be imported: {type(error).__name__}: {error}{where}"
        f"{_written_for_0_3(error)}"
    )


def _written_for_0_3(error: Exception) -> str:
    missing = missing_sdk_name(error)
    return f"; {missing}" if missing else ""


def _attribute(module: object, path: str, reference: str) -> object:
    found = module
    for name in path.split("."):
        if not hasattr(found, name):
            known = sorted(n for n, value in vars(module).items() if _is_candidate(value))
            hint = f"; it has: {', '.join(known)}" if known else ""
            raise AgentLoadError(f"{reference!r}: there is no {name!r} in it{hint}")
        found = getattr(found, name)
    return found


def _is_candidate(value: object) -> bool:
    if inspect.isclass(value):
        return issubclass(value, AgentExecutor) and not inspect.isabstract(value)
    return isinstance(value, Agent | AgentExecutor)


def _made(target: object, reference: str) -> object:
    """Call a class or a function; leave anything else as it is."""
    is_factory = inspect.isfunction(target) or (
        inspect.isclass(target) and issubclass(target, (AgentExecutor, AuthenticationBackend))
    )
    if not is_factory or not callable(target):
        return target
    try:
        inspect.signature(target).bind()
    except TypeError as error:
        raise AgentLoadError(
            f"{reference!r} cannot be called without arguments ({error}): name an instance, or a "
            "function without parameters that returns one"
        ) from None
    try:
        return target()
    except Exception as error:
        raise AgentLoadError(
            f"{reference!r} raised {type(error).__name__} when it was called: {error}"
            f"{_written_for_0_3(error)}"
        ) from error


def _agent(made: object, reference: str) -> Agent:
    if isinstance(made, Agent):
        return made
    if isinstance(made, AgentExecutor):
        card = derived_card(made)
        logger.info(
            "no card was given: %r is described by its class; write "
            "a2a_temporal.Agent(card=..., executor=...) to give one",
            card.name,
        )
        return Agent(card=card, executor=made)
    if hasattr(made, "__temporal_workflow_definition"):
        name = getattr(made, "__name__", reference)
        raise AgentLoadError(
            f"{reference!r} is a workflow: write agent = a2a_temporal.Agent(card=..., "
            f"workflow={name}, activities=[...]) beside it, and name that"
        )
    if inspect.iscoroutine(made):
        made.close()
    raise AgentLoadError(
        f"{reference!r} is of type {type(made).__name__}: an a2a_temporal.Agent or an "
        "a2a-sdk AgentExecutor is needed (or its class, or a plain function that returns one)"
    )


def derived_card(executor: AgentExecutor) -> AgentCard:
    """Describe an executor by the name and the docstring of its class."""
    cls = type(executor)
    name = cls.__name__.removesuffix("Executor").removesuffix("Agent") or cls.__name__
    inherited = AgentExecutor.__doc__
    documented = inspect.getdoc(cls) if cls.__doc__ not in (None, inherited) else None
    summary = documented.strip().splitlines()[0] if documented else f"The agent {name}."
    return AgentCard(
        name=name,
        description=summary,
        version="0.1.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT],
        skills=[AgentSkill(id=name.lower(), name=name, description=summary, tags=["agent"])],
    )
