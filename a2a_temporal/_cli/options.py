"""The options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

agent_argument = click.argument("agent", metavar="AGENT")


def task_queue_option(command: Command) -> Command:
    """``--task-queue``."""
    return click.option(
        "--task-queue",
        envvar="TASK_QUEUE",
        help="The queue between servers and workers (TASK_QUEUE); derived from the agent's name "
        "by default.",
    )(command)


def profile_option(command: Command) -> Command:
    """``--profile``."""
    return click.option(
        "--profile", help="Profile of the Temporal configuration file (TEMPORAL_PROFILE)."
    )(command)


def server_options(command: Command) -> Command:
    """``--host``, ``--port`` and ``--public-url``."""
    for option in (
        click.option(
            "--public-url",
            envvar="A2A_PUBLIC_URL",
            help="The URL that clients use, if there is a proxy; it is put into the card.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=8000,
            envvar="A2A_PORT",
            show_default=True,
        ),
        click.option("--host", default="127.0.0.1", envvar="A2A_HOST", show_default=True),
    ):
        command = option(command)
    return command


def auth_option(command: Command) -> Command:
    """``--auth``."""
    return click.option(
        "--auth",
        envvar="A2A_AUTH",
        metavar="MODULE:OBJECT",
        help="Authentication of callers: a starlette AuthenticationBackend, or a function that "
        "returns one. It replaces Agent(authentication=...); for HTTP and gRPC.",
    )(command)


def metrics_option(command: Command) -> Command:
    """``--metrics``."""
    return click.option(
        "--metrics",
        envvar="A2A_METRICS",
        metavar="HOST:PORT",
        help="Address of the metrics of Temporal's client and worker, for Prometheus.",
    )(command)


def verbose_option(command: Command) -> Command:
    """``--verbose``."""
    return click.option("--verbose", "-v", is_flag=True, help="Log everything.")(command)
