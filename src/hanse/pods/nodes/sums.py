"""What of a target's ClusterSummary its virtual node shows: pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hanse.api.admiralty.nodes import is_virtual
from hanse.api.clusters import Cluster
from hanse.kube.cel.regex import matches
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.quantities import canonical_resource, parse_quantity
from hanse.pods.nodes.manifests import Shown

_HUGE_PAGES = "hugepages-"


def shown_of(summary: Obj | None, cluster: Cluster, excluded: str, *, local_sizes: bool) -> Shown:
    """Return what a node shows: its target's summary, or where there is none what is known of the cluster's room.

    `excluded` matches KEY=VALUE of labels to leave out, in RE2's words. `local_sizes` says that a machine here has huge
    pages of several sizes: elsewhere API servers refuse a node that has.
    """
    if summary is None:
        return Shown({}, cluster.capacity, cluster.capacity)
    labels = {
        key: value
        for key, value in labels_of(summary).items()
        if not (excluded and matches(f"{key}={value}", excluded))
    }
    return Shown(
        labels,
        _amounts(summary.get("capacity") or {}, local_sizes=local_sizes),
        _amounts(summary.get("allocatable") or {}, local_sizes=local_sizes),
    )


def has_several_sizes(amounts: Mapping[str, object]) -> bool:
    """Tell whether there are huge pages of more than one size."""
    return sum(_is_huge(name) and not _is_nothing(amount) for name, amount in amounts.items()) > 1


def any_has_several_sizes(nodes: Iterable[Obj]) -> bool:
    """Tell whether a machine among the nodes has huge pages of more than one size."""
    return any(has_several_sizes(dig(node, "status", "capacity", default={})) for node in nodes if not is_virtual(node))


def _amounts(amounts: Mapping[str, object], *, local_sizes: bool) -> dict[str, str]:
    drops = has_several_sizes(amounts) and not local_sizes
    found = {}
    for name, amount in amounts.items():
        if drops and _is_huge(name) and not _is_nothing(amount):
            continue
        try:
            found[name] = canonical_resource(str(amount))
        except ValueError:
            # One amount that is nonsense must not hide the rest.
            continue
    return found


def _is_huge(name: str) -> bool:
    return name.startswith(_HUGE_PAGES)


def _is_nothing(amount: object) -> bool:
    try:
        return parse_quantity(str(amount)) == 0
    except ValueError:
        return True
