"""`hanse enable`: have one more kind of plain objects federated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from hanse.api.federated_kinds import (
    COMBINATIONS,
    FEDERATED_KINDS,
    federated_kind_manifest,
    parse_federated_kind,
)
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.enabling import serves_types, type_manifests, write_type
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.federated_types import one_kind
from hanse.cli.output import Column, output_option, show, show_documents
from hanse.cli.running import run
from hanse.cli.type_directives import TypeDirective, directive_of
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import Resource
from hanse.native.kinds import DEFAULT_KINDS, why_never
from hanse.propagation.teaching import learn

_COLUMNS = (Column("NAME"), Column("KIND"), Column("VERSION"), Column("ENABLED"), Column("FEDERATED AS"))
_PATH = re.compile(r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*")
_VERSIONED = re.compile(r"^([^.]+)\.(v\d+(?:(?:alpha|beta)\d+)?)\.(.+)$")


@click.command("enable")
@click.argument("kind", metavar="KIND[.VERSION][.GROUP]", default="")
@click.option("--replicas-path", default="", help="The field whose number divides over clusters, e.g. spec.size.")
@click.option("--ready", default="", help="How many replicas are ready: a path, e.g. status.up, or CEL over self.")
@click.option("--available", default="", help="How many replicas are available: a path, or CEL over self.")
@click.option("--health", default="", help="CEL that holds where an object is well, e.g. self.status.phase == 'Ready'.")
@click.option(
    "--status",
    "fields",
    multiple=True,
    metavar="PATH=HOW",
    help="A field of the status, by Sum, Max, Min, First, Conditions or CEL over clusters; may be repeated.",
)
@click.option("--federated-group", default="", help="The group of its federated type (default: types.kubefed.io).")
@click.option("--federated-version", default="", help="The version of its federated type (default: v1beta1).")
@click.option(
    "-f",
    "--filename",
    type=click.Path(path_type=Path, dir_okay=False),
    help="An EnableTypeDirective that says which kind, as kubefedctl takes it.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and change nothing.")
@host_options
@output_option()
def command(
    kind: str,
    replicas_path: str,
    ready: str,
    available: str,
    health: str,
    fields: tuple[str, ...],
    federated_group: str,
    federated_version: str,
    filename: Path | None,
    dry_run: bool,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Have the objects of KIND federated, e.g. `hanse enable widgets.example.com`: plain ones, and FederatedWidgets.

    Takes effect at once. A custom kind is enabled together with `hanse enable customresourcedefinitions` where the
    clusters do not have its definition yet. The options teach what must be known of it; enabled again without them, a
    kind is taught nothing. With -o yaml what would be written is printed, and nothing is.
    """
    directive = directive_of(kind, filename, federated_group, federated_version)
    taught = taught_spec(replicas_path, ready, available, health, fields)
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        enabled = run(lambda: _enable(endpoint, directive, taught, writes=not dry_run and output != "yaml"))
    if output == "yaml":
        show_documents([enabled.kind, *enabled.type])
        return
    written, spec = enabled.kind, enabled.kind["spec"]
    federated = name_of(enabled.type[1]) if enabled.type else ""
    row = [name_of(written), spec["kind"], spec["version"], "yes" if spec.get("enabled", True) else "no", federated]
    show(output, _COLUMNS, [row], written, [f"{FEDERATED_KINDS.plural}/{name_of(written)}"])
    if output in ("table", "wide"):
        for line in enabled.lines:
            click.echo(line)


def taught_spec(replicas_path: str, ready: str, available: str, health: str, fields: Sequence[str]) -> Obj:
    """Return the fields of a FederatedKind's spec that options teach; raises Misuse for what makes no sense."""
    if (ready or available) and not replicas_path:
        raise Misuse("--ready and --available count replicas; say with --replicas-path where the kind has them")
    spec: Obj = {}
    if replicas_path:
        spec["replicas"] = {"path": replicas_path, **_counted("ready", ready), **_counted("available", available)}
    if health:
        spec["health"] = health
    if fields:
        spec["status"] = [_field(text) for text in fields]
    probe = federated_kind_manifest(Resource("", "v1", "probes", "Probe"), taught=spec)
    if problems := learn(parse_federated_kind(probe)).problems:
        raise Misuse("; ".join(problems))
    return spec


def _counted(name: str, text: str) -> Obj:
    if not text:
        return {}
    return {f"{name}{'Path' if _PATH.fullmatch(text) and not text.startswith('self.') else 'Expression'}": text}


def _field(text: str) -> Obj:
    path, equals, how = text.partition("=")
    if not equals or not _PATH.fullmatch(path) or not how:
        raise Misuse(f"--status: {text!r} must be like status.up=Sum or status.phase=clusters[0].status.phase")
    return {"path": path, "combine" if how in COMBINATIONS else "expression": how}


@dataclass(frozen=True, slots=True)
class Enabled:
    """What enabling a kind writes, and the lines that tell of it."""

    kind: Obj
    """The FederatedKind that has plain objects federated."""
    type: list[Obj]
    """The FederatedTypeConfig and the definitions of its federated type; empty where the host has none."""
    lines: list[str]


async def _enable(endpoint: Endpoint, directive: TypeDirective, taught: Obj, *, writes: bool) -> Enabled:
    async with connected(endpoint) as host:
        return await enable_kind(host, directive, taught, writes=writes)


async def enable_kind(host: Client, directive: TypeDirective, taught: Obj, *, writes: bool = True) -> Enabled:
    """Have a kind federated on a host, or only say what that would write; raises Failure where it cannot be."""
    resource = await named_kind(host, directive.kind, directive.version)
    if why := why_never(resource):
        raise Failure(f"{resource.group_resource} cannot be federated: {why}")
    manifest = federated_kind_manifest(resource, taught=taught)
    if resource in DEFAULT_KINDS:
        # It is federated anyway; only somebody's word against it is taken back.
        manifest["spec"]["enabled"] = True
    federated = await type_manifests(host, resource, directive.form) if await serves_types(host) else []
    if not writes:
        return Enabled(manifest, federated, [])
    lines = [str(one) for one in await write_type(host, federated)] if federated else []
    written = await host.apply(FEDERATED_KINDS, manifest)
    named = {name: value for name, value in written.items() if name != "metadata"}
    return Enabled(named | {"metadata": {"name": name_of(written)}}, federated, lines)


async def named_kind(host: Client, word: str, version: str = "") -> Resource:
    """Find a kind by what people type: as kubectl takes it, with or without a version and a group."""
    found = _VERSIONED.match(word.lower())
    if found is None:
        kind = await one_kind(host, word)
        if not version or version == kind.version:
            return kind
        name, group = kind.plural, kind.group
    else:
        name, version, group = found.groups()
    for resource in await host.discovery.resources():
        names = {resource.plural, resource.kind.lower(), resource.singular, *resource.short_names}
        if (resource.group, resource.version) == (group, version) and name in names:
            return resource
    served = f"{group}/{version}" if group else version
    raise Failure(f"the federation serves no {name} in {served}; `kubectl api-resources` lists what it serves")
