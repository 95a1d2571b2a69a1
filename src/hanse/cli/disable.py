"""`hanse disable`: have a kind of plain objects federated no longer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.names import FINALIZER
from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.enable import named_kind
from hanse.cli.enabling import leaving_type, remove_type
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import finalizers_of, key_of
from hanse.kube.resources import Resource
from hanse.native.kinds import DEFAULT_KINDS

_COLUMNS = (Column("KIND"), Column("OBJECTS"), Column("STATE"))


@dataclass(frozen=True, slots=True)
class _Departed:
    resource: Resource
    objects: list[str]
    state: str
    lines: list[str]

    def document(self) -> dict[str, Any]:
        return {"kind": self.resource.group_resource, "objects": self.objects, "state": self.state}


@click.command("disable")
@click.argument("kind", metavar="KIND[.VERSION][.GROUP]")
@click.option("--delete-crd", is_flag=True, help="Delete the definition of its federated type, if that has no objects.")
@click.option("--dry-run", is_flag=True, help="Say which objects would be let go, and change nothing.")
@click.option(
    "--wait", "seconds", type=float, default=60.0, show_default=True, help="Seconds to wait for the clusters."
)
@host_options
@output_option()
def command(
    kind: str,
    delete_crd: bool,
    dry_run: bool,
    seconds: float,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Have the objects of KIND federated no longer, neither plain nor federated ones.

    Nothing is deleted: the copies stay in the clusters as they are and are no longer Hanse's, the objects stay on the
    federation and mean nothing to the clusters. The exit code is 1 if a cluster could not be asked in time.
    """
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        departed = run(lambda: _disable(endpoint, kind, seconds, delete_crd=delete_crd, dry_run=dry_run))
    row = [departed.resource.group_resource, str(len(departed.objects)), departed.state]
    show(output, _COLUMNS, [row], departed.document(), departed.objects)
    if output in ("table", "wide") and not dry_run:
        for line in departed.lines:
            click.echo(line)


async def _disable(endpoint: Endpoint, word: str, seconds: float, *, delete_crd: bool, dry_run: bool) -> _Departed:
    async with connected(endpoint) as host:
        resource = await named_kind(host, word)
        default = resource in DEFAULT_KINDS
        leaving = await leaving_type(host, resource, delete_definition=delete_crd)
        enabled = default or await host.find(FEDERATED_KINDS, resource.group_resource) is not None
        if not enabled and not leaving.configs:
            raise Failure(f"{resource.group_resource} are not federated; `kubectl get federatedkinds` lists what is")
        held = await _held(host, resource)
        if dry_run:
            return _Departed(resource, held, "would be let go", [])
        await remove_type(host, leaving)
        if default:
            await host.apply(FEDERATED_KINDS, federated_kind_manifest(resource, enabled=False))
        elif enabled:
            await host.delete(FEDERATED_KINDS, resource.group_resource)
        await _wait_let_go(host, resource, seconds, forgotten=not default)
        return _Departed(resource, held, "let go", leaving.lines)


async def _wait_let_go(host: Client, resource: Resource, seconds: float, *, forgotten: bool) -> None:
    """Wait until no object is held any more and, if it is to be `forgotten`, the FederatedKind itself is gone."""
    end = host.runtime.monotonic() + seconds
    while True:
        left = await _held(host, resource)
        if not left and not (forgotten and await host.find(FEDERATED_KINDS, resource.group_resource)):
            return
        if host.runtime.monotonic() >= end:
            among = f", {left[0]} among them" if left else ""
            raise Failure(
                f"{len(left)} {resource.plural} are still held after {seconds:g} s{among}: a cluster that has a copy "
                "does not answer, or no control plane runs; they are let go as soon as that is over"
            )
        await host.runtime.sleep(0.1)


async def _held(host: Client, resource: Resource) -> list[str]:
    try:
        listed = await host.list(resource)
    except NotFound:
        return []
    return [f"{resource.plural}/{key_of(obj)}" for obj in listed.items if FINALIZER in finalizers_of(obj)]
