"""`hanse pods`: where pods that seem to be at home really run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.elsewhere import FEDERATION_SOURCE, Elsewhere, read_elsewhere
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.output import FEDERATION, Column, age, output_option, show
from hanse.cli.printable import printable
from hanse.cli.running import run
from hanse.cli.whereabouts import Whereabouts, telling, whereabouts
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import parse_timestamp

_COLUMNS = (
    Column("SOURCE"),
    Column("NAMESPACE", wide=True),
    Column("POD"),
    Column("PHASE"),
    Column("RUNS IN"),
    Column("AS", wide=True),
    Column("ATTEMPT", wide=True),
    Column("AGE"),
    Column("WHY"),
    Column("OTHERS ANSWERED", wide=True),
)


@click.command("pods")
@click.option("-n", "--namespace", default="default", help="The namespace to look in.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Look in every namespace.")
@click.option("--source", default=None, metavar="CLUSTER", help="Only pods that seem to be in this cluster.")
@host_options
@output_option()
def command(
    namespace: str,
    all_namespaces: bool,
    source: str | None,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Show where each elected pod really runs, why there, and what the other clusters answered.

    \b
    Examples:
      hanse pods -n batch
      hanse pods -A -o wide
      hanse pods -A --source eu-west

    A pod is elected by the annotation multicluster.admiralty.io/elect in a namespace with the label
    multicluster-scheduler=enabled. `hanse explain pod NAME` says more about one of them. A cluster that does not answer
    is a warning.
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        elsewhere, now = run(lambda: _read(endpoint, "" if all_namespaces else namespace))
    chosen = None if source is None else named_source(source, elsewhere)
    for cluster, why in elsewhere.silent.items():
        click.echo(f"warning: {cluster}: {printable(why)}", err=True)
    found = whereabouts(elsewhere, chosen)
    if not found and output in ("table", "wide"):
        click.echo(_nothing(elsewhere, "any namespace" if all_namespaces else f"namespace {namespace}"), err=True)
        return
    # A table of all namespaces says which.
    columns = [Column(each.title) if all_namespaces and each.title == "NAMESPACE" else each for each in _COLUMNS]
    names = [f"{each.source or FEDERATION}/{each.namespace}/{each.name}" for each in found]
    show(output, columns, [_row(each, now) for each in found], _document(found, elsewhere.silent), names)


def named_source(word: str, elsewhere: Elsewhere) -> str:
    """Return the source that somebody named; raises Failure for a cluster that is no member."""
    if word == FEDERATION:
        return FEDERATION_SOURCE
    if word not in elsewhere.clusters:
        raise Failure(f"no cluster {word} is a member of the federation; `hanse clusters` lists them")
    if word in elsewhere.silent:
        raise Failure(f"cluster {word} cannot be asked: {elsewhere.silent[word]}")
    return word


def _nothing(elsewhere: Elsewhere, where: str) -> str:
    if not elsewhere.doors and not elsewhere.seen[FEDERATION_SOURCE].placeholders:
        return "no cluster sends pods elsewhere; `hanse doors enable pods --cluster NAME` lets one"
    return f"no pod of {where} was elected to run elsewhere"


async def _read(endpoint: Endpoint, namespace: str) -> tuple[Elsewhere, float]:
    async with connected(endpoint) as host:
        return await read_elsewhere(host, namespace), host.runtime.now()


def _row(found: Whereabouts, now: float) -> list[str]:
    cells = [
        found.source or FEDERATION,
        found.namespace,
        found.name,
        found.phase,
        found.target,
        found.child,
        str(found.attempt),
        age(now - parse_timestamp(found.created)) if found.created else "",
        telling(found.why),
        "; ".join(f"{name}: {why}" for name, why in found.answers.items()),
    ]
    return [printable(cell) for cell in cells]


def _document(found: Sequence[Whereabouts], silent: Mapping[str, str]) -> dict[str, object]:
    return {"items": [asdict(each) | {"answers": dict(each.answers)} for each in found], "unreachable": dict(silent)}
