"""`hanse enable`: have one more kind of plain objects federated."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import Resource
from hanse.native.kinds import DEFAULT_KINDS, why_never

_COLUMNS = (Column("NAME"), Column("KIND"), Column("VERSION"), Column("ENABLED"))
_VERSIONED = re.compile(r"^([^.]+)\.(v\d+(?:(?:alpha|beta)\d+)?)\.(.+)$")


@click.command("enable")
@click.argument("kind", metavar="KIND[.VERSION][.GROUP]")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and change nothing.")
@host_options
@output_option()
def command(
    kind: str, dry_run: bool, data_dir: Path | None, kubeconfig: Path | None, context: str, output: str
) -> None:
    """Have the plain objects of KIND federated, e.g. `hanse enable widgets.example.com`.

    Takes effect at once. A custom kind is enabled together with `hanse enable customresourcedefinitions` where the
    clusters do not have its definition yet. With --dry-run -o yaml it prints the FederatedKind, to which may be added
    where the kind has its replicas and how its status is put together.
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        written = run(lambda: _enable(endpoint, kind, dry_run=dry_run))
    spec = written["spec"]
    row = [name_of(written), spec["kind"], spec["version"], "yes" if spec.get("enabled", True) else "no"]
    show(output, _COLUMNS, [row], written, [f"{FEDERATED_KINDS.plural}/{name_of(written)}"])


async def _enable(endpoint: Endpoint, word: str, *, dry_run: bool) -> Obj:
    async with connected(endpoint) as host:
        resource = await named_kind(host, word)
        if why := why_never(resource):
            raise Failure(f"{resource.group_resource} cannot be federated: {why}")
        manifest = federated_kind_manifest(resource)
        if resource in DEFAULT_KINDS:
            # It is federated anyway; only somebody's word against it is taken back.
            manifest["spec"]["enabled"] = True
        if dry_run:
            return manifest
        written = await host.apply(FEDERATED_KINDS, manifest)
        return {name: value for name, value in written.items() if name != "metadata"} | {
            "metadata": {"name": dig(written, "metadata", "name")}
        }


async def named_kind(host: Client, word: str) -> Resource:
    """Find a kind by what people type: as kubectl takes it, with or without a version and a group."""
    found = _VERSIONED.match(word.lower())
    if found is None:
        return await host.discovery.named(word)
    name, version, group = found.groups()
    for resource in await host.discovery.resources():
        names = {resource.plural, resource.kind.lower(), resource.singular, *resource.short_names}
        if (resource.group, resource.version) == (group, version) and name in names:
            return resource
    raise Failure(f"the federation serves no {name} in {group}/{version}; `kubectl api-resources` lists what it serves")
