"""`hanse rollout retry`: try again what a check, a deadline or a source of manifests stopped."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.shipper.kinds import APPLICATIONS, CHART_RAW_ANNOTATION, PAUSED_ANNOTATION, RELEASES
from hanse.cli.failures import Failure
from hanse.cli.rollout_blocking import require_unblocked
from hanse.cli.rollout_finding import application_options, on_rollout, write
from hanse.kube.client import Client
from hanse.kube.manifest import annotations_of, dig, name_of, namespace_of, uid_of
from hanse.kube.runtime import timestamp
from hanse.rollouts.reading import Outcome, ReleaseReading, RolloutReading, failure_of

# When a person last asked for another attempt: writing it has the control plane look again.
RETRIED_ANNOTATION = "hanse.dev/rollout-retried"


@click.command("retry")
@click.option("--resolve", is_flag=True, help="Look again for the newest chart version of the range that was given.")
@application_options
def command(application: str, resolve: bool, **where: Any) -> None:
    """Try again what stopped: checks are asked anew, a deadline counts anew, a chart is fetched anew.

    `hanse rollout resume` and `promote` go on in spite of a failed check; this does not.
    """
    act = _resolve if resolve else retry
    click.echo(on_rollout(application, where, act))


async def _resolve(host: Client, rollout: RolloutReading) -> str:
    application = rollout.application
    asked = annotations_of(application).get(CHART_RAW_ANNOTATION)
    now = dig(application, "spec", "template", "chart", "version")
    if asked is None or asked == now:
        raise Failure(
            f"application {name_of(application)} names a chart version and no range of them; edit its template"
        )
    await require_unblocked(host, application, name_of(application))
    await write(host, APPLICATIONS, application, {"spec": {"template": {"chart": {"version": asked}}}})
    return f"application {name_of(application)} looks for the newest version in {asked!r}; it has {now}"


async def retry(host: Client, rollout: RolloutReading) -> str:
    """Try again what stopped of an application; raises Failure where nothing did."""
    contender, name = rollout.contender, name_of(rollout.application)
    if contender is not None and failure_of(contender.obj):
        await require_unblocked(host, contender.obj, name)
        return await _forget(host, contender)
    if rollout.verdict.outcome is not Outcome.FAILED:
        raise Failure(f"nothing of application {name} failed; `hanse rollout get {name}` says what it waits for")
    failed_release = contender is not None and contender.verdict.outcome is Outcome.FAILED
    resource, obj = (RELEASES, contender.obj) if contender and failed_release else (APPLICATIONS, rollout.application)
    asked = {RETRIED_ANNOTATION: timestamp(host.runtime.now())}
    await write(host, resource, obj, {"metadata": {"annotations": asked}})
    return f"{resource.kind.lower()} {name_of(obj)} is tried again"


async def _forget(host: Client, release: ReleaseReading) -> str:
    """Empty what a release remembers of its step before it goes on, so that nothing old holds it up again.

    The control plane writes a new memory in between. So the second write asks only that it is still the same release.
    """
    place, same = namespace_of(release.obj), {"uid": uid_of(release.obj)}
    forgotten = {"metadata": same, "status": {"progress": None}}
    await host.patch(RELEASES, release.name, forgotten, place, subresource="status")
    if release.paused:
        unpaused = {"metadata": {**same, "annotations": {PAUSED_ANNOTATION: None}}}
        await host.patch(RELEASES, release.name, unpaused, place)
    return f"release {release.name} tries its step again"
