"""`hanse vitess evacuate`: empty a cluster of primaries, and of tablets that serve."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.clusters import words_of
from hanse.cli.failures import Failure
from hanse.cli.vitess_finding import annotate, cluster_options, on_vitess, require_plan
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, annotations_of
from hanse.vitess.federated.requests import EVACUATE_ANNOTATION


@click.command("evacuate")
@cluster_options
@click.argument("member", metavar="CLUSTER")
@click.option("--undo", is_flag=True, help="Let the cluster have primaries and tablets again.")
def command(cluster: str, member: str, undo: bool, **where: Any) -> None:
    """Empty a cluster before it is shut down: its primaries move to other clusters, then its tablets are drained.

    It lasts until --undo. A shard that no other cluster could lead keeps its primary; `hanse vitess status` says so.

    \b
    Example:
      hanse vitess evacuate shop east
    """

    async def evacuate(host: Client, source: Obj) -> str:
        members = require_plan(source).members
        if member not in members:
            raise Failure(f"cluster {member} has no part of {cluster}; {', '.join(members)} have")
        before = words_of(annotations_of(source).get(EVACUATE_ANNOTATION, ""))
        others = [name for name in before if name != member]
        wanted = others if undo else [*others, member]
        if not undo and set(wanted) == set(members):
            raise Failure(f"{member} is the last cluster that is not evacuated; one has to stay")
        await annotate(host, source, EVACUATE_ANNOTATION, ",".join(sorted(wanted)) or None)
        return f"cluster {member} {'may have primaries again' if undo else 'is being evacuated'}"

    click.echo(on_vitess(cluster, where, evacuate))
