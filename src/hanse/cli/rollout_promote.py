"""`hanse rollout promote`: the next step of a rollout, by a person's word."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import PAUSED_ANNOTATION, RELEASES
from hanse.cli.failures import Misuse
from hanse.cli.rollout_blocking import require_unblocked
from hanse.cli.rollout_finding import application_options, on_host, on_rollout, require_contender, write
from hanse.cli.rollout_stepping import next_step
from hanse.cli.rollout_waiting import Goal, parse_timeout, stoppable, wait_for
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, key_of, name_of
from hanse.rollouts.reading import RolloutReading, step_title


@click.command("promote")
@click.option("--to", default="", metavar="STEP", help="Go to this step: its name, or its number from 0.")
@click.option("--full", is_flag=True, help="Go to the last step.")
@click.option("--wait", "waits", is_flag=True, help="Wait until the step is achieved, with the exit codes of `status`.")
@click.option("--timeout", default="", metavar="DURATION", help="With --wait: how long (default: for ever).")
@application_options
def command(application: str, to: str, full: bool, waits: bool, timeout: str, **where: Any) -> None:
    """Let a rollout go on to its next step, once the present one is achieved; --to may also go back.

    It writes spec.targetStep of the newest Release, and takes away the pause that a failed check or deadline left.
    """
    if to and full:
        raise Misuse("--to and --full do not go together; leave one of them out")
    seconds = parse_timeout(timeout)

    async def promote(host: Client, rollout: RolloutReading) -> tuple[Key, str, int, str]:
        contender = require_contender(rollout)
        step = next_step(contender, to, full=full)
        title = step_title(contender.obj, step)
        if step == contender.target_step and not contender.paused:
            return key_of(rollout.application), contender.name, step, f"release {contender.name} is at step {title}"
        await require_unblocked(host, contender.obj, name_of(rollout.application))
        patch: Obj = {"spec": {"targetStep": step}}
        if contender.paused:
            patch["metadata"] = {"annotations": {PAUSED_ANNOTATION: None}}
        await write(host, RELEASES, contender.obj, patch)
        return key_of(rollout.application), contender.name, step, f"release {contender.name} goes to step {title}"

    key, release, step, told = on_rollout(application, where, promote)
    click.echo(told)
    if waits:
        goal = Goal(step)
        with stoppable():
            click.echo(on_host(where, lambda host: wait_for(host, key, goal, seconds, click.echo, release)))
