"""`hanse rollout undo`: what an earlier release was made of, rolled out again."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import APPLICATIONS
from hanse.cli.failures import Failure
from hanse.cli.rollout_blocking import require_unblocked
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender, require_release
from hanse.kube.client import Client
from hanse.kube.manifest import name_of
from hanse.rollouts.reading import ReleaseReading, Role, RolloutReading, same_environment


@click.command("undo")
@click.option("--to", default="", metavar="RELEASE", help="The release to go back to (default: the incumbent).")
@application_options
def command(application: str, to: str, **where: Any) -> None:
    """Put what an earlier release was made of back into the application's template.

    That becomes a new release, which goes through the steps of its strategy like any other. `hanse rollout history`
    lists the releases that can be gone back to.
    """

    async def undo(host: Client, rollout: RolloutReading) -> str:
        earlier = earlier_release(rollout, to)
        name = name_of(rollout.application)
        await require_unblocked(host, rollout.application, name)
        changed = {**rollout.application}
        changed["spec"] = {**rollout.application["spec"], "template": earlier.obj["spec"]["environment"]}
        await host.update(APPLICATIONS, changed)
        return f"application {name} asks again for what release {earlier.name} is; `hanse rollout status {name}` waits"

    click.echo(on_rollout(application, where, undo))


def earlier_release(rollout: RolloutReading, name: str) -> ReleaseReading:
    """Return the release to go back to; raises Failure where that is none, or is what is asked for already."""
    earlier = require_release(rollout, name) if name else rollout.incumbent
    if earlier is None and len(rollout.releases) < 2:
        raise Failure(
            f"release {require_contender(rollout).name} is the only one of application {name_of(rollout.application)}; "
            "change its template instead"
        )
    if earlier is None:
        raise Failure(
            f"release {require_contender(rollout).name} has no complete one before it; name one with --to "
            f"(`hanse rollout history {name_of(rollout.application)}` lists them)"
        )
    if earlier.role is Role.LEAVING:
        raise Failure(f"release {earlier.name} is being deleted; choose another with --to")
    if same_environment(rollout.application, earlier.obj):
        raise Failure(f"the template of application {name_of(rollout.application)} is that of release {earlier.name}")
    return earlier
