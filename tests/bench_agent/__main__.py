"""Start the bench agent: `python -m tests.bench_agent api --port 8000` or `... worker`.

Both read TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TASK_QUEUE; the worker also LEDGER, the file it
notes its deeds in, and AUTH_DIR, the folder in which a file named after a task releases `auth`
(default: the ledger's name with `.auth` behind it). PLAIN_TEXT_SECONDS is how long it works on a
text that names no command.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import uvicorn
from a2a.server.context import ServerCallContext
from a2a.types import AgentCard

from a2a_temporal import (
    Agent,
    AgentOptions,
    HandlerOptions,
    PushOptions,
    connect,
    create_grpc_server,
)
from tests.bench_agent.agent import BenchAgent
from tests.bench_agent.card import MEDIA_TYPES, bench_card
from tests.bench_agent.effects import Effects
from tests.bench_agent.flow import WORKFLOWS, BenchTask
from tests.bench_agent.ledger import Ledger, OutOfBand
from tests.bench_agent.users import GrpcBearerNames, bearer_names

WORKER_READY = "bench worker is ready"


def main() -> None:
    """Read the command line and run one process until it is told to stop."""
    options = parse()
    logging.basicConfig(
        level=os.environ.get("LOG_LEVEL", "INFO"),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    asyncio.run(run_api(options) if options.process == "api" else run_worker(options))
    # The interpreter must not be taken apart while threads of Temporal's core still call into it:
    # that aborts the process now and then (temporalio/sdk-python#300).
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read a command line; that of this process by default."""
    return _parser().parse_args(arguments)


async def run_api(options: argparse.Namespace) -> None:
    """Serve A2A until SIGTERM or SIGINT."""
    card = bench_card(
        options.url or f"http://{options.host}:{options.port}",
        streaming=not options.no_streaming,
        push=options.push,
        input_modes=options.input_mode or MEDIA_TYPES,
        output_modes=options.output_mode or MEDIA_TYPES,
        extensions=options.extension,
        required_extensions=options.required_extension,
        rpc_path=options.rpc_path,
        grpc_port=options.grpc_port,
        extended=options.extended_card,
    )
    extended = AgentCard()
    extended.CopyFrom(card)
    extended.skills.add(id="secret", name="Secret", description="Not for everybody.", tags=["x"])
    options_of_handler = HandlerOptions(
        validate_input_modes=True,
        direct_message_wait=timedelta(seconds=options.direct_message_wait),
        push=push_options(options),
        client_task_ids=options.client_task_ids,
        extended_agent_card=extended if options.extended_card else None,
        extended_card_modifier=greet if options.extended_card else None,
    )
    agent = bench(card=card, handler_options=options_of_handler)
    handler = agent.handler(await connect(), task_queue=_task_queue())
    app = agent.app(handler, rpc_path=options.rpc_path, trust_forwarded=options.trust_forwarded)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=options.host,
            port=options.port,
            log_level="info",
            timeout_graceful_shutdown=5,
        )
    )
    if options.grpc_port is None:
        await server.serve()
        return
    grpc_server = create_grpc_server(handler, context_builder=GrpcBearerNames())
    grpc_server.add_insecure_port(f"{options.host}:{options.grpc_port}")
    await grpc_server.start()
    await server.serve()
    await grpc_server.stop(grace=2)


async def greet(card: AgentCard, context: ServerCallContext) -> AgentCard:
    """Make the extended card of one user."""
    card.description += f" Hello {context.user.user_name}."
    return card


async def run_worker(options: argparse.Namespace) -> None:
    """Run turns of the agent until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    worker = worker_agent(options).worker(
        await connect(),
        task_queue=_task_queue(),
        graceful_shutdown_timeout=timedelta(seconds=options.grace),
        max_cached_workflows=options.max_cached_workflows,
        max_concurrent_activities=options.max_concurrent_activities,
    )
    async with worker:
        print(WORKER_READY, flush=True)
        await stop.wait()


def worker_agent(options: argparse.Namespace) -> Agent:
    """Return the agent that a worker with this command line runs."""
    return bench(
        card=bench_card("http://localhost"),
        handler_options=HandlerOptions(push=push_options(options)),
        agent_options=agent_options(options),
    )


def bench(
    *, card: AgentCard, handler_options: HandlerOptions, agent_options: AgentOptions | None = None
) -> Agent:
    """Return the agent as the environment of this process says."""
    ledger = os.environ.get("LEDGER")
    folder = os.environ.get("AUTH_DIR") or (f"{ledger}.auth" if ledger else None)
    executor = BenchAgent(
        ledger=Ledger(path=Path(ledger) if ledger else None),
        out_of_band=OutOfBand(folder=Path(folder) if folder else None),
        plain_text_seconds=float(os.environ.get("PLAIN_TEXT_SECONDS", "0")),
    )
    return Agent(
        card=card,
        executor=executor,
        workflow=BenchTask,
        workflows=WORKFLOWS,
        activities=[Effects(ledger=executor.ledger).take],
        handler_options=handler_options,
        agent_options=agent_options,
        middleware=[bearer_names()],
    )


def agent_options(options: argparse.Namespace) -> AgentOptions:
    """Return how a worker with this command line runs turns."""
    defaults = AgentOptions()
    seconds = _seconds
    return AgentOptions(
        maximum_attempts=options.maximum_attempts or defaults.maximum_attempts,
        turn_timeout=seconds(options.turn_timeout, defaults.turn_timeout),
        heartbeat_timeout=seconds(options.heartbeat_timeout, defaults.heartbeat_timeout),
        heartbeat_interval=seconds(options.heartbeat_interval, defaults.heartbeat_interval),
        continue_as_new_after=options.continue_as_new_after,
    )


def push_options(options: argparse.Namespace) -> PushOptions:
    """Return how a process with this command line delivers push notifications."""
    defaults = PushOptions()
    return PushOptions(
        timeout=_seconds(options.push_timeout, defaults.timeout),
        initial_interval=_seconds(options.push_interval, defaults.initial_interval),
        maximum_interval=_seconds(options.push_maximum_interval, defaults.maximum_interval),
        maximum_attempts=options.push_attempts,
        allowed_hosts=options.push_allow,
        signing_keys=options.push_signing_key,
    )


def _seconds(value: float | None, default: timedelta) -> timedelta:
    return default if value is None else timedelta(seconds=value)


def _task_queue() -> str:
    return os.environ.get("TASK_QUEUE", "bench")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench_agent", description=__doc__)
    processes = parser.add_subparsers(dest="process", required=True)

    api = processes.add_parser("api", help="serve A2A over JSON-RPC and REST")
    api.add_argument("--port", type=int, required=True)
    api.add_argument("--host", default="127.0.0.1")
    api.add_argument("--url", help="the URL the card names, when a proxy stands in front")
    api.add_argument("--rpc-path", default="/")
    api.add_argument("--grpc-port", type=int)
    api.add_argument("--extended-card", action="store_true")
    api.add_argument("--trust-forwarded", action="store_true")
    api.add_argument("--client-task-ids", action="store_true")
    api.add_argument(
        "--direct-message-wait",
        type=float,
        default=HandlerOptions().direct_message_wait.total_seconds(),
    )
    api.add_argument("--no-streaming", action="store_true")
    api.add_argument("--push", action="store_true")
    api.add_argument("--input-mode", action="append")
    api.add_argument("--output-mode", action="append")
    api.add_argument("--extension", action="append", default=[])
    api.add_argument("--required-extension", action="append", default=[])

    worker = processes.add_parser("worker", help="run the agent")
    worker.add_argument("--grace", type=float, default=1.0, help="seconds to finish on SIGTERM")
    worker.add_argument("--maximum-attempts", type=int)
    worker.add_argument("--turn-timeout", type=float)
    worker.add_argument("--heartbeat-timeout", type=float)
    worker.add_argument("--heartbeat-interval", type=float)
    worker.add_argument("--continue-as-new-after", type=int)
    worker.add_argument("--max-cached-workflows", type=int, default=1000)
    worker.add_argument("--max-concurrent-activities", type=int)
    for process in (api, worker):
        process.add_argument("--push-allow", action="append", default=[])
        process.add_argument("--push-signing-key", action="append", default=[])
        process.add_argument("--push-timeout", type=float)
        process.add_argument("--push-interval", type=float)
        process.add_argument("--push-maximum-interval", type=float)
        process.add_argument("--push-attempts", type=int)
    return parser


if __name__ == "__main__":
    main()
