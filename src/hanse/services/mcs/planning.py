"""What one cluster shall hold of one exported service, and say of its own export: decided from what all clusters show.

Nothing is concluded from a cluster that cannot be seen: an import that it has a part in stays as it is until it can.
Its endpoints leave all the same once the registry calls it lost, as long as others have some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.kube.manifest import Key, Obj, name_of
from hanse.services.mcs.endpoints import derived_slices, leading_clusters, source_of
from hanse.services.mcs.exports import Export, Refusal
from hanse.services.mcs.imports import exporters, import_manifest, is_ours, service_name
from hanse.services.mcs.merging import Conflict, Merged, merge


@dataclass(frozen=True, slots=True)
class View:
    """What all clusters show of one service."""

    key: Key
    exports: Mapping[str, Export | Refusal] = field(default_factory=dict)
    # The EndpointSlices behind each export, by cluster.
    slices: Mapping[str, Sequence[Obj]] = field(default_factory=dict)
    # Clusters that take part and cannot be seen, those that the registry calls lost, and those where something that
    # is not ours has the import's name.
    unknown: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    in_the_way: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """What one cluster has of a service."""

    cluster: str
    has_namespace: bool = True
    import_: Obj | None = None
    service: Obj | None = None
    slices: Sequence[Obj] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cluster shall hold.

    Without an `import_` there is nothing to write of it, and `remove` says whether the one that is there goes.
    Of the derived slices those not among `slices` go, but for the names to `keep`.
    """

    import_: Obj | None = None
    merged: Merged | None = None
    remove: bool = False
    slices: tuple[Obj, ...] = ()
    keep: frozenset[str] = frozenset()


NOTHING = Plan()


def merged_view(view: View) -> Merged | None:
    """Return what the clusters that can be seen export together."""
    return merge([export for export in view.exports.values() if isinstance(export, Export)])


def unseen_sources(view: View, held: Held) -> frozenset[str]:
    """Return the clusters that had a part in an import and cannot be seen now."""
    if held.import_ is None:
        return frozenset()
    told = exporters(held.import_)
    # An import that was made and says nothing yet may be anybody's.
    return view.unknown & (told | {source_of(entry) for entry in held.slices}) if told else view.unknown


def conflicts_of(view: View) -> tuple[Conflict, ...]:
    """Return what the clusters that can be seen disagree on."""
    merged = merged_view(view)
    return merged.conflicts if merged is not None else ()


def plan(view: View, held: Held) -> Plan:
    """Decide what a cluster shall hold of a service."""
    if held.import_ is not None and not is_ours(held.import_):
        return NOTHING
    unseen = unseen_sources(view, held)
    merged = merged_view(view)
    if merged is None and not unseen:
        return Plan(remove=held.import_ is not None)
    if not held.has_namespace:
        return NOTHING
    slices, keep = _slices(view, held, merged, unseen)
    if merged is None or unseen:
        return Plan(slices=slices, keep=keep)
    return Plan(import_manifest(view.key, merged, held.service), merged, slices=slices, keep=keep)


def _slices(
    view: View, held: Held, merged: Merged | None, unseen: frozenset[str]
) -> tuple[tuple[Obj, ...], frozenset[str]]:
    """Return the derived slices to have, and the names of those that stay as they are."""
    routed = "" if merged is None or merged.headless else service_name(view.key)
    by_cluster: dict[str, Sequence[Obj]] = {}
    for cluster, export in view.exports.items():
        if isinstance(export, Export) and merged is not None:
            by_cluster[cluster] = derived_slices(view.key, merged, export, view.slices.get(cluster, ()), routed)
    for cluster in unseen:
        by_cluster[cluster] = [entry for entry in held.slices if source_of(entry) == cluster]
    led = leading_clusters(by_cluster, view.lost)
    wanted = tuple(entry for cluster in sorted(led - unseen) for entry in by_cluster[cluster])
    return wanted, frozenset(name_of(entry) for cluster in led & unseen for entry in by_cluster[cluster])
