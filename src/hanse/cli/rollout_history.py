"""`hanse rollout history`: the releases of an application."""

from __future__ import annotations

from typing import Any

import click

from hanse.cli.output import Column, age, output_option, show
from hanse.cli.rollout_finding import application_options, on_rollout
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp
from hanse.rollouts.reading import ReleaseReading, RolloutReading, is_complete, step_title
from hanse.rollouts.shelf import generation_of

_COLUMNS = (
    Column("GENERATION"),
    Column("RELEASE"),
    Column("ROLE"),
    Column("ACHIEVED STEP"),
    Column("COMPLETE"),
    Column("MADE OF"),
    Column("AGE"),
    Column("CLUSTERS", wide=True),
)


@click.command("history")
@application_options
@output_option()
def command(application: str, output: str, **where: Any) -> None:
    """List the releases of an application, the newest first; `hanse rollout undo --to` goes back to one."""

    async def read(host: Client, rollout: RolloutReading) -> tuple[RolloutReading, float]:
        return rollout, host.runtime.now()

    rollout, now = on_rollout(application, where, read)
    rows = [_row(each, now) for each in rollout.releases]
    items = [_document(each) for each in rollout.releases]
    show(output, _COLUMNS, rows, {"items": items}, [f"release/{each.name}" for each in rollout.releases])


def made_of(environment: Obj) -> str:
    """Say in a few words what an environment is made of: `nginx 0.0.1`, `kustomization configmap://web`."""
    if chart := environment.get("chart"):
        return " ".join(str(chart[part]) for part in ("name", "version") if chart.get(part))
    source = environment.get("source") or {}
    return next((f"{kind} {given.get('location', '')}" for kind, given in source.items() if given), "")


def _row(release: ReleaseReading, now: float) -> list[str]:
    achieved = release.achieved_step
    generation = generation_of(release.obj)
    return [
        "" if generation is None else str(generation),
        release.name,
        str(release.role),
        "" if achieved is None else step_title(release.obj, achieved),
        "yes" if is_complete(release.obj) else "no",
        made_of(release.obj["spec"]["environment"]),
        age(now - parse_timestamp(release.obj["metadata"]["creationTimestamp"])),
        ",".join(each.name for each in release.clusters),
    ]


def _document(release: ReleaseReading) -> dict[str, Any]:
    return {
        "generation": generation_of(release.obj),
        "name": release.name,
        "role": str(release.role),
        "achievedStep": dig(release.obj, "status", "achievedStep"),
        "complete": is_complete(release.obj),
        "environment": release.obj["spec"]["environment"],
        "clusters": [each.name for each in release.clusters],
    }
