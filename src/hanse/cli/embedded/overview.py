"""The living table of `hanse up`: clusters, their nodes and pods, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS = {"ready": "green", "not ready": "yellow", "failed": "red"}
# Beyond so many nodes a cluster is told in sums; a line for each would push the rest off the screen.
_MOST_NODES = 8


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node as it is shown; the name "" stands for pods that no node has taken."""

    name: str
    ready: bool
    pods_ready: int
    pods: int


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster as it is shown."""

    name: str
    state: str
    region: str
    nodes: tuple[NodeRow, ...] = ()
    faults: tuple[str, ...] = ()


def overview(clusters: Sequence[ClusterRow]) -> Table:
    """Lay the clusters out, each with its nodes below it."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    # The widest of each, with what lies between them, make 78.
    table.add_column("CLUSTER", no_wrap=True, max_width=24)
    table.add_column("STATE", no_wrap=True, max_width=9)
    table.add_column("REGION", no_wrap=True, max_width=12)
    table.add_column("PODS", no_wrap=True, justify="right", max_width=9)
    table.add_column("FAULTS", no_wrap=True, max_width=16)
    for cluster in clusters:
        state = f"[{_COLOURS[cluster.state]}]{cluster.state}[/]"
        faults = "; ".join(cluster.faults)
        table.add_row(f"[bold]{cluster.name}[/]", state, cluster.region, _pods(cluster.nodes), f"[red]{faults}[/]")
        for name, told, pods in _node_lines(cluster.nodes):
            table.add_row(f"  [dim]{name}[/]", told, "", pods, "")
    return table


def _node_lines(nodes: Sequence[NodeRow]) -> list[tuple[str, str, str]]:
    placed = [node for node in nodes if node.name]
    waiting = [node for node in nodes if not node.name]
    lines = [(node.name, _state(node), _pods([node])) for node in placed]
    if len(placed) > _MOST_NODES:
        ready = sum(node.ready for node in placed)
        lines = [(f"{len(placed)} nodes", f"{ready} ready", _pods(placed))]
    return lines + [("on no node", "[yellow]pending[/]", str(node.pods)) for node in waiting]


def _state(node: NodeRow) -> str:
    return "[green]ready[/]" if node.ready else "[red]not ready[/]"


def _pods(nodes: Sequence[NodeRow]) -> str:
    return f"{sum(node.pods_ready for node in nodes)}/{sum(node.pods for node in nodes)}"
