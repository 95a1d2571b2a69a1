"""`hanse clusters`: the members and how they are."""

from __future__ import annotations

from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import one_sentence
from hanse.cli.output import Column, age, output_option, show
from hanse.cli.running import run
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.runtime import parse_timestamp

_COLUMNS = (
    Column("NAME"),
    Column("STATE"),
    Column("REGION"),
    Column("ZONES"),
    Column("NODES"),
    Column("VERSION"),
    Column("AGE"),
    Column("SERVER", wide=True),
    Column("SINCE", wide=True),
    Column("WHY", wide=True),
)


@click.command("clusters")
@host_options
@output_option()
def command(data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """List the member clusters."""
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        items, now = run(lambda: _list(endpoint))
    if not items and output in ("table", "wide"):
        click.echo("no cluster has joined; `hanse join --help` says how", err=True)
        return
    rows = [_row(obj, now) for obj in items]
    show(output, _COLUMNS, rows, {"items": items}, [f"cluster/{name_of(obj)}" for obj in items])


async def _list(endpoint: Endpoint) -> tuple[list[Obj], float]:
    async with connected(endpoint) as host:
        items = (await host.list(CLUSTERS)).items
        for obj in items:
            obj["metadata"].pop("managedFields", None)
        return sorted(items, key=name_of), host.runtime.now()


def _row(obj: Obj, now: float) -> list[str]:
    cluster = parse_cluster(obj)
    state = "Ready" if not cluster.refusal else "Offline" if cluster.offline else "NotReady"
    ready = find_condition(dig(obj, "status", "conditions"), "Ready") or {}
    since = ready.get("lastTransitionTime")
    return [
        cluster.name,
        state,
        cluster.region,
        ",".join(cluster.zones),
        str(dig(obj, "status", "nodes", default="")),
        dig(obj, "status", "version", default=""),
        age(now - parse_timestamp(obj["metadata"]["creationTimestamp"])),
        cluster.server,
        age(now - parse_timestamp(since)) if since else "",
        cluster.why,
    ]
