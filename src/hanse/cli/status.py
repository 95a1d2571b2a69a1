"""`hanse status`: the parts of a federation that was started with `up`, and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.cli.approve import Waiting, held_changes
from hanse.cli.connection import connected, data_dir_option, default_data_dir, host_endpoint
from hanse.cli.embedded.breaking import faults_of
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import name_of
from hanse.simulator.faults.values import FaultError

_COLUMNS = (
    Column("PART"),
    Column("STATE"),
    Column("REGION"),
    Column("NODES"),
    Column("FAULTS"),
    Column("ADDRESS"),
    Column("WHY", wide=True),
)


@click.command("status")
@data_dir_option()
@output_option()
def command(data_dir: Path | None, output: str) -> None:
    """Show the parts of a federation that was started with `up`."""
    folder = Folder(data_dir or default_data_dir())
    record = folder.read()
    if record is None:
        raise Failure(f"there is no federation in {folder.path}; `hanse up --data-dir {folder.path}` starts one")
    running = folder.holder() is not None
    clusters: list[dict[str, Any]] = []
    waiting: list[Waiting] = []
    if running and record.ready:
        with one_sentence():
            endpoint = host_endpoint(folder.path, None, record.name)
            clusters, waiting = run(lambda: _read(endpoint))
    document = _document(folder, record, running, clusters)
    document["waiting"] = [each.as_mapping() for each in waiting]
    rows = [["federation", document["state"], "", "", "", record.host, ""]]
    rows += [
        [each["name"], each["state"], each["region"], str(each["nodes"]), _told(each), each["address"], each["why"]]
        for each in clusters
    ]
    show(output, _COLUMNS, rows, document, [document["name"], *(each["name"] for each in clusters)])
    if not running and output in ("table", "wide"):
        click.echo(f"it is not running; `hanse up --data-dir {folder.path}` starts it where it was", err=True)
    for each in waiting if output in ("table", "wide") else ():
        click.echo(f"held until `hanse approve {each.name}`: {each.why}", err=True)


def _document(folder: Folder, record: Record, running: bool, clusters: list[dict[str, Any]]) -> dict[str, Any]:
    state = "Stopped" if not running else "Ready" if record.ready else "Starting"
    return {
        "name": record.name,
        "state": state,
        "domain": record.domain,
        "pid": record.pid if running else None,
        "dataDir": str(folder.path),
        "kubeconfig": str(folder.kubeconfig),
        "host": {"address": record.host, "context": record.name},
        "dns": {"address": record.dns if running and record.ready else ""},
        "clusters": clusters,
    }


async def _read(endpoint: Endpoint) -> tuple[list[dict[str, Any]], list[Waiting]]:
    async with connected(endpoint) as host:
        items = sorted((await host.list(CLUSTERS)).items, key=name_of)
        parts = [_part(parse_cluster(obj), _faults(obj, host.runtime.now()), obj) for obj in items]
        return parts, await held_changes(host)


def _faults(obj: dict[str, Any], now: float) -> list[dict[str, Any]]:
    try:
        return [fault.as_mapping() for fault in faults_of(obj, now)]
    except FaultError as error:
        return [{"fault": "unknown", "why": str(error)}]


def _told(part: dict[str, Any]) -> str:
    return ",".join(fault["fault"] for fault in part["faults"])


def _part(cluster: Cluster, faults: list[dict[str, Any]], obj: dict[str, Any]) -> dict[str, Any]:
    state = "Ready" if not cluster.refusal else "Offline" if cluster.offline else "NotReady"
    return {
        "name": cluster.name,
        "context": cluster.name,
        "state": state,
        "faults": faults,
        "region": cluster.region,
        "zones": list(cluster.zones),
        "nodes": (obj.get("status") or {}).get("nodes", 0),
        "address": cluster.server,
        "why": cluster.why,
    }
