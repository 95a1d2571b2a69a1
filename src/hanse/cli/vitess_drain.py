"""`hanse vitess drain`: have a tablet drained, wherever it is."""

from __future__ import annotations

from typing import Any

import click

from hanse.api.planetscale.kinds import DRAIN_FINISHED_ANNOTATION, DRAIN_STARTED_ANNOTATION
from hanse.cli.connection import connect_member, read_clusters
from hanse.cli.failures import Failure
from hanse.cli.vitess_finding import cluster_options, member_of_tablet, on_vitess, require_plan
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import timestamp
from hanse.vitess.naming import tablet_name


@click.command("drain")
@cluster_options
@click.argument("alias", metavar="TABLET")
@click.option("--cancel", is_flag=True, help="Let the tablet be, if it is not drained yet.")
def command(cluster: str, alias: str, cancel: bool, **where: Any) -> None:
    """Have a tablet drained, so that its pod may go: a primary hands over first, to another cluster if it must.

    Of each shard one tablet is drained at a time, over all clusters. It sets drain.planetscale.com/started on the
    tablet's Pod; drain.planetscale.com/finished says that it is drained.

    \b
    Example:
      hanse vitess drain shop useast1a-2244051001
    """

    async def drain(host: Client, source: Obj) -> str:
        member = member_of_tablet(require_plan(source), alias)
        found = next((each for each in await read_clusters(host) if each.name == member), None)
        if found is None:
            raise Failure(f"cluster {member} is not registered; join it again")
        if found.pull:
            raise Failure(f"cluster {member} fetches its work and is not reached from here; annotate the pod there")
        client = (await connect_member(host, found)).client
        text = None if cancel else f"hanse vitess drain {timestamp(host.runtime.now())}"
        patch = {"metadata": {"annotations": {DRAIN_STARTED_ANNOTATION: text}}}
        try:
            await client.patch(PODS, tablet_name(name_of(source), alias), patch, namespace_of(source))
        except NotFound as error:
            raise Failure(
                f"cluster {member} has no tablet {alias}; `hanse vitess status` shows those it has"
            ) from error
        finally:
            await client.close()
        if cancel:
            return f"tablet {alias} in {member} is not drained any more"
        return (
            f"tablet {alias} in {member} will be drained in its turn; {DRAIN_FINISHED_ANNOTATION} on its pod says when"
        )

    click.echo(on_vitess(cluster, where, drain))
