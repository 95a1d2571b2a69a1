"""`hanse plan`: what would go where, before anything does; exit code 1 if something cannot be had."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters, read_policy_objects
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.paper import Papers, federation_of, file_options, load_policy, read_papers
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint
from hanse.native.rehearsal import Federation, Rehearsed

_COLUMNS = (Column("OBJECT"), Column("CLUSTERS"), Column("PLACED BY", wide=True), Column("TROUBLE"))


@click.command("plan")
@file_options
@host_options
@output_option()
def command(
    files: tuple[Path, ...],
    fleet_files: tuple[Path, ...],
    policy: str | None,
    lost: tuple[str, ...],
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Say where objects would go, e.g. `hanse plan -f manifests --clusters fleet.yaml`.

    With --clusters nothing but files is read, so that it works in CI; without, the clusters and policies are those
    of the federation. The exit code is 0 if everything can be had, 1 if something cannot, 2 if a file is wrong.
    """
    if not files:
        raise Misuse("name the objects with -f: a file, a folder or -")
    papers = read_papers(files)
    if fleet_files or papers.clusters:
        federation = federation_of(papers, fleet_files, lost)
    else:
        with one_sentence():
            endpoint = host_endpoint(data_dir, kubeconfig, context)
            federation = run(lambda: live_federation(endpoint, papers, lost))
    function = load_policy(policy) if policy else None
    rehearsed = [federation.rehearse(obj, function) for obj in papers.objects]
    show(output, _COLUMNS, [_row(each) for each in rehearsed], _document(rehearsed), [each.title for each in rehearsed])
    if any(each.trouble for each in rehearsed):
        raise SystemExit(1)


async def live_federation(endpoint: Endpoint, papers: Papers, lost: Sequence[str]) -> Federation:
    """Read the clusters and policies of a federation; policies of files are added."""
    async with connected(endpoint) as host:
        clusters = await read_clusters(host)
        policies = [obj for objects in (await read_policy_objects(host)).values() for obj in objects]
        federation = Federation(clusters, [*policies, *papers.policies], now=host.runtime.now())
    return federation.without(*lost) if lost else federation


def _row(rehearsed: Rehearsed) -> list[str]:
    clusters = ", ".join(
        verdict.cluster if verdict.replicas is None else f"{verdict.cluster}: {verdict.replicas}"
        for verdict in (rehearsed.planned.decision.verdicts if rehearsed.planned else ())
        if verdict.chosen
    )
    sources = "; ".join(rehearsed.intent.sources) if rehearsed.intent else ""
    return [rehearsed.title, clusters, sources, rehearsed.trouble]


def _document(rehearsed: Sequence[Rehearsed]) -> dict[str, Any]:
    return {
        "objects": [
            {
                "object": each.title,
                "clusters": [
                    {"cluster": verdict.cluster, "replicas": verdict.replicas, "reasons": list(verdict.reasons)}
                    for verdict in (each.planned.decision.verdicts if each.planned else ())
                    if verdict.chosen
                ],
                "placedBy": list(each.intent.sources) if each.intent else [],
                "unplaced": each.planned.decision.unplaced if each.planned else 0,
                "trouble": each.trouble,
            }
            for each in rehearsed
        ]
    }
