"""A schedule of faults: which cluster breaks how, when, and for how long.

faults:
- at: 10s
  cluster: eu-west
  fault: latency
  delay: 500ms
  for: 30s

Times count from the start of the run. Without `for` a fault stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hanse.simulator.faults.durations import DURATION_RULE, duration_text, parse_duration
from hanse.simulator.faults.values import Fault, FaultError, fault_from

_OWN = frozenset({"at", "cluster", "for"})
LARGEST_SCHEDULE = 10_000


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of a schedule; it stays where `lasts` is None."""

    at: float
    cluster: str
    fault: Fault
    lasts: float | None = None

    @property
    def ends(self) -> float | None:
        """When it is over, None for never."""
        return None if self.lasts is None else self.at + self.lasts

    def as_mapping(self) -> dict[str, Any]:
        """Return its entry of a schedule file."""
        found = {"at": duration_text(self.at), "cluster": self.cluster, **self.fault.as_mapping()}
        return found if self.lasts is None else {**found, "for": duration_text(self.lasts)}


@dataclass(frozen=True, slots=True)
class Step:
    """A moment at which a cluster's faults change, and what they are from then on."""

    at: float
    cluster: str
    faults: tuple[Fault, ...]


def parse_schedule(document: Any, clusters: Collection[str]) -> tuple[Planned, ...]:
    """Read a schedule for a federation of these clusters; raises FaultError."""
    if not isinstance(document, Mapping) or not isinstance(document.get("faults"), list):
        raise FaultError("faults: must be a list of {at, cluster, fault, for}")
    unknown = sorted(str(key) for key in document if key != "faults")
    if unknown:
        raise FaultError(f"{unknown[0]}: is not a field of a schedule; it has faults")
    if len(document["faults"]) > LARGEST_SCHEDULE:
        raise FaultError(f"faults: at most {LARGEST_SCHEDULE} entries, not {len(document['faults'])}")
    return tuple(_planned(entry, f"faults[{place}]", clusters) for place, entry in enumerate(document["faults"]))


def steps_of(schedule: Iterable[Planned]) -> tuple[Step, ...]:
    """Return the moments at which anything changes, in order; faults that overlap are there side by side."""
    planned = sorted(schedule, key=lambda one: one.at)
    moments = {(one.at, one.cluster) for one in planned}
    moments |= {(one.ends, one.cluster) for one in planned if one.ends is not None}
    return tuple(Step(at, cluster, _at(planned, cluster, at)) for at, cluster in sorted(moments))


def _at(planned: list[Planned], cluster: str, moment: float) -> tuple[Fault, ...]:
    return tuple(
        one.fault
        for one in planned
        if one.cluster == cluster and one.at <= moment and (one.ends is None or moment < one.ends)
    )


def _planned(entry: Any, where: str, clusters: Collection[str]) -> Planned:
    fault = fault_from(entry, where=where, ignoring=_OWN)
    if fault.until is not None:
        raise FaultError(f"{where}.until: a schedule says how long with for, such as 30s")
    cluster = entry.get("cluster")
    if cluster not in clusters:
        raise FaultError(f"{where}.cluster: must be one of {', '.join(clusters)}, not {cluster!r}")
    at = _seconds(entry, "at", where, lambda seconds: seconds >= 0)
    lasts = _seconds(entry, "for", where, lambda seconds: seconds > 0) if entry.get("for") is not None else None
    return Planned(at, cluster, fault, lasts)


def _seconds(entry: Mapping[str, Any], name: str, where: str, fits: Callable[[float], bool]) -> float:
    try:
        seconds = parse_duration(entry.get(name, 0))
    except ValueError:
        seconds = -1.0
    if not fits(seconds):
        raise FaultError(f"{where}.{name}: {DURATION_RULE}, not {entry.get(name)!r}")
    return seconds
