"""Run a server or a worker as a coroutine until a stop event is set."""

import asyncio
import contextlib
import dataclasses
import errno
import ipaddress
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from datetime import timedelta

import click
import uvicorn
from a2a.types import AgentCard
from starlette.applications import Starlette
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker, WorkerDeploymentConfig

from a2a_temporal._agent import Agent
from a2a_temporal._cli.agents import served_card
from a2a_temporal._cli.console import first_of, until
from a2a_temporal._connect import connect
from a2a_temporal._server.handler import TemporalRequestHandler
from a2a_temporal.errors import TemporalUnreachableError

logger = logging.getLogger(__name__)

GRACEFUL_SECONDS = 7
"""Time for open requests to finish after SIGTERM; the process ends within 10 s."""

_SHORT_CONNECT = timedelta(seconds=5)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 15.0


async def connect_patiently(stop: asyncio.Event, *, profile: str | None) -> Client | None:
    """Connect, and retry while Temporal is down; return None after a stop.

    Raises:
        ConnectionSettingsError: Trying again would not help.
    """
    pause = _FIRST_PAUSE
    while not stop.is_set():
        try:
            return await connect(profile=profile, connect_timeout=_SHORT_CONNECT)
        except TemporalUnreachableError as error:
            logger.warning("%s; next try in %.0f s", error, pause)
        await until(stop, seconds=pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    return None


async def connect_now_or_later(*, profile: str | None) -> Client:
    """Connect; while Temporal is down, return a client that connects later.

    Raises:
        ConnectionSettingsError: A setting is wrong.
    """
    try:
        return await connect(profile=profile, connect_timeout=_SHORT_CONNECT)
    except TemporalUnreachableError as error:
        logger.warning("%s. Serving the card meanwhile.", error)
        return await connect(profile=profile, lazy=True)


def listen(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Open the socket of an API, before anything else is started.

    Args:
        host: Where to listen.
        port: The port; 0 for a free one.
        option: What chose the port, for the text of an error.

    Raises:
        click.ClickException: The port is taken, or not ours to use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sets TCP_NODELAY; without, each answer may wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        # Inherited by what is accepted: asyncio sets it only on sockets it has opened itself, and
        # without it every answer on a connection that is kept alive waits 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        raise click.ClickException(
            f"port {port} is in use: choose another one with {option}"
            if taken
            else f"cannot listen at --host {host} {option} {port}: {error.strerror or error}"
        ) from None
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL under which this machine reaches a listener."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def run_api(
    client: Client,
    agent: Agent,
    *,
    task_queue: str,
    listener: socket.socket,
    public_url: str | None,
    stop: asyncio.Event,
    grpc_port: int | None = None,
    trust_forwarded: bool = False,
    verbose: bool = False,
) -> None:
    """Serve an agent until the stop; then end open streams, and wait for other requests.

    Raises:
        click.ClickException: The card or the options of the agent cannot be served.
    """
    url = public_url or url_of(listener)

    def served(card: AgentCard) -> AgentCard:
        return served_card(card, url, replace=public_url is not None, grpc_port=grpc_port)

    options = agent.handler_options
    try:
        if options is not None and options.extended_agent_card is not None:
            extended = served(options.extended_agent_card)
            options = dataclasses.replace(options, extended_agent_card=extended)
        handler = agent.handler(
            client, task_queue=task_queue, card=served(agent.card), options=options
        )
    except ValueError as error:
        raise click.ClickException(f"agent {agent.card.name!r}: {error}") from error
    app = agent.app(handler, trust_forwarded=trust_forwarded)
    _warn_if_open(agent, listener)
    async with _grpc(agent, handler, listener, grpc_port):
        await run_app(
            app,
            listener=listener,
            stop=stop,
            verbose=verbose,
            on_stop=app.state.event_streams.close,
        )


async def run_app(
    app: Starlette,
    *,
    listener: socket.socket,
    stop: asyncio.Event,
    verbose: bool = False,
    believe_proxies: bool = True,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve an application until the stop; then wait some seconds for open requests.

    Args:
        app: The application.
        listener: Its socket.
        stop: Ends it.
        verbose: Log every request.
        believe_proxies: Take client addresses from ``X-Forwarded-For`` of a proxy on this machine.
        on_stop: Called first, to end what would not end by itself.
    """
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=verbose,
            proxy_headers=believe_proxies,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
    )
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await first_of(stop.wait(), asyncio.shield(serving))
    finally:
        if on_stop is not None:
            on_stop()
        server.should_exit = True
        await serving


def _warn_if_open(agent: Agent, listener: socket.socket) -> None:
    host = str(listener.getsockname()[0])
    decided = agent.authentication or agent.middleware or agent.context_builder
    if not decided and not ipaddress.ip_address(host).is_loopback:
        logger.warning(
            "Everybody who reaches %s can call %s, and all callers are one owner: each sees the "
            "tasks of all. Say who calls with --auth module:object or Agent(authentication=...), "
            "or listen on 127.0.0.1 behind a proxy that does.",
            url_of(listener),
            agent.card.name,
        )


@contextlib.asynccontextmanager
async def _grpc(
    agent: Agent, handler: TemporalRequestHandler, listener: socket.socket, port: int | None
) -> AsyncGenerator[None]:
    """Serve gRPC beside HTTP, at the same address, for as long as the block lasts."""
    if port is None:
        yield
        return
    try:
        from a2a_temporal._grpc import create_grpc_server
    except ImportError:
        raise click.ClickException(
            "--grpc needs the gRPC packages: pip install 'a2a-temporal[grpc]'"
        ) from None
    server = create_grpc_server(handler, authentication=agent.authentication)
    host = listener.getsockname()[0]
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError:
        raise click.ClickException(
            f"port {port} is in use: choose another one with --grpc"
        ) from None
    await server.start()
    logger.info("gRPC at port %d", bound)
    try:
        yield
    finally:
        await handler.aclose()
        await server.stop(GRACEFUL_SECONDS)


async def run_worker(
    client: Client,
    agent: Agent,
    *,
    task_queue: str,
    grace: timedelta,
    stop: asyncio.Event,
    deployment: WorkerDeploymentConfig | None = None,
) -> None:
    """Run an agent's worker until the stop; then give running turns the grace time.

    Raises:
        click.ClickException: The agent has nothing that a worker could run, or cannot be run.
    """
    if agent.executor is None and not agent.worker_workflows and not agent.activities:
        raise click.ClickException(
            f"agent {agent.card.name!r} has neither executor, workflows nor activities: there is "
            "nothing for a worker to run"
        )
    while not stop.is_set():
        worker = _worker(client, agent, task_queue, grace, deployment)
        running = asyncio.ensure_future(worker.run())
        try:
            await first_of(stop.wait(), asyncio.shield(running))
        except (RuntimeError, RPCError) as error:
            logger.error("the worker stopped: %s; it is started again", error)
            await until(stop, seconds=_FIRST_PAUSE)
        else:
            await worker.shutdown()
            await running


def _worker(
    client: Client,
    agent: Agent,
    task_queue: str,
    grace: timedelta,
    deployment: WorkerDeploymentConfig | None,
) -> Worker:
    try:
        return agent.worker(
            client,
            task_queue=task_queue,
            graceful_shutdown_timeout=grace,
            deployment_config=deployment,
        )
    except (RuntimeError, TypeError, ValueError) as error:
        why = f"{error}: {error.__cause__}" if error.__cause__ else str(error)
        raise click.ClickException(f"agent {agent.card.name!r}: no worker: {why}") from error


class _Server(uvicorn.Server):
    """A server without signal handlers: the command stops it together with other parts."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield
