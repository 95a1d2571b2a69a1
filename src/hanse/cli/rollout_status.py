"""`hanse rollout status`: wait for a rollout, with an exit code that a pipeline can go by."""

from __future__ import annotations

from typing import Any

import click

from hanse.cli.failures import Misuse
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender
from hanse.cli.rollout_stepping import step_named
from hanse.cli.rollout_waiting import Goal, parse_timeout, stoppable, wait_for
from hanse.kube.client import Client
from hanse.kube.manifest import key_of
from hanse.rollouts.reading import RolloutReading


@click.command("status")
@click.option("--timeout", default="", metavar="DURATION", help="How long to wait, as 90s or 10m (default: for ever).")
@click.option("--step", default="", metavar="STEP", help="Wait for this step: its name, or its number from 0.")
@click.option("--complete", is_flag=True, help="Wait until the last step is achieved.")
@application_options
def command(application: str, timeout: str, step: str, complete: bool, **where: Any) -> None:
    """Wait until the step that a rollout shall reach is achieved, and tell what it waits for meanwhile.

    \b
    Exit codes:
      0  achieved, or complete
      1  it could not be looked at
      2  the command line is wrong
      3  it does not get there without a person: aborted, replaced, blocked, failed
      4  it did not get there in time
      130  stopped by Ctrl-C; the rollout goes on
    """
    if step and complete:
        raise Misuse("--step and --complete do not go together; leave one of them out")
    seconds = parse_timeout(timeout)

    async def wait(host: Client, rollout: RolloutReading) -> str:
        wanted = step_named(require_contender(rollout), step, "--step") if step else None
        return await wait_for(host, key_of(rollout.application), Goal(wanted, complete), seconds, click.echo)

    with stoppable():
        click.echo(on_rollout(application, where, wait))
