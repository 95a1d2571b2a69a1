"""`hanse clusters`: the members and how they are, and keeping work away from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster, taint_manifest
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import Column, age, output_option, show
from hanse.cli.running import run
from hanse.clusters.tainting import TaintError, parse_taint, with_taint, without_taint
from hanse.kube.conditions import find_condition
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig, name_of, version_of
from hanse.kube.runtime import parse_timestamp, timestamp

_COLUMNS = (
    Column("NAME"),
    Column("STATE"),
    Column("REGION"),
    Column("ZONES"),
    Column("NODES"),
    Column("VERSION"),
    Column("AGE"),
    Column("SERVER", wide=True),
    Column("CPU FREE", wide=True),
    Column("MEMORY FREE", wide=True),
    Column("TAINTS", wide=True),
    Column("SINCE", wide=True),
    Column("WHY", wide=True),
)

# From a Cluster and the time now to the change of its spec, None where there is nothing to change.
_Change = Callable[[Cluster, str], Obj | None]


@click.group("clusters", invoke_without_command=True)
@host_options
@output_option()
@click.pass_context
def command(ctx: click.Context, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str) -> None:
    """List the member clusters, or keep work away from them."""
    if ctx.invoked_subcommand is not None:
        return
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        items, now = run(lambda: _list(endpoint))
    if not items and output in ("table", "wide"):
        click.echo("no cluster has joined; `hanse join --help` says how", err=True)
        return
    rows = [_row(obj, now) for obj in items]
    show(output, _COLUMNS, rows, {"items": items}, [f"cluster/{name_of(obj)}" for obj in items])


@command.command("cordon")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@host_options
@click.pass_context
def cordon(ctx: click.Context, /, names: tuple[str, ...], **host: Any) -> None:
    """Place nothing new in clusters; what is there stays."""

    def change(cluster: Cluster, _now: str) -> Obj | None:
        return None if cluster.unschedulable else {"unschedulable": True}

    _change_all(_host(ctx, host), names, change, "cordoned")


@command.command("uncordon")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@host_options
@click.pass_context
def uncordon(ctx: click.Context, /, names: tuple[str, ...], **host: Any) -> None:
    """Let work be placed in clusters again."""

    def change(cluster: Cluster, _now: str) -> Obj | None:
        return {"unschedulable": None} if cluster.unschedulable else None

    _change_all(_host(ctx, host), names, change, "uncordoned")


@command.command("taint")
@click.argument("name")
@click.argument("taints", nargs=-1, required=True, metavar="KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...")
@host_options
@click.pass_context
def taint(ctx: click.Context, /, name: str, taints: tuple[str, ...], **host: Any) -> None:
    """Keep away what does not tolerate a taint; a `-` at its end takes it off.

    NoSchedule keeps new work away, NoExecute also what is there.
    """
    try:
        parsed = [parse_taint(text) for text in taints]
    except TaintError as error:
        raise Misuse(f"TAINT: {error}") from error

    def change(cluster: Cluster, now: str) -> Obj | None:
        result = cluster.taints
        for each, removal in parsed:
            result = without_taint(result, each) if removal else with_taint(result, each, now)
        return None if result == cluster.taints else {"taints": [taint_manifest(each) for each in result] or None}

    _change_all(_host(ctx, host), (name,), change, "tainted")


def _host(ctx: click.Context, given: Mapping[str, Any]) -> Callable[[], Endpoint]:
    """Find the federation by the options on either side of the subcommand."""
    before = ctx.parent.params if ctx.parent is not None else {}
    chosen = {name: value or before.get(name) for name, value in given.items()}
    return lambda: host_endpoint(chosen["data_dir"], chosen["kubeconfig"], chosen["context"] or "")


def _change_all(host: Callable[[], Endpoint], names: tuple[str, ...], change: _Change, done: str) -> None:
    with one_sentence():
        endpoint = host()
        changed = run(lambda: _apply(endpoint, names, change))
    for name in names:
        click.echo(f"cluster {name} {done}" if name in changed else f"cluster {name} unchanged")


async def _apply(endpoint: Endpoint, names: tuple[str, ...], change: _Change) -> set[str]:
    changed = set()
    async with connected(endpoint) as host:
        for name in names:
            try:
                obj = await host.get(CLUSTERS, name)
            except NotFound:
                raise Failure(f"no cluster {name} is a member of the federation; `hanse clusters` lists them") from None
            spec = change(parse_cluster(obj), timestamp(host.runtime.now()))
            if spec is not None:
                await host.patch(CLUSTERS, name, {"metadata": {"resourceVersion": version_of(obj)}, "spec": spec})
                changed.add(name)
    return changed


async def _list(endpoint: Endpoint) -> tuple[list[Obj], float]:
    async with connected(endpoint) as host:
        items = (await host.list(CLUSTERS)).items
        for obj in items:
            obj["metadata"].pop("managedFields", None)
        return sorted(items, key=name_of), host.runtime.now()


def _row(obj: Obj, now: float) -> list[str]:
    cluster = parse_cluster(obj)
    ready = find_condition(dig(obj, "status", "conditions"), "Ready") or {}
    since = ready.get("lastTransitionTime")
    return [
        cluster.name,
        _state(cluster),
        cluster.region,
        ",".join(cluster.zones),
        str(dig(obj, "status", "nodes", default="")),
        cluster.version,
        age(now - parse_timestamp(obj["metadata"]["creationTimestamp"])),
        cluster.server,
        cluster.free.get("cpu", ""),
        cluster.free.get("memory", ""),
        ",".join(map(str, cluster.taints)),
        age(now - parse_timestamp(since)) if since else "",
        cluster.why,
    ]


def _state(cluster: Cluster) -> str:
    """Say it as `kubectl get nodes` does: Ready,SchedulingDisabled."""
    marks = ("Leaving",) if cluster.leaving else ("SchedulingDisabled",) if cluster.unschedulable else ()
    return ",".join((cluster.state, *marks))
