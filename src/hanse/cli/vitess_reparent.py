"""`hanse vitess reparent`: make another tablet the primary of a shard."""

from __future__ import annotations

from typing import Any

import click

from hanse.cli.failures import Failure
from hanse.cli.vitess_finding import annotate, cluster_options, on_vitess, parse_shard, require_plan
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import all_shards
from hanse.vitess.federated.requests import REPARENT_ANNOTATION, reparent_text, requests_of


@click.command("reparent")
@cluster_options
@click.argument("shard", metavar="KEYSPACE/SHARD")
@click.option("--to", "alias", required=True, metavar="TABLET", help="The alias of the next primary.")
def command(cluster: str, shard: str, alias: str, **where: Any) -> None:
    """Make another tablet the primary of a shard, in the same cluster or another, as planned: no write is lost.

    \b
    Example:
      hanse vitess reparent shop orders/-80 --to uswest2a-0394942161
    """
    wanted = parse_shard(shard)

    async def reparent(host: Client, source: Obj) -> str:
        require_plan(source)
        found = next((each for each in all_shards(source["spec"]) if each.id == wanted), None)
        if found is None:
            known = ", ".join(str(each.id) for each in all_shards(source["spec"]))
            raise Failure(f"there is no shard {wanted}; there are {known}")
        able = [each.alias for each in found.identities() if each.type in ("replica", "externalmaster")]
        if alias not in able:
            raise Failure(f"{alias} cannot lead {wanted}; {', '.join(able) or 'nobody'} can")
        if dig(source, "status", "federation", "shards", str(wanted), "primary") == alias:
            return f"{alias} is the primary of {wanted} already"
        wishes = {**requests_of(source).reparent, wanted: alias}
        await annotate(host, source, REPARENT_ANNOTATION, reparent_text(wishes))
        return f"{alias} becomes the primary of {wanted}; `hanse vitess status {cluster}` tells when"

    click.echo(on_vitess(cluster, where, reparent))
