"""`hanse rollout resume`: let a paused rollout go on."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import PAUSED_ANNOTATION, RELEASES
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender, write
from hanse.kube.client import Client
from hanse.rollouts.reading import RolloutReading


@click.command("resume")
@application_options
def command(application: str, **where: Any) -> None:
    """Let a paused rollout go on from where it is.

    It takes the annotation hanse.dev/rollout-paused from the newest Release.
    """
    click.echo(on_rollout(application, where, _resume))


async def _resume(host: Client, rollout: RolloutReading) -> str:
    contender = require_contender(rollout)
    if not contender.paused:
        return f"release {contender.name} is not paused"
    await write(host, RELEASES, contender.obj, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})
    return f"release {contender.name} goes on"
