"""What a simulated cluster is like: its name, place, nodes and pace, read from an entry of a clusters file.

A mistake in the file is one sentence that names the field: `clusters[1].nodes: must be a whole number …`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hanse.kube.quantities import parse_quantity
from hanse.kube.selectors import label_value_problems, qualified_name_problems
from hanse.simulator.faults.durations import parse_duration
from hanse.simulator.networking.providers import Provider

# Each cluster has a second octet of 127/8 and of 10/8 to itself.
LARGEST_INDEX = 239
LARGEST_NODE_COUNT = 4000

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SECONDS_RULE = "must be a number of seconds of at least 0, or two of them as [least, most]"


class SettingsError(ValueError):
    """A clusters file that cannot be used, said in one sentence."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """How one simulated cluster is made."""

    name: str
    index: int = 0
    region: str = ""
    zones: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 3
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110
    pod_start_seconds: tuple[float, float] = (0.5, 1.0)
    pod_stop_seconds: tuple[float, float] = (0.1, 0.3)
    latency_seconds: float = 0.0
    load_balancers: Provider = Provider.IP

    @classmethod
    def from_mapping(cls, entry: Any, *, where: str = "cluster", index: int = 0) -> ClusterSettings:
        """Read one entry of a clusters file; raises SettingsError naming the field under `where`."""
        if not isinstance(entry, Mapping):
            raise SettingsError(f"{where}: must be a mapping, not {entry!r}")
        prefix = f"{where}." if where else ""
        unknown = sorted(str(name) for name in entry if name not in _FIELDS)
        if unknown:
            raise SettingsError(f"{prefix}{unknown[0]}: is not a field of a cluster; known are {', '.join(_FIELDS)}")
        if "name" not in entry:
            raise SettingsError(f"{prefix}name: is required")
        if "zone" in entry and "zones" in entry:
            raise SettingsError(f"{prefix}zones: cannot be given beside zone")
        found: dict[str, Any] = {"index": index}
        for name, value in entry.items():
            attribute, read = _FIELDS[name]
            found[attribute] = read(value, f"{prefix}{name}")
        return cls(**found)


def parse_clusters(document: Any) -> tuple[ClusterSettings, ...]:
    """Read a clusters file, `clusters: [{name, region, zone, labels, nodes, …}]`; raises SettingsError."""
    if not isinstance(document, Mapping) or not isinstance(document.get("clusters"), list):
        raise SettingsError("clusters: must be a list of clusters")
    if len(document["clusters"]) > LARGEST_INDEX + 1:
        count = len(document["clusters"])
        raise SettingsError(f"clusters: at most {LARGEST_INDEX + 1} clusters fit on one machine, not {count}")
    found: list[ClusterSettings] = []
    for position, entry in enumerate(document["clusters"]):
        where = f"clusters[{position}]"
        cluster = ClusterSettings.from_mapping(entry, where=where, index=position)
        _require_unlike(cluster, found, where)
        found.append(cluster)
    return tuple(found)


def _require_unlike(cluster: ClusterSettings, others: list[ClusterSettings], where: str) -> None:
    for position, other in enumerate(others):
        if other.name == cluster.name:
            raise SettingsError(f"{where}.name: {cluster.name!r} is the name of clusters[{position}] already")
        if other.index == cluster.index:
            raise SettingsError(f"{where}.index: {cluster.index} is the index of clusters[{position}] already")


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        rule = "must be lower case letters, digits and '-', beginning and ending with a letter or digit, at most 63"
        raise SettingsError(f"{where}: {rule}, not {value!r}")
    return value


def _label_value(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{where}: must be text, not {value!r}")
    problems = label_value_problems(value)
    if problems:
        raise SettingsError(f"{where}: {problems[0]}")
    return value


def _zone(value: Any, where: str) -> tuple[str, ...]:
    return (_label_value(value, where),)


def _zones(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise SettingsError(f"{where}: must be a list of at least one zone, not {value!r}")
    return tuple(_label_value(zone, f"{where}[{position}]") for position, zone in enumerate(value))


def _labels(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: must be a mapping of label names to values, not {value!r}")
    found = {}
    for key, text in value.items():
        problems = qualified_name_problems(str(key))
        if problems:
            raise SettingsError(f"{where}: {key!r} is not a label name: {problems[0]}")
        found[str(key)] = _label_value(text, f"{where}.{key}")
    return found


def _whole(least: int, most: int) -> Callable[[Any, str], int]:
    def read(value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SettingsError(f"{where}: must be a whole number of at least {least}, not {value!r}")
        if value > most:
            raise SettingsError(f"{where}: must be at most {most}, not {value}")
        return value

    return read


def _quantity(value: Any, where: str) -> str:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float) or parse_quantity(value) <= 0:
            raise ValueError
    except ValueError:
        raise SettingsError(f"{where}: must be a quantity above 0 such as 8, 500m or 32Gi, not {value!r}") from None
    return str(value)


def _seconds(value: Any, where: str) -> tuple[float, float]:
    pair = value if isinstance(value, list) else [value, value]
    numbers = all(isinstance(part, int | float) and not isinstance(part, bool) and part >= 0 for part in pair)
    if len(pair) != 2 or not numbers or pair[0] > pair[1]:
        raise SettingsError(f"{where}: {_SECONDS_RULE}, not {value!r}")
    return float(pair[0]), float(pair[1])


def _duration(value: Any, where: str) -> float:
    try:
        seconds = parse_duration(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise SettingsError(f"{where}: must be a time of at most 60s such as 80ms, not {value!r}")
    return seconds


def _provider(value: Any, where: str) -> Provider:
    if value not in tuple(Provider):
        raise SettingsError(f"{where}: must be one of {', '.join(Provider)}, not {value!r}")
    return Provider(value)


_FIELDS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "name": ("name", _name),
    "index": ("index", _whole(0, LARGEST_INDEX)),
    "region": ("region", _label_value),
    "zone": ("zones", _zone),
    "zones": ("zones", _zones),
    "labels": ("labels", _labels),
    "nodes": ("nodes", _whole(1, LARGEST_NODE_COUNT)),
    "cpu": ("cpu", _quantity),
    "memory": ("memory", _quantity),
    "pods": ("pods", _whole(1, 1000)),
    "podStartSeconds": ("pod_start_seconds", _seconds),
    "podStopSeconds": ("pod_stop_seconds", _seconds),
    "latency": ("latency_seconds", _duration),
    "loadBalancers": ("load_balancers", _provider),
}
