"""`hanse explain`: why each cluster has what it has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from hanse.api.names import STATUS_ANNOTATION
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, namespace_of
from hanse.kube.resources import Resource
from hanse.native import NativeDoor
from hanse.propagation.explanation import ClusterExplanation, explain, source_summary
from hanse.propagation.intent import Problem
from hanse.propagation.planning import UNSEEN, Observation, plan


@dataclass(frozen=True, slots=True)
class _Explained:
    title: str
    summary: str
    clusters: list[ClusterExplanation]
    notes: tuple[str, ...] = ()


_COLUMNS = (Column("CLUSTER"), Column("CHOSEN"), Column("REPLICAS"), Column("HAS"), Column("WHY"))


@click.command("explain")
@click.argument("kind")
@click.argument("name")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: where the name is found).")
@host_options
@output_option()
def command(
    kind: str, name: str, namespace: str, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str
) -> None:
    """Say why each cluster has what it has of an object, e.g. `hanse explain deployment web`."""
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        explained = run(lambda: _explain(endpoint, kind, Key(namespace, name)))
    if output == "table":
        click.echo(_told(explained), nl=False)
        return
    rows = [
        [
            each.cluster,
            "yes" if each.chosen else "no",
            "" if each.planned_replicas is None else str(each.planned_replicas),
            each.summary,
            " ".join(each.sentences),
        ]
        for each in explained.clusters
    ]
    document = {
        "title": explained.title,
        "summary": explained.summary,
        "notes": list(explained.notes),
        "clusters": [
            {
                "cluster": each.cluster,
                "chosen": each.chosen,
                "plannedReplicas": each.planned_replicas,
                "summary": each.summary,
                "sentences": list(each.sentences),
            }
            for each in explained.clusters
        ],
    }
    show(output, _COLUMNS, rows, document, [f"cluster/{each.cluster}" for each in explained.clusters])


async def _explain(endpoint: Endpoint, word: str, key: Key) -> _Explained:
    async with connected(endpoint) as host:
        door = NativeDoor()
        resource = await host.discovery.named(word)
        if resource not in door.resources:
            known = ", ".join(kind.plural for kind in door.resources)
            raise Failure(f"{resource.group_resource} are not federated; these are: {known}")
        source = await _find(host, resource, key)
        key = key_of(source)
        title = f"{resource.kind} {key}"
        if not door.admits(source):
            raise Failure(f"{title} is not federated: it belongs to the federation's own machinery")
        if is_deleting(source):
            waits = find_condition(dig(source, "status", "conditions"), "Propagated") or {}
            why = annotations_of(source).get(STATUS_ANNOTATION) or waits.get("message") or "it is being deleted"
            raise Failure(f"{title}: {why}")
        intent = door.translate(source)
        if isinstance(intent, Problem):
            raise Failure(f"{title} cannot be placed and keeps what it has: {intent.message}")
        clusters = await read_clusters(host)
        answers = await ask_members(
            host, clusters, lambda member: member.client.find(resource, key.name, key.namespace)
        )
        observed = {
            name: UNSEEN if isinstance(answer, str) else Observation(seen=True, copy=answer)
            for name, answer in answers.items()
        }
        planned = plan(intent, clusters, observed)
        told = explain(intent, planned, observed)
        return _Explained(title, source_summary(source, intent), told, planned.decision.notes)


async def _find(host: Client, resource: Resource, key: Key) -> Obj:
    """Find the object; without a namespace the default one counts first, then any other if only one has it."""
    if key.namespace or not resource.namespaced:
        return await host.get(resource, key.name, key.namespace)
    listed = (await host.list(resource, fields=f"metadata.name={key.name}")).items
    found = {namespace_of(obj): {**obj, "apiVersion": resource.api_version, "kind": resource.kind} for obj in listed}
    if "default" in found:
        return found["default"]
    if not found:
        raise Failure(f'{resource.group_resource} "{key.name}" not found in any namespace')
    if len(found) > 1:
        raise Misuse(f"{resource.plural} named {key.name} are in {', '.join(sorted(found))}; choose one with -n")
    return next(iter(found.values()))


def _told(explained: _Explained) -> str:
    lines = [f"{explained.title}: {explained.summary}"]
    if not explained.clusters:
        lines.append("No cluster has joined the federation; `hanse join --help` says how.")
    lines += [f"Note: {note}." for note in explained.notes]
    width = max((len(each.cluster) for each in explained.clusters), default=0)
    for each in explained.clusters:
        lines += ["", f"{each.cluster.ljust(width)}  {each.summary}"]
        lines += [f"  {sentence}" for sentence in each.sentences]
    return "\n".join(lines) + "\n"
