"""What `hanse up` shows: a living table in a terminal, a few lines elsewhere."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hanse.cli.embedded.folder import Folder, Record
from hanse.kube.errors import ApiError
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from hanse.kube.transport import Unreachable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from hanse.cli.embedded.federation import EmbeddedFederation, SimulatedMember

_REFRESH_SECONDS = 1.0


class Screen:
    """The terminal of a foreground federation."""

    def __init__(self, folder: Folder, record: Record) -> None:
        self._folder = folder
        self._record = record
        self._terminal = sys.stdout.isatty()
        self._live: Live | None = None
        self._task: asyncio.Task[None] | None = None

    def progress(self, text: str) -> None:
        """Say what is being done while the federation starts."""
        click.echo(text, err=True)

    def start(self, federation: EmbeddedFederation) -> None:
        """Say that it is ready and what to try next; in a terminal, keep showing how it is."""
        click.echo(_next_steps(self._folder, self._record))
        if self._terminal:
            from rich.live import Live

            self._live = Live(refresh_per_second=4)
            self._live.start()
            self._task = asyncio.create_task(self._refresh(federation))

    def stop(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()

    async def _refresh(self, federation: EmbeddedFederation) -> None:
        while self._live is not None:
            self._live.update(await _overview(federation))
            await asyncio.sleep(_REFRESH_SECONDS)


def _next_steps(folder: Folder, record: Record) -> str:
    contexts = ", ".join([record.name, *(entry["name"] for entry in record.clusters)])
    first = record.clusters[0]["name"]
    return f"""
The federation is ready. In another terminal:

  export KUBECONFIG={folder.kubeconfig} HANSE_DATA_DIR={folder.path} PATH={_bin()}:$PATH

  kubectl config get-contexts               # {contexts}
  kubectl apply -f examples/web             # nine replicas over all clusters
  hanse get deployments -n shop             # one table over all clusters
  hanse explain deployment web              # why each cluster has what it has
  hanse cluster fail {first}                # lose a cluster, and watch its replicas move

Ctrl-C stops it; its data stays in {folder.path}.
"""


def _bin() -> str:
    return str(Path(sys.executable).parent)


async def _overview(federation: EmbeddedFederation) -> Table:
    from rich.table import Table

    table = Table(title="Hanse", title_justify="left", expand=False)
    for column in ("cluster", "state", "region", "nodes", "pods ready", "deployments", "address"):
        table.add_column(column)
    for name, member in federation.members.items():
        if member.cluster.failed:
            state = "[red]failed[/red]"
        elif federation.is_ready(name):
            state = "[green]ready[/green]"
        else:
            state = "[yellow]not ready[/yellow]"
        counts = ("-", "-", "-") if member.cluster.failed else await _counts(member)
        table.add_row(name, state, member.settings.region, *counts, member.server.api.url)
    return table


async def _counts(member: SimulatedMember) -> tuple[str, str, str]:
    try:
        nodes = (await member.client.list(NODES)).items
        pods = (await member.client.list(PODS)).items
        deployments = (await member.client.list(DEPLOYMENTS)).items
    except (ApiError, Unreachable):
        return "?", "?", "?"
    ready = sum(
        any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in dig(pod, "status", "conditions", default=[])
        )
        for pod in pods
    )
    return str(len(nodes)), f"{ready}/{len(pods)}", str(len(deployments))
