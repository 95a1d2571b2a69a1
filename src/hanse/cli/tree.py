"""`hanse tree`: an object of the federation, its copies in every cluster, and what became of them there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import click

from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.failures import one_sentence
from hanse.cli.family import Branch
from hanse.cli.naming import parse_named, require_name
from hanse.cli.output import Column, marked, output_option, show
from hanse.cli.running import run
from hanse.cli.tree_reading import read_tree
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key

_COLUMNS = (Column("NAME"), Column("READY"), Column("STATE"), Column("WHY"))


class Node(Protocol):
    """A line of a tree with others below it."""

    @property
    def children(self) -> tuple[Self, ...]:
        """The lines below."""


N = TypeVar("N", bound=Node)


@click.command("tree")
@click.argument("words", nargs=-1, required=True, metavar="KIND NAME")
@click.option("-n", "--namespace", default="", help="The namespace of the object (default: where the name is found).")
@host_options
@output_option()
def command(
    words: tuple[str, ...],
    namespace: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Show what became of an object: its copies in the clusters, their ReplicaSets and pods, or its children.

    \b
    Examples:
      hanse tree deployment web
      hanse tree deploy/web -n shop -o json
      hanse tree catset/cats

    What lambda controllers make of a parent is below it, wherever the parent is: on the federation, each child with its
    copies, or in a cluster. ReplicaSets of earlier revisions are left out. The exit code is 0 whatever the state is.
    """
    named = require_name(parse_named(words, "tree"), "tree")
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        root = run(lambda: _read(endpoint, named.kind, Key(namespace, named.name)))
    rows = [
        [f"{lead}{branch.title}", branch.health.ready, marked(branch.health.mark), branch.health.why]
        for lead, branch in lines(root)
    ]
    show(output, _COLUMNS, rows, document(root), [branch.title for _, branch in lines(root)])


async def _read(endpoint: Endpoint, word: str, key: Key) -> Branch:
    async with connected(endpoint) as host:
        return await read_tree(host, word, key)


def lines(root: N) -> Iterator[tuple[str, N]]:
    """Yield every branch with the strokes that lead to it, as they are printed from the top."""
    yield "", root
    yield from _below(root, "")


def _below(parent: N, lead: str) -> Iterator[tuple[str, N]]:
    for place, child in enumerate(parent.children, start=1):
        last = place == len(parent.children)
        yield f"{lead}{'└─ ' if last else '├─ '}", child
        yield from _below(child, f"{lead}{'   ' if last else '│  '}")


def document(branch: Branch) -> dict[str, Any]:
    """Return the tree for programs."""
    return {
        "name": branch.title,
        "ready": branch.health.ready,
        "state": str(branch.health.mark),
        "worst": str(branch.worst),
        "why": branch.health.why,
        "children": [document(child) for child in branch.children],
    }
