"""`hanse plan`: what would change where, before anything does; on a running federation or on files alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from hanse.cli.changes import document, told
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.doors import read_inputs
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.outlook import Outlook, look_ahead
from hanse.cli.output import Column, echo, output_option, show
from hanse.cli.paper import Papers, federation_of, file_options, load_policy, read_papers
from hanse.cli.rehearsal import Federation, Rehearsed
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint

_COLUMNS = (Column("OBJECT"), Column("CLUSTERS"), Column("PLACED BY", wide=True), Column("TROUBLE"))
_CHANGES = (Column("OBJECT"), Column("CHANGES"), Column("PLACED BY", wide=True), Column("TROUBLE"))


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
    """Say what would change where, before anything does.

    \b
    Examples:
      hanse plan -f web.yaml                       a diff for every cluster that would change
      hanse plan -f policy.yaml                    and what a policy would move
      hanse plan -f application.yaml               whether an Application would become a new release
      hanse plan --lose eu-west                    what the loss of a cluster would mean
      hanse plan -f manifests --clusters fleet.yaml    on files alone, for CI

    Against a running federation the exit code is that of `kubectl diff`: 0 if nothing would change, 1 if something
    would, 2 if something is wrong or cannot be had. Nothing is written. With --clusters nothing but files is read; the
    exit code is then 0 if everything can be had, 1 if something cannot, 2 if a file is wrong.
    """
    papers = read_papers(files)
    on_paper = bool(fleet_files or papers.clusters or policy)
    if not files and not (lost and not on_paper):
        raise Misuse("name the objects with -f: a file, a folder or -; or a cluster with --lose")
    if not on_paper:
        _plan_live(lambda: host_endpoint(data_dir, kubeconfig, context), papers, lost, output)
        return
    if fleet_files or papers.clusters:
        federation = federation_of(papers, fleet_files, lost)
    else:
        with one_sentence():
            endpoint = host_endpoint(data_dir, kubeconfig, context)
            federation = run(lambda: live_federation(endpoint, papers, lost))
    function = load_policy(policy) if policy else None
    rehearsed = federation.rehearse_all(function)
    show(output, _COLUMNS, [_row(each) for each in rehearsed], _document(rehearsed), [each.title for each in rehearsed])
    if any(each.trouble for each in rehearsed):
        raise SystemExit(1)


def _plan_live(find: Callable[[], Endpoint], papers: Papers, lost: Sequence[str], output: str) -> None:
    """Compare with a running federation; every failure ends with 2, since 1 says that something would change."""
    try:
        with one_sentence():
            endpoint = find()
            outlooks = run(lambda: _look_ahead(endpoint, papers, lost))
    except Failure as failure:
        raise Misuse(failure.message) from failure
    if output == "table":
        echo(told(outlooks))
    else:
        rows = [[each.title, _effects(each), "; ".join(each.sources), each.trouble] for each in outlooks]
        show(output, _CHANGES, rows, document(outlooks), [each.title for each in outlooks if each.differs])
    if any(each.trouble for each in outlooks):
        raise SystemExit(2)
    if any(each.differs for each in outlooks):
        raise SystemExit(1)


def _effects(outlook: Outlook) -> str:
    return outlook.note or ", ".join(f"{change.cluster}: {change.effect}" for change in outlook.changes)


async def _look_ahead(endpoint: Endpoint, papers: Papers, lost: Sequence[str]) -> list[Outlook]:
    async with connected(endpoint) as host:
        return await look_ahead(host, papers, lost)


async def live_federation(endpoint: Endpoint, papers: Papers, lost: Sequence[str]) -> Federation:
    """Read the clusters of a federation and what its objects mean; policies of files are added."""
    async with connected(endpoint) as host:
        clusters = await read_clusters(host)
        inputs = [obj for objects in (await read_inputs(host)).inputs.values() for obj in objects.values()]
        federation = Federation(clusters, [*inputs, *papers.policies], now=host.runtime.now()).beside(papers.objects)
    return federation.without(*lost) if lost else federation


def _row(rehearsed: Rehearsed) -> list[str]:
    counted = [
        (verdict.cluster, rehearsed.replicas_in(verdict.cluster))
        for verdict in (rehearsed.planned.decision.verdicts if rehearsed.planned else ())
        if verdict.chosen
    ]
    clusters = ", ".join(name if replicas is None else f"{name}: {replicas}" for name, replicas in counted)
    sources = "; ".join(rehearsed.intent.sources) if rehearsed.intent else ""
    return [rehearsed.title, clusters, sources, rehearsed.trouble]


def _document(rehearsed: Sequence[Rehearsed]) -> dict[str, Any]:
    return {
        "objects": [
            {
                "object": each.title,
                "clusters": [
                    {
                        "cluster": verdict.cluster,
                        "replicas": each.replicas_in(verdict.cluster),
                        "reasons": list(verdict.reasons),
                    }
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
