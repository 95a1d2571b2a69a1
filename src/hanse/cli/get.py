"""`hanse get`: objects over all clusters in one table, with the columns that each API server itself would print."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import orjson

from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import Resource

_AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_FEDERATION = "(federation)"


@dataclass(slots=True)
class _Answers:
    columns: list[Column] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    objects: list[Obj] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)


@click.command("get")
@click.argument("kind")
@click.argument("name", required=False, default="")
@click.option("-n", "--namespace", default="default", help="The namespace to look in.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@host_options
@output_option()
def command(
    kind: str,
    name: str,
    namespace: str,
    all_namespaces: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Show objects of KIND in the federation and in every cluster."""
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        answers = run(lambda: _collect(endpoint, kind, name, "" if all_namespaces else namespace))
    document = {"items": answers.objects, "unreachable": answers.silent}
    names = [f"{entry['cluster']}/{name_of(entry['object'])}" for entry in answers.objects]
    for cluster, why in answers.silent.items():
        click.echo(f"warning: {cluster}: {why}", err=True)
    if answers.rows or (not name and output in ("json", "yaml", "name")):
        show(output, answers.columns, answers.rows, document, names)
        return
    where = "any namespace" if all_namespaces else f"namespace {namespace}"
    if name:
        raise Failure(f"no {kind} named {name} in {where}, in the federation or in any cluster that answers")
    click.echo(f"no {kind} in {where}, in the federation or in any cluster that answers", err=True)


async def _collect(endpoint: Endpoint, word: str, name: str, namespace: str) -> _Answers:
    async with connected(endpoint) as host:
        resource = await host.discovery.named(word)
        where = namespace if resource.namespaced else ""
        clusters = await read_clusters(host)
        answers = _Answers()
        many = resource.namespaced and not where
        _take(answers, _FEDERATION, await _table(host, resource, where, name), many=many)
        tables = await ask_members(host, clusters, lambda member: _table(member.client, resource, where, name))
        for cluster, table in tables.items():
            if isinstance(table, str):
                answers.silent[cluster] = table
            else:
                _take(answers, cluster, table, many=many)
        return answers


async def _table(client: Client, resource: Resource, namespace: str, name: str) -> Obj:
    try:
        path = resource.path(namespace, name)
        body = await client.get_raw(path, accept=_AS_TABLE, query=(("includeObject", "Object"),))
    except NotFound:
        return {}
    document: Obj = orjson.loads(body)
    return document


def _take(answers: _Answers, cluster: str, table: Obj, *, many: bool) -> None:
    definitions: list[Any] = table.get("columnDefinitions") or []
    if definitions and not answers.columns:
        answers.columns = [Column("CLUSTER")]
        if many:
            answers.columns.append(Column("NAMESPACE"))
        answers.columns += [Column(entry["name"].upper(), wide=bool(entry.get("priority"))) for entry in definitions]
    for row in table.get("rows") or []:
        cells = [cluster]
        if many:
            cells.append(row["object"]["metadata"].get("namespace") or "")
        cells += ["" if cell is None else str(cell) for cell in row["cells"]]
        # Versions of Kubernetes differ in their columns; the first that answered sets the table's width.
        answers.rows.append((cells + [""] * len(answers.columns))[: len(answers.columns)])
        row["object"]["metadata"].pop("managedFields", None)
        answers.objects.append({"cluster": cluster, "object": row["object"]})
