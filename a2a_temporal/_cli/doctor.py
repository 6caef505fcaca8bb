"""``a2a-temporal doctor``: one line for each thing that servers and workers need."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

import click
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._cli import checks
from a2a_temporal._cli.checks import OPEN_UNINDEXED, Finding, Level, reason
from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option, task_queue_option, verbose_option
from a2a_temporal._cli.payload_check import payloads
from a2a_temporal._connect import check_namespace, connect
from a2a_temporal._gateway import CALL_TIMEOUT, Gateway, converter_of, is_missing_workflow
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError, start_of
from a2a_temporal._reading.pages import history_events
from a2a_temporal._server.search_attributes import register_search_attributes
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

_COLOURS = {Level.OK: "green", Level.NOTE: "yellow", Level.FAIL: "red"}


@click.command()
@task_queue_option
@profile_option
@click.option(
    "--reindex",
    is_flag=True,
    help="List open tasks that began before the search attributes were registered.",
)
@verbose_option
def doctor(task_queue: str | None, profile: str | None, reindex: bool, verbose: bool) -> None:
    """Check the connection and the setup of Temporal, and say how to fix each fault.

    Changes nothing without --reindex. The exit code is 1 if a check has failed.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        if reindex:
            asked, left = await index_open_tasks(await connect(profile=profile), stop)
            click.echo(f"{asked} open tasks were asked to be listed; {left} could not be read.")
            return int(left > 0)
        failed = False
        async for finding in examine(profile=profile, task_queue=task_queue):
            _show(finding)
            failed = failed or finding.level is Level.FAIL
            if stop.is_set():
                break
        return int(failed)

    run(main)


async def examine(*, profile: str | None, task_queue: str | None) -> AsyncGenerator[Finding]:
    """Run all checks; without a connection only the first."""
    try:
        client = await connect(profile=profile, connect_timeout=CALL_TIMEOUT)
        namespace = await check_namespace(client, within=CALL_TIMEOUT)
    except (ConnectionSettingsError, TemporalUnreachableError) as error:
        yield Finding(Level.FAIL, "connection", str(error))
        return
    all_checks: list[tuple[str, Callable[[], Awaitable[Finding]]]] = [
        ("connection", lambda: checks.connection(client)),
        ("namespace", lambda: checks.namespace(client, namespace)),
        ("retention", lambda: checks.retention(client, namespace)),
        ("search attributes", lambda: checks.search_attributes(client)),
        ("index", lambda: checks.unindexed(client)),
        ("payloads", lambda: payloads(client)),
        ("stuck tasks", lambda: checks.stuck(client)),
        ("workers", lambda: checks.pollers(client, task_queue)),
        ("versions", lambda: checks.versions(client, task_queue)),
        ("clock", lambda: checks.clock(client)),
    ]
    for name, check in all_checks:
        try:
            yield await check()
        except RPCError as error:
            yield Finding(Level.NOTE, name, f"could not be checked: {reason(error)}")


def _show(finding: Finding) -> None:
    mark = click.style(f"{finding.level.value:<5}", fg=_COLOURS[finding.level])
    click.echo(f"{mark} {finding.name:<18} {finding.text}")


logger = logging.getLogger("a2a_temporal.cli")

_NO_TASKS = f"WorkflowType NOT IN ('{wire.PUSH_WORKFLOW}', '{wire.LATE_CONFIGS_WORKFLOW}')"


async def index_open_tasks(client: Client, stop: asyncio.Event) -> tuple[int, int]:
    """Ask every open task that is not indexed to index itself, as soon as it has a worker.

    Workflows that know nothing of A2A, and workflows that have ended, cannot do so.

    Returns:
        The number of tasks that were asked, and of workflows that cannot be read here.

    Raises:
        temporalio.service.RPCError: Temporal did not answer, or has no search attributes of tasks.
    """
    gateway = Gateway(client)
    await register_search_attributes(gateway)
    asked = left = 0
    async for found in gateway.executions(f"{OPEN_UNINDEXED} AND {_NO_TASKS}"):
        if stop.is_set():
            break
        workflow_id = found.execution.workflow_id
        try:
            indexes_itself = await _indexes_itself(client, workflow_id)
        except LogUnreadableError as error:
            logger.error("Task %s cannot be read here: %s", workflow_id, error.__cause__ or error)
            left += 1
            continue
        if indexes_itself:
            asked += await _ask(gateway, workflow_id)
    return asked, left


async def _indexes_itself(client: Client, workflow_id: str) -> bool:
    try:
        async for event in history_events(Gateway(client), workflow_id):
            start = await start_of(event, converter_of(client, workflow_id))
            return start is not None and not start.plain
    except RPCError as error:
        if not is_missing_workflow(error):
            raise
    return False


async def _ask(gateway: Gateway, task_id: str) -> bool:
    try:
        await gateway.signal(task_id, wire.INDEX_SIGNAL)
    except RPCError as error:
        if not is_missing_workflow(error):  # it has ended meanwhile
            raise
        return False
    return True
