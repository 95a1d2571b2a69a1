"""Which targets lead to the same place: an object there would be seen twice, so only one of them is used. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster, with_scheme
from hanse.pods.targets.reading import Target

# Words by which a place is known: the name of a registered cluster, its uid, its addresses. One in common is enough.
Place = frozenset[str]
NOWHERE: Place = frozenset()


def registered_place(name: str, cluster: Cluster | None) -> Place:
    """Return by what a registered cluster is known."""
    if cluster is None:
        return frozenset({f"cluster {name}"})
    return frozenset({f"cluster {name}"}) | private_place((each.server for each in cluster.addresses), cluster.uid)


def private_place(servers: Iterable[str], uid: str = "") -> Place:
    """Return by what a cluster is known to which credentials lead."""
    words = {f"server {with_scheme(server).rstrip('/').lower()}" for server in servers if server}
    return frozenset({*words, *([f"uid {uid}"] if uid else [])})


def rivals(
    targets: Iterable[Target], places: Mapping[str, Place], *, used: Collection[str], failing: Collection[str]
) -> dict[str, TargetName]:
    """Return the targets that must not be used, each with the one that has its place.

    Whichever is `used` already keeps the place, else the older one, unless it is `failing` and the other is not.
    Targets of two namespaces share a place: each sees its own namespace only.
    """

    def first_comes(target: Target) -> tuple[bool, bool, tuple[str, TargetName]]:
        name = str(target.name)
        return name not in used, name in failing, target.age

    keepers: list[Target] = []
    found: dict[str, TargetName] = {}
    for target in sorted(targets, key=first_comes):
        name = str(target.name)
        place = places.get(name, NOWHERE)
        first = next((each for each in keepers if _overlap(each, target) and places[str(each.name)] & place), None)
        if first is not None:
            found[name] = first.name
        elif place:
            keepers.append(target)
    return found


def _overlap(one: Target, other: Target) -> bool:
    namespaces = {one.name.namespace, other.name.namespace}
    return "" in namespaces or len(namespaces) == 1
