"""`hanse explain`: why each cluster has what it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from hanse.api.held_changes import HELD_CHANGES
from hanse.api.names import STATUS_ANNOTATION
from hanse.cli.company import look_around
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters, read_policy_objects, rights_of
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.kinds_file import usual_door
from hanse.cli.naming import find_source, kind_named, not_federated, parse_named, require_name
from hanse.cli.output import Column, output_option, show
from hanse.cli.paper import federation_of, file_options, load_policy, read_papers
from hanse.cli.running import run
from hanse.clusters.access import Access
from hanse.clusters.member import Member
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of
from hanse.native.rehearsal import Rehearsed
from hanse.propagation.blast import held_sentence
from hanse.propagation.door import keyed
from hanse.propagation.explanation import ClusterExplanation, explain, source_summary
from hanse.propagation.intent import Problem, Ref
from hanse.propagation.planning import UNSEEN, Observation, plan
from hanse.propagation.remedies import remedy_for
from hanse.propagation.turns import remembered
from hanse.propagation.waiting_pods import look_for_room


@dataclass(frozen=True, slots=True)
class _Explained:
    title: str
    summary: str
    clusters: list[ClusterExplanation]
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    trouble: str = ""


_COLUMNS = (
    Column("OBJECT", wide=True),
    Column("CLUSTER"),
    Column("CHOSEN"),
    Column("REPLICAS"),
    Column("HAS"),
    Column("WHY"),
)


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[KIND NAME]")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: where the name is found).")
@file_options
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    files: tuple[Path, ...],
    fleet_files: tuple[Path, ...],
    policy: str | None,
    lost: tuple[str, ...],
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Say why each cluster has what it has of an object, and what would have to change where it has nothing.

    \b
    Examples:
      hanse explain deployment web
      hanse explain deploy/web -n shop -o json
      hanse explain -f web.yaml --clusters fleet.yaml

    With -f and --clusters it explains what would become of the objects in files, and reads nothing else: the exit code
    is then 1 if something cannot be had.
    """
    if files:
        papers = read_papers(files)
        if not fleet_files and not papers.clusters:
            raise Misuse("-f needs --clusters: the Cluster objects of the fleet")
        federation, function = federation_of(papers, fleet_files, lost), load_policy(policy) if policy else None
        explained = [_on_paper(federation.rehearse(obj, function)) for obj in papers.objects]
    else:
        if not words or fleet_files or lost or policy:
            raise Misuse("name an object, as `hanse explain deployment web`, or files with -f and --clusters")
        named = require_name(parse_named(words, "explain"), "explain")
        with one_sentence():
            endpoint = host_endpoint(data_dir, kubeconfig, context)
            explained = [run(lambda: _explain(endpoint, named.kind, Key(namespace, named.name)))]
    _print(explained, output, whole=not files)
    if files and any(each.trouble for each in explained):
        raise SystemExit(1)


def _print(explained: list[_Explained], output: str, *, whole: bool) -> None:
    if output == "table":
        click.echo("\n".join(_told(each) for each in explained), nl=False)
        return
    rows = [
        [
            each.title,
            part.cluster,
            "yes" if part.chosen else "no",
            "" if part.planned_replicas is None else str(part.planned_replicas),
            part.summary,
            " ".join(part.sentences),
        ]
        for each in explained
        for part in each.clusters
    ]
    documents = [_document(each) for each in explained]
    names = [f"cluster/{part.cluster}" for each in explained for part in each.clusters]
    show(output, _COLUMNS, rows, documents[0] if whole else {"objects": documents}, names)


def _document(explained: _Explained) -> dict[str, Any]:
    return {
        "title": explained.title,
        "summary": explained.summary,
        "placedBy": list(explained.sources),
        "notes": list(explained.notes),
        "trouble": explained.trouble,
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


def _on_paper(rehearsed: Rehearsed) -> _Explained:
    intent, planned = rehearsed.intent, rehearsed.planned
    if intent is None or planned is None:
        return _Explained(rehearsed.title, "cannot be placed", [], (rehearsed.problem,), trouble=rehearsed.problem)
    summary = "copied to every chosen cluster" if intent.replicas is None else f"{intent.replicas} replicas wanted"
    parts = [
        replace(each, summary=_wish(each), sentences=each.sentences[: len(verdict.reasons)])
        for each, verdict in zip(rehearsed.explain(), planned.decision.verdicts, strict=True)
    ]
    notes = planned.decision.notes
    trouble = rehearsed.trouble
    return _Explained(
        rehearsed.title, summary, parts, notes or ((trouble,) if trouble else ()), intent.sources, trouble
    )


def _wish(part: ClusterExplanation) -> str:
    if not part.chosen:
        return "would get nothing"
    return "would get it" if part.planned_replicas is None else f"would get {part.planned_replicas} replicas"


async def _explain(endpoint: Endpoint, word: str, key: Key) -> _Explained:
    async with connected(endpoint) as host:
        door = usual_door().informed(keyed(await read_policy_objects(host)))
        resource = await kind_named(host, word)
        if resource not in door.resources:
            raise Failure(not_federated(resource, door.resources))
        source = await find_source(host, resource, key)
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
        around = await look_around(host, door, clusters, Ref(resource, key), source)
        intent = around.accompanied(Ref(resource, key), intent.without(await rights_of(Access(host), source, clusters)))
        now, rooms = host.runtime.now(), dict[str, int]()

        async def look(member: Member) -> Obj | None:
            copy = await member.client.find(resource, key.name, key.namespace)
            room = await look_for_room(member.client, intent, copy, now)
            if room is not None:
                rooms[member.name] = room
            return copy

        answers = await ask_members(host, clusters, look)
        observed = {
            name: UNSEEN if isinstance(answer, str) else Observation(seen=True, copy=answer)
            for name, answer in answers.items()
        }
        planned = plan(intent, clusters, observed, now=now, memory=remembered(source), estimated=rooms)
        held = await host.find(HELD_CHANGES, "native") if planned.leaving else None
        pending = (planned.wave.sentence,) if planned.wave.sentence else ()
        if held is not None and not held["spec"]["approved"]:
            planned = plan(intent, clusters, observed, now=now, memory=remembered(source), hold=True)
            pending = (held_sentence("native"), *pending)
        remedies = {
            verdict.cluster: remedy_for(verdict.cluster, intent, clusters, observed, now=now)
            for verdict in planned.decision.verdicts
            if not verdict.chosen
        }
        told = explain(intent, planned, observed, remedies)
        notes = (*pending, *planned.decision.notes, *around.lacks(Ref(resource, key)))
        return _Explained(title, source_summary(source, intent), told, notes, intent.sources)


def _told(explained: _Explained) -> str:
    lines = [f"{explained.title}: {explained.summary}"]
    if not explained.clusters and not explained.trouble:
        lines.append("No cluster has joined the federation; `hanse join --help` says how.")
    lines += [f"Placed by: {source}." for source in explained.sources]
    lines += [f"Note: {note}." for note in explained.notes]
    width = max((len(each.cluster) for each in explained.clusters), default=0)
    for each in explained.clusters:
        lines += ["", f"{each.cluster.ljust(width)}  {each.summary}"]
        lines += [f"  {sentence}" for sentence in each.sentences]
    return "\n".join(lines) + "\n"
