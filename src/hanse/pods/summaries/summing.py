"""From the nodes of a cluster to its summary: pure."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, SUMMARY_NAME
from hanse.api.admiralty.nodes import is_virtual
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.quantities import Notation, format_quantity, parse_quantity


def summary_of(nodes: Iterable[Obj]) -> Obj:
    """Return the summary of a cluster: sums over its nodes, and the labels on which those that have them agree.

    Nodes that stand for other clusters do not count; those that are cordoned or not ready do.
    """
    real = [node for node in nodes if not is_virtual(node)]
    return {
        "apiVersion": CLUSTER_SUMMARIES.api_version,
        "kind": CLUSTER_SUMMARIES.kind,
        "metadata": {"name": SUMMARY_NAME, "labels": agreed_labels(real)},
        "capacity": total(dig(node, "status", "capacity") for node in real),
        "allocatable": total(dig(node, "status", "allocatable") for node in real),
    }


def agreed_labels(nodes: Iterable[Obj]) -> dict[str, str]:
    """Return the labels that have the same value on all nodes that have them at all."""
    values: dict[str, set[str]] = {}
    for node in nodes:
        for key, value in labels_of(node).items():
            values.setdefault(key, set()).add(value)
    return {key: next(iter(found)) for key, found in sorted(values.items()) if len(found) == 1}


def total(lists: Iterable[Any]) -> dict[str, str]:
    """Add resource lists up; what a node says that is no amount is left out."""
    sums: dict[str, Decimal] = {}
    notations: dict[str, Notation] = {}
    for amounts in lists:
        for resource, text in (amounts or {}).items():
            try:
                amount = parse_quantity(text)
            except ValueError:
                continue
            sums[resource] = sums.get(resource, Decimal(0)) + amount
            if str(text).endswith("i"):
                notations[resource] = "binary"
    return {resource: format_quantity(sums[resource], notations.get(resource, "decimal")) for resource in sorted(sums)}
