"""`hanse vitess status`: cells and shards in one picture, with their primaries."""

from __future__ import annotations

from typing import Any

import click

from hanse.cli.output import echo, output_option, show
from hanse.cli.vitess_finding import cluster_options, on_vitess
from hanse.cli.vitess_picture import document, grid_of, picture
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, name_of


@click.command("status")
@cluster_options
@output_option()
def command(cluster: str, output: str, **where: Any) -> None:
    """Show a VitessCluster as cells by shards: a star where the primary is, and below what is waited for.

    \b
    Examples:
      hanse vitess status shop
      hanse vitess status shop -o wide     with the primaries by name, and how each cluster stands
    """

    async def found(_host: Client, source: Obj) -> Obj:
        return source

    source = on_vitess(cluster, where, found)
    if output in ("table", "wide"):
        echo(picture(source, wide=output == "wide"))
        return
    grid = grid_of(source)
    show(output, grid.columns, grid.rows, document(source), [f"vitesscluster.planetscale.com/{name_of(source)}"])
