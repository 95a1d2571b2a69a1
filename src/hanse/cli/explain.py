"""`hanse explain`: why each cluster has what it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hanse.api.held_changes import HELD_CHANGES
from hanse.api.names import STATUS_ANNOTATION
from hanse.cli.company import look_around
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters, rights_of
from hanse.cli.doors import read_doors
from hanse.cli.explained import Explained
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.fleet import ask_members
from hanse.cli.naming import kind_named, parse_named, require_name, require_not_rolled_out
from hanse.cli.output import Column, output_option, show
from hanse.cli.paper import federation_of, file_options, load_policy, read_papers
from hanse.cli.rehearsal import Rehearsed
from hanse.cli.running import run
from hanse.cli.speaking import Speaker, find_speaker
from hanse.clusters.access import Access
from hanse.clusters.member import Member
from hanse.federated.reporting import PROPAGATION
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting
from hanse.propagation.blast import held_sentence
from hanse.propagation.comparison import Present
from hanse.propagation.explanation import ClusterExplanation, counts_replicas, explain, reasons_of, source_summary
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.planning import UNSEEN, Observation, Planned, plan
from hanse.propagation.remedies import remedy_for
from hanse.propagation.rendering import owns
from hanse.propagation.turns import remembered
from hanse.propagation.waiting_pods import look_for_room

_COLUMNS = (
    Column("OBJECT", wide=True),
    Column("CLUSTER"),
    Column("CHOSEN"),
    Column("REPLICAS"),
    Column("HAS"),
    Column("WHY"),
)


_POD_WORDS = ("pod", "pods", "po")


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[KIND NAME]")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: where the name is found).")
@click.option("--source", default=None, metavar="CLUSTER", help="Of a pod: the cluster in which it seems to be.")
@file_options
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    source: str | None,
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
      hanse explain pod crunch-x7k2p -n batch --source eu-west
      hanse explain -f web.yaml --clusters fleet.yaml

    Of a pod that was elected to run elsewhere it says where it really runs, and what every target had to say.

    With -f and --clusters it explains what would become of the objects in files, and reads nothing else: the exit code
    is then 1 if something cannot be had.
    """
    if files:
        papers = read_papers(files)
        if not fleet_files and not papers.clusters:
            raise Misuse("-f needs --clusters: the Cluster objects of the fleet")
        federation, function = federation_of(papers, fleet_files, lost), load_policy(policy) if policy else None
        explained = [_on_paper(each) for each in federation.rehearse_all(function)]
    else:
        if not words or fleet_files or lost or policy:
            raise Misuse("name an object, as `hanse explain deployment web`, or files with -f and --clusters")
        named = require_name(parse_named(words, "explain"), "explain")
        if source is not None and named.kind not in _POD_WORDS:
            raise Misuse("--source: is for pods, as in `hanse explain pod NAME --source CLUSTER`")
        with one_sentence():
            endpoint = host_endpoint(data_dir, kubeconfig, context)
            explained = [run(lambda: _explain_named(endpoint, named.kind, Key(namespace, named.name), source))]
    _print(explained, output, whole=not files)
    if files and any(each.trouble for each in explained):
        raise SystemExit(1)


def _print(explained: list[Explained], output: str, *, whole: bool) -> None:
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


def _document(explained: Explained) -> dict[str, Any]:
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


def _on_paper(rehearsed: Rehearsed) -> Explained:
    intent, planned = rehearsed.intent, rehearsed.planned
    if intent is None or planned is None:
        return Explained(rehearsed.title, "cannot be placed", [], (rehearsed.problem,), trouble=rehearsed.problem)
    summary = "copied to every chosen cluster" if intent.replicas is None else f"{intent.replicas} replicas wanted"
    parts = [
        replace(
            each,
            summary=_wish(each, rehearsed.replicas_in(each.cluster)),
            sentences=tuple(reasons_of(intent, verdict)),
        )
        for each, verdict in zip(rehearsed.explain(), planned.decision.verdicts, strict=True)
    ]
    notes = planned.decision.notes
    trouble = rehearsed.trouble
    return Explained(rehearsed.title, summary, parts, notes or ((trouble,) if trouble else ()), intent.sources, trouble)


def _wish(part: ClusterExplanation, replicas: int | None) -> str:
    if not part.chosen:
        return "would get nothing"
    return "would get it" if replicas is None else f"would get {replicas} replicas"


async def _explain_named(endpoint: Endpoint, word: str, key: Key, source: str | None) -> Explained:
    async with connected(endpoint) as host:
        if word in _POD_WORDS:
            from hanse.cli.pod_explaining import explain_pod

            found = await explain_pod(host, key, source)
            if found is not None:
                return found
    return await _explain(endpoint, word, key)


async def _explain(endpoint: Endpoint, word: str, key: Key) -> Explained:
    async with connected(endpoint) as host:
        resource = await kind_named(host, word)
        require_not_rolled_out(resource, key.name)
        doors = await read_doors(host, resource)
        speaker = await find_speaker(host, doors, resource, key)
        ref, source, target = speaker.ref, speaker.source, speaker.target
        if is_deleting(source):
            conditions = dig(source, "status", "conditions")
            waits = find_condition(conditions, "Propagated") or find_condition(conditions, "Propagation") or {}
            why = annotations_of(source).get(STATUS_ANNOTATION) or waits.get("message") or "it is being deleted"
            raise Failure(f"{speaker.title}: {why}")
        intent = speaker.translate()
        if isinstance(intent, Problem):
            raise Failure(f"{speaker.title} cannot be placed and keeps what it has: {intent.message}")
        clusters = await read_clusters(host)
        around = await look_around(host, doors, clusters, ref, source)
        refused = await rights_of(Access(host), source, clusters, intent.voices)
        intent = around.accompanied(ref, intent.without(refused))
        now, rooms = host.runtime.now(), dict[str, int]()

        async def look(member: Member) -> Obj | None:
            copy = await member.client.find(target.resource, target.key.name, target.key.namespace)
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
        held = await host.find(HELD_CHANGES, speaker.door.name) if planned.leaving else None
        pending = (planned.wave.sentence,) if planned.wave.sentence else ()
        if held is not None and not held["spec"]["approved"]:
            planned = plan(intent, clusters, observed, now=now, memory=remembered(source), hold=True)
            pending = (held_sentence(speaker.door.name), *pending)
        remedies = {
            verdict.cluster: remedy_for(verdict.cluster, intent, clusters, observed, now=now)
            for verdict in planned.decision.verdicts
            if not verdict.chosen
        }
        told = explain(intent, planned, observed, remedies)
        warnings = (warning.message for warning in intent.warnings)
        notes = (*pending, *planned.decision.notes, *around.lacks(ref), *warnings)
        summary = _summary(speaker, intent, planned, observed)
        return Explained(
            speaker.title, summary, told, (speaker.note, *notes) if speaker.note else notes, intent.sources
        )


def _why_there(source: Obj) -> str:
    """Say what an object waits for that is being deleted."""
    conditions = dig(source, "status", "conditions")
    told = [find_condition(conditions, kind) or {} for kind in ("Propagated", PROPAGATION)]
    said = next((each["message"] for each in told if each.get("message")), "")
    return annotations_of(source).get(STATUS_ANNOTATION) or said or "it is being deleted"


def _summary(speaker: Speaker, intent: Intent, planned: Planned, observed: Mapping[str, Observation]) -> str:
    """Say how an object is doing over all clusters, by its own status or by what the clusters show."""
    if speaker.target == speaker.ref or not counts_replicas(intent):
        return source_summary(speaker.source, intent)
    copies = (each.copy for each in observed.values() if each.copy is not None and owns(intent, each.copy))
    available = sum(intent.scale.available_in(copy) for copy in copies)
    wanted = (each.manifest for each in planned.wanted.values() if isinstance(each, Present))
    asked = intent.replicas if intent.replicas is not None else sum(map(intent.scale.asked, wanted))
    return f"{asked} replicas wanted, {available} available"


def _told(explained: Explained) -> str:
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
