"""``a2a-temporal push``: the notifications that receivers never took."""

import asyncio

import click
from temporalio.service import RPCError

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.dead_letters import DeadLetters, dead_letters, redeliver
from a2a_temporal._cli.options import profile_option, verbose_option
from a2a_temporal._connect import connect


@click.group()
def push() -> None:
    """Look after push notifications that receivers never took.

    A receiver is given up when it has failed for too long (PushOptions). What it missed stays in
    the task's log, for as long as the namespace keeps closed workflows.
    """


@push.command("list")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@profile_option
@verbose_option
def list_command(task_ids: tuple[str, ...], profile: str | None, verbose: bool) -> None:
    """List the receivers that were given up, of some tasks or of all."""
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        client = await connect(profile=profile)
        number = 0
        try:
            async for letters in dead_letters(client, task_ids):
                _show(letters)
                number += 1
                if stop.is_set():
                    break
        except RPCError as error:
            raise click.ClickException(f"Temporal answered {error.status.name}") from error
        if not number:
            click.echo("Nothing was given up.")
        return 0

    run(main)


@push.command("redeliver")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@click.option("--config", "config_ids", multiple=True, help="Only to this config; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Of all tasks that have any.")
@profile_option
@verbose_option
def redeliver_command(
    task_ids: tuple[str, ...],
    config_ids: tuple[str, ...],
    everything: bool,
    profile: str | None,
    verbose: bool,
) -> None:
    """Deliver again what was given up, in order, from the first event that was not taken.

    Ends with exit code 1 when a named task has nothing to deliver.
    """
    if bool(task_ids) == everything:
        raise click.UsageError("name the tasks, or say --all")
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        client = await connect(profile=profile)
        missing = False
        try:
            chosen = list(task_ids)
            if everything:
                chosen = sorted({each.task_id async for each in dead_letters(client)})
            for task_id in chosen:
                if stop.is_set():
                    break
                begun = await redeliver(client, task_id, config_ids)
                click.echo(f"{task_id}  {'delivered again' if begun else 'nothing was given up'}")
                missing = missing or not begun
        except RPCError as error:
            raise click.ClickException(f"Temporal answered {error.status.name}") from error
        return int(missing)

    run(main)


def _show(letters: DeadLetters) -> None:
    missed = "?" if letters.missed is None else letters.missed
    click.echo(
        f"{letters.task_id}  {'ended' if letters.ended else 'running'}  config {letters.config_id}"
        f"  {missed} missed since {letters.since or '?'}  {letters.reason}"
    )
