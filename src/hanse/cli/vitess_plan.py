"""`hanse vitess plan`: how a VitessCluster would be split over clusters, before it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.cli.connection import host_options
from hanse.cli.failures import Failure, Misuse
from hanse.cli.output import Column, echo, output_option, show, show_documents, table
from hanse.cli.rollout_finding import on_host
from hanse.cli.yaml_files import read_manifests
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, annotations_of, dig, name_of, namespace_of
from hanse.vitess.federated.plan import stored_plan
from hanse.vitess.federated.planning import Facts, Planned, next_plan
from hanse.vitess.federated.preflight import Finding, advice, facts_of, preflight
from hanse.vitess.federated.reaching import unread_problem
from hanse.vitess.federated.reading import shards_of
from hanse.vitess.federated.sights import sites_of
from hanse.vitess.federated.splitting import split

_COLUMNS = (Column("CLUSTER"), Column("CELLS"), Column("KEYSPACES"), Column("TABLETS"), Column("BEGINS"))


@click.command("plan")
@click.option("-f", "--filename", "file", type=click.Path(path_type=Path), required=True, help="The VitessCluster.")
@click.option(
    "--clusters",
    "fleet",
    type=click.Path(path_type=Path),
    help="Cluster objects to plan for, in place of a running federation's.",
)
@host_options
@output_option()
def command(file: Path, fleet: Path | None, output: str, **where: Any) -> None:
    """Say what each cluster would get of a VitessCluster, what is wrong with it, and what is not known. Writes nothing.

    \b
    Examples:
      hanse vitess plan -f shop.yaml
      hanse vitess plan -f shop.yaml -o yaml                   the members' VitessClusters themselves
      hanse vitess plan -f shop.yaml --clusters fleet.yaml     on files alone, for CI

    Exit codes: 0 if it can be split, 1 if it is refused or the networks do not allow it.
    """
    source = _read(file)
    if fleet is not None:
        clusters, live = [obj for obj in read_manifests([fleet], "--clusters") if obj["kind"] == CLUSTERS.kind], None
    else:
        clusters, live = on_host(where, lambda host: _look(host, source))
    before = stored_plan(live) if live is not None else None
    planned = next_plan(source, before, Facts(sites_of([parse_cluster(obj) for obj in clusters])))
    if planned.refusals:
        raise Failure("; ".join(map(str, planned.refusals)))
    members = planned.plan.members
    facts = {name_of(obj): facts_of(annotations_of(obj)) for obj in clusters if name_of(obj) in members}
    findings = [*preflight(source["spec"], facts), *advice(source["spec"], planned.plan.homes)]
    if unread := unread_problem(source):
        findings.append(Finding(("the federation",), unread, wrong=False))
    _print(source, planned, findings, output)
    if any(finding.wrong for finding in findings):
        raise Failure("the networks of these clusters do not allow it; see above")


def _read(file: Path) -> Obj:
    found = [obj for obj in read_manifests([file], "-f") if obj["kind"] == VITESS_CLUSTERS.kind]
    if len(found) != 1 or found[0]["apiVersion"] != VITESS_CLUSTERS.api_version:
        raise Misuse(f"-f: {file} must hold one VitessCluster of {VITESS_CLUSTERS.api_version}, and holds {len(found)}")
    source = found[0]
    if not dig(source, "metadata", "name"):
        raise Misuse(f"-f: {file}: metadata.name: name the VitessCluster")
    return {**source, "metadata": {"namespace": "default", **source["metadata"]}}


async def _look(host: Client, source: Obj) -> tuple[list[Obj], Obj | None]:
    clusters = (await host.list(CLUSTERS)).items
    try:
        return clusters, await host.find(VITESS_CLUSTERS, name_of(source), namespace_of(source))
    except NotFound:
        return clusters, None


def _print(source: Obj, planned: Planned, findings: list[Finding], output: str) -> None:
    parts = split(source, planned.plan)
    if output == "yaml":
        show_documents(parts.values())
        return
    rows = [_row(member, part, planned) for member, part in sorted(parts.items())]
    if output in ("json", "name"):
        show(output, _COLUMNS, rows, parts, sorted(parts))
        return
    echo(table(_COLUMNS, rows))
    for note in planned.notes:
        echo(f"- {note}\n")
    for finding in findings:
        echo(f"{'wrong' if finding.wrong else 'note'}: {finding}\n")


def _row(member: str, part: Obj, planned: Planned) -> tuple[str, ...]:
    keyspaces = dig(part, "spec", "keyspaces", default=())
    tablets = sum(len(list(shard.identities())) for each in keyspaces for shard in shards_of(each))
    begins = [str(shard) for shard, home in planned.plan.initializers.items() if home == member]
    cells = ",".join(each["name"] for each in dig(part, "spec", "cells", default=()))
    return member, cells, ",".join(each["name"] for each in keyspaces), str(tablets), ",".join(begins)
