"""`hanse rollout pause`: freeze a rollout where it is."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import PAUSED_ANNOTATION, RELEASES
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender, write
from hanse.kube.client import Client
from hanse.rollouts.reading import RolloutReading


@click.command("pause")
@application_options
def command(application: str, **where: Any) -> None:
    """Freeze a rollout where it is: no capacity and no traffic is moved, and nothing goes on by itself.

    Pods that die are replaced all the same. It sets the annotation hanse.dev/rollout-paused on the newest Release.
    """
    click.echo(on_rollout(application, where, _pause))


async def _pause(host: Client, rollout: RolloutReading) -> str:
    contender = require_contender(rollout)
    if contender.paused:
        return f"release {contender.name} is paused already"
    await write(host, RELEASES, contender.obj, {"metadata": {"annotations": {PAUSED_ANNOTATION: "true"}}})
    return f"release {contender.name} paused; `hanse rollout resume` lets it go on"
