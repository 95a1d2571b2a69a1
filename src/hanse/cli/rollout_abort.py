"""`hanse rollout abort`: give a rollout up; the release before it gets back what it had."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import RELEASES
from hanse.cli.failures import Failure
from hanse.cli.rollout_blocking import require_unblocked
from hanse.cli.rollout_finding import application_options, on_rollout, require_contender
from hanse.kube.client import Client
from hanse.kube.manifest import name_of, namespace_of, uid_of
from hanse.rollouts.reading import ReleaseReading, RolloutReading, is_complete


@click.command("abort")
@click.option("--yes", is_flag=True, help="Do not ask.")
@application_options
def command(application: str, yes: bool, **where: Any) -> None:
    """Give up a rollout that is not complete, and go back to the release before it.

    It deletes the newest Release. The one before gets its capacity and traffic back first, then the deleted one's pods
    go, and the application's template is put back to what is running.
    """

    async def look(_host: Client, rollout: RolloutReading) -> tuple[str, str]:
        contender, incumbent = abortable(rollout)
        return contender.name, incumbent.name

    release, before = on_rollout(application, where, look)
    if not (yes or _is_meant(f"Delete release {release} and go back to {before}?")):
        click.echo("nothing was done", err=True)
        raise SystemExit(1)

    async def abort(host: Client, rollout: RolloutReading) -> str:
        contender, incumbent = abortable(rollout)
        if contender.name != release:
            raise Failure(
                f"{contender.name} is rolled out by now, and not {release}; look at it and repeat the command"
            )
        await require_unblocked(host, contender.obj, name_of(rollout.application))
        uid = uid_of(contender.obj)
        await host.delete(RELEASES, contender.name, namespace_of(contender.obj), uid=uid)
        return f"release {contender.name} is deleted; application {application} goes back to {incumbent.name}"

    click.echo(on_rollout(application, where, abort))


def _is_meant(question: str) -> bool:
    try:
        return click.confirm(question)
    except click.Abort:
        # Ctrl-C, or nobody there to answer.
        click.echo(err=True)
        return False


def abortable(rollout: RolloutReading) -> tuple[ReleaseReading, ReleaseReading]:
    """Return the release to delete and the one to go back to; raises Failure where there is nothing to abort."""
    contender, incumbent = require_contender(rollout), rollout.incumbent
    application = name_of(rollout.application)
    if is_complete(contender.obj):
        raise Failure(f"release {contender.name} is complete; `hanse rollout undo {application}` goes back from it")
    if incumbent is None:
        raise Failure(
            f"release {contender.name} has none before it to go back to; change the template of application "
            f"{application}, or delete the application"
        )
    return contender, incumbent
