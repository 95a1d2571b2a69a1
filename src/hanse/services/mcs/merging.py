"""One service out of what clusters export under one name: ports are joined, all else is as the oldest export says.

What clusters disagree on is named, with the words that the API has for it, so that each of them can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hanse.api.mcs import HEADLESS
from hanse.services.mcs.exports import Export, ExportedPort


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something on which clusters disagree."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A service of many clusters; `model` is the export that decides where they disagree."""

    model: Export
    ports: tuple[ExportedPort, ...]
    families: tuple[str, ...]
    clusters: tuple[str, ...]
    conflicts: tuple[Conflict, ...] = ()

    @property
    def headless(self) -> bool:
        """Whether clients are given the pods' own addresses."""
        return self.model.type == HEADLESS


# What must be the same everywhere, in the order in which it is told: the API's word, ours, and where it is found.
_PROPERTIES: tuple[tuple[str, str, Callable[[Export], Any]], ...] = (
    ("TypeConflict", "the type", lambda export: export.type),
    ("SessionAffinityConflict", "sessionAffinity", lambda export: export.affinity),
    ("SessionAffinityConfigConflict", "sessionAffinityConfig", lambda export: export.affinity_config),
    ("InternalTrafficPolicyConflict", "internalTrafficPolicy", lambda export: export.traffic_policy),
    ("TrafficDistributionConflict", "trafficDistribution", lambda export: export.traffic_distribution),
    ("LabelsConflict", "exportedLabels", lambda export: export.labels),
    ("AnnotationsConflict", "exportedAnnotations", lambda export: export.annotations),
    ("IPFamilyConflict", "ipFamilies", lambda export: frozenset(export.families)),
)


def merge(exports: Sequence[Export]) -> Merged | None:
    """Return what all exports of one name are together, None where there are none."""
    if not exports:
        return None
    by_age = sorted(exports, key=lambda export: export.age)
    model = by_age[0]
    families = _in_order(family for export in by_age for family in export.families)
    return Merged(
        model=model,
        ports=_joined(by_age),
        families=families if model.type == HEADLESS else model.families,
        clusters=tuple(sorted(export.cluster for export in exports)),
        conflicts=tuple(_conflicts(by_age)),
    )


def _joined(by_age: Sequence[Export]) -> tuple[ExportedPort, ...]:
    """Join the ports; one that says something else under a name or a number that is taken is left out."""
    ports: list[ExportedPort] = []
    names: set[str] = set()
    numbers: set[tuple[int, str]] = set()
    for export in by_age:
        for port in export.ports:
            if port.name in names or (port.number, port.protocol) in numbers:
                continue
            ports.append(port)
            names.add(port.name)
            numbers.add((port.number, port.protocol))
    return tuple(ports)


def _conflicts(by_age: Sequence[Export]) -> Iterable[Conflict]:
    model, *others = by_age
    differing = [export.cluster for export in others if set(export.ports) != set(model.ports)]
    if differing:
        ports = ", ".join(map(str, model.ports)) or "none"
        yield Conflict(
            "PortConflict",
            f"the ports in {_listed(differing)} are not those of {model.cluster} ({ports}); "
            "where a name or a number is taken twice, the oldest export is right",
        )
    for reason, what, value in _PROPERTIES:
        differing = [export.cluster for export in others if value(export) != value(model)]
        if differing:
            yield Conflict(reason, f"{what} in {_listed(differing)} is not that of {model.cluster}, the oldest export")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
