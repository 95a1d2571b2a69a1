"""`hanse vitess evacuate`: empty a cluster of primaries, and of tablets that serve."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.clusters import words_of
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.cli.failures import Failure
from hanse.cli.vitess_finding import annotate, cluster_options, on_vitess, require_plan
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, annotations_of, dig, name_of, namespace_of
from hanse.vitess.federated.requests import EVACUATE_ANNOTATION

_PATIENCE_SECONDS = 600.0


@click.command("evacuate")
@cluster_options
@click.argument("member", metavar="CLUSTER")
@click.option("--undo", is_flag=True, help="Let the cluster have primaries and tablets again.")
@click.option("--wait", is_flag=True, help="Return when no primary is there any more, or fail after ten minutes.")
def command(cluster: str, member: str, undo: bool, wait: bool, **where: Any) -> None:
    """Empty a cluster before it is shut down: its primaries move to other clusters, then its tablets are drained.

    It lasts until --undo. A shard that no other cluster could lead keeps its primary; `hanse vitess status` says so.

    \b
    Examples:
      hanse vitess evacuate shop east --wait && hanse cluster fail east
      hanse vitess evacuate shop east --undo
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
        if undo:
            return f"cluster {member} may have primaries again"
        if not wait:
            look = f"`hanse vitess status {cluster}` tells when its primaries are elsewhere"
            return f"cluster {member} is being evacuated; {look}"
        await _without_primaries(host, source, member)
        return f"cluster {member} has no primary of {cluster} any more"

    click.echo(on_vitess(cluster, where, evacuate))


async def _without_primaries(host: Client, source: Obj, member: str) -> None:
    """Wait until topology says that no shard has its primary in a cluster; raises Failure."""
    ends = host.runtime.monotonic() + _PATIENCE_SECONDS
    while True:
        found = await host.get(VITESS_CLUSTERS, name_of(source), namespace_of(source))
        shards = dig(found, "status", "federation", "shards", default={})
        there = sorted(name for name, state in shards.items() if state.get("member", member) == member)
        if not there:
            return
        if host.runtime.monotonic() >= ends:
            raise Failure(
                f"{', '.join(there)} still have primaries in {member}, or nobody knows; `hanse vitess status "
                f"{name_of(source)}` says what is waited for"
            )
        await host.runtime.sleep(1.0)
