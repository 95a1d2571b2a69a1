"""What `hanse up` shows: a living table in a terminal, a few lines elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hanse.api.admiralty.nodes import is_virtual
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.embedded.kubeconfig import merge_into, users_kubeconfig
from hanse.cli.embedded.overview import ClusterRow, NodeRow, overview
from hanse.cli.failures import Failure
from hanse.kube.conditions import is_true
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import NODES, PODS
from hanse.kube.transport import Unreachable

if TYPE_CHECKING:
    from rich.live import Live

    from hanse.cli.embedded.federation import EmbeddedFederation, SimulatedMember

_REFRESH_SECONDS = 1.0


class Screen:
    """The terminal of a foreground federation."""

    def __init__(self, folder: Folder, record: Record, *, merge: bool = False, ephemeral: bool = False) -> None:
        self._folder = folder
        self._record = record
        self._merge = merge
        self._ephemeral = ephemeral
        self._terminal = sys.stdout.isatty()
        self._live: Live | None = None
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[str, tuple[int, tuple[NodeRow, ...]]] = {}

    def progress(self, text: str) -> None:
        """Say what is being done while the federation starts."""
        click.echo(text, err=True)

    def start(self, federation: EmbeddedFederation) -> None:
        """Say that it is ready and what to try next; in a terminal, keep showing how it is."""
        merged = self._merged() if self._merge else None
        record = self._record.but(dns=federation.dns_address)
        click.echo(next_steps(self._folder, record, merged=merged, ephemeral=self._ephemeral))
        if self._terminal:
            from rich.live import Live

            self._live = Live(refresh_per_second=4)
            self._live.start()
            self._task = asyncio.create_task(self._refresh(federation))

    def stop(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _merged(self) -> Path | None:
        """Add the contexts to the user's kubeconfig; where that is not possible the federation runs all the same."""
        try:
            path = users_kubeconfig(os.environ)
            if path.absolute() != self._folder.kubeconfig:
                merge_into(path, self._folder.kubeconfig.read_bytes())
        except Failure as error:
            click.echo(f"warning: {error.format_message()}", err=True)
            return None
        return path

    async def _refresh(self, federation: EmbeddedFederation) -> None:
        while self._live is not None:
            rows = [await self._row(federation, name, member) for name, member in federation.members.items()]
            if self._live is not None:
                self._live.update(overview(rows))
            await asyncio.sleep(_REFRESH_SECONDS)

    async def _row(self, federation: EmbeddedFederation, name: str, member: SimulatedMember) -> ClusterRow:
        state = "failed" if member.cluster.failed else "ready" if federation.is_ready(name) else "not ready"
        faults = tuple(str(fault) for fault in member.faults)
        return ClusterRow(name, state, member.settings.region, await self._nodes(name, member), faults)

    async def _nodes(self, name: str, member: SimulatedMember) -> tuple[NodeRow, ...]:
        revision = member.server.api.revision
        known = self._seen.get(name)
        # A view that nobody may be looking at costs nothing while nothing happens.
        if known is not None and known[0] == revision:
            return known[1]
        try:
            nodes, pods = (await member.client.list(NODES)).items, (await member.client.list(PODS)).items
        except (ApiError, Unreachable):
            return known[1] if known else ()
        rows = node_rows(nodes, pods)
        self._seen[name] = (revision, rows)
        return rows


def node_rows(nodes: list[Obj], pods: list[Obj]) -> tuple[NodeRow, ...]:
    """Count the pods of each node; those without a node are under the name "", those that run elsewhere nowhere."""
    ready: dict[str, int] = {}
    total: dict[str, int] = {}
    for pod in pods:
        node = dig(pod, "spec", "nodeName", default="")
        total[node] = total.get(node, 0) + 1
        ready[node] = ready.get(node, 0) + is_true(dig(pod, "status", "conditions"), "Ready")
    rows = [
        NodeRow(
            name_of(node),
            is_true(dig(node, "status", "conditions"), "Ready"),
            ready.get(name_of(node), 0),
            total.get(name_of(node), 0),
        )
        for node in nodes
        if not is_virtual(node)
    ]
    if total.get(""):
        rows.append(NodeRow("", ready=False, pods_ready=0, pods=total[""]))
    return tuple(rows)


def next_steps(folder: Folder, record: Record, *, merged: Path | None, ephemeral: bool) -> str:
    """Return what is said once a federation is ready."""
    contexts = ", ".join([record.name, *(entry["name"] for entry in record.clusters)])
    first = record.clusters[0]["name"]
    kubeconfig = f"KUBECONFIG={folder.kubeconfig} "
    added = ""
    if merged is not None:
        kubeconfig = ""
        added = f"\n  kubectl config use-context {record.name}     # its contexts are in {merged} now"
    end = "it leaves nothing behind" if ephemeral else f"its data stays in {folder.path}"
    return f"""
The federation is ready. In another terminal:

  export {kubeconfig}HANSE_DATA_DIR={folder.path} PATH={_bin()}:$PATH
{added}
  kubectl config get-contexts               # {contexts}
  kubectl apply -f examples/web             # nine replicas over all clusters
  hanse get deployments -n shop             # one table over all clusters
  hanse explain deployment web              # why each cluster has what it has
  {_question(record)}
                                            # where its clients are led
  hanse cluster fail {first}                # lose a cluster, and watch its replicas move
  hanse cluster heal {first}                # and have it back

Ctrl-C stops it; {end}.
"""


def _question(record: Record) -> str:
    host, _, port = record.dns.rpartition(":")
    return f"dig @{host} -p {port} +short web.shop.{record.name}.{record.domain}"


def _bin() -> str:
    return str(Path(sys.executable).parent)
