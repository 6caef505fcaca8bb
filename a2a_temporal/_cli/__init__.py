"""The command line: ``a2a-temporal``."""

import click

from a2a_temporal._cli.approvals import approvals
from a2a_temporal._cli.demo import demo
from a2a_temporal._cli.dev import dev
from a2a_temporal._cli.doctor import doctor
from a2a_temporal._cli.inbox import inbox
from a2a_temporal._cli.push import push
from a2a_temporal._cli.serve import serve
from a2a_temporal._cli.stuck import stuck
from a2a_temporal._cli.worker import worker


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="a2a-temporal")
def main() -> None:
    """Durable A2A servers: every A2A task is a Temporal workflow.

    Temporal is found by the TEMPORAL_* environment variables and profiles its own tools use.
    """


main.add_command(demo)
main.add_command(dev)
main.add_command(serve)
main.add_command(worker)
main.add_command(doctor)
main.add_command(stuck)
main.add_command(push)
main.add_command(inbox)
main.add_command(approvals)
