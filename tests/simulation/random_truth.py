"""What is true in a random world: every object of interest as its API server holds it, and what was so lately.

A control plane knows the world as it was a moment ago. Whoever judges it must know what it could have seen, so the
past is kept as well: for as long as a sound view may lag, and through a cluster's faults for as long as they last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION
from hanse.apiserver.storage import Change
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of, uid_of
from hanse.kube.resources import NAMESPACES
from tests.simulation.random_objects import KINDS, selects

HOST = "federation"
# How old what a healthy control plane acts on may be: a dead member is noticed after 10 s, and a request takes time.
LAG_SECONDS = 20.0
# Choices that a person takes back may still be carried out for a while.
REGRET_SECONDS = 30.0


def bucket_of(group: str, plural: str) -> str:
    """Return where a server stores a kind."""
    return f"{group or 'core'}/{plural}"


SOURCES = {
    bucket_of(resource.group, resource.plural): resource
    for resource in (NAMESPACES, *(kind.resource for kind in KINDS))
}
CLUSTERS = "clusterregistry.k8s.io/clusters"
DEPLOYMENTS = "apps/deployments"


def owner_of(obj: Obj) -> str:
    """Return the uid of the source whose copy an object is, "" where it is not Hanse's."""
    return str(annotations_of(obj).get(OWNER_ANNOTATION, "")) if labels_of(obj).get(MANAGED_LABEL) == "true" else ""


@dataclass(slots=True)
class Weather:
    """When a member was last broken, and since when."""

    broken: bool = False
    since: float = -1e9
    calm_since: float = -1e9

    def oldest_view(self, now: float) -> float:
        """Return the moment from which on a view of the member may still be believed."""
        if self.broken or now - self.calm_since < LAG_SECONDS:
            return self.since - LAG_SECONDS
        return now - LAG_SECONDS


@dataclass(slots=True)
class Truth:
    """Objects by place, bucket and path, with their recent past."""

    objects: dict[str, dict[tuple[str, str], Obj]] = field(default_factory=dict)
    # Sources by uid, those that are gone as they were last.
    sources: dict[str, Obj] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)
    weather: dict[str, Weather] = field(default_factory=dict)
    # Clusters by name as they were registered last, and when one was registered or left.
    clusters: dict[str, Obj] = field(default_factory=dict)
    joined_at: dict[str, float] = field(default_factory=dict)
    left_at: dict[str, float] = field(default_factory=dict)
    # For each source and cluster, when it was last so that it belongs there, and that it does not.
    last_selected: dict[tuple[str, str, bool], float] = field(default_factory=dict)
    available: dict[tuple[str, str], list[tuple[float, int]]] = field(default_factory=dict)
    asked: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def note(self, place: str, change: Change, now: float) -> tuple[Obj | None, Obj | None]:
        """Take a change in; returns the object before and after it."""
        held = self.objects.setdefault(place, {})
        where = (change.bucket, change.path)
        before = held.get(where)
        after = None if change.deleted else _read(change)
        if place == HOST:
            self._note_choices(now)
        if after is None:
            held.pop(where, None)
        else:
            held[where] = after
        if place == HOST:
            self._note_host(change.bucket, before, after, now)
        elif change.bucket == DEPLOYMENTS:
            self._note_available(place, before, after, now)
        return before, after

    def _note_choices(self, now: float) -> None:
        """Remember, before anything changes, where every source belongs until now."""
        for uid, source in self.sources.items():
            for name, cluster in self.clusters.items():
                chosen = selects(source, cluster)
                if chosen is not None:
                    self.last_selected[uid, name, chosen] = now

    def _note_host(self, bucket: str, before: Obj | None, after: Obj | None, now: float) -> None:
        if bucket == CLUSTERS:
            name = name_of(after or before or {})
            if after is None:
                self.left_at[name] = now
                self.clusters.pop(name, None)
            else:
                if name not in self.clusters:
                    self.joined_at[name] = now
                self.clusters[name] = after
            return
        if after is None:
            return
        uid = uid_of(after)
        self.sources[uid] = after
        self.buckets[uid] = bucket
        if bucket == DEPLOYMENTS:
            self.asked.setdefault(uid, []).append((now, int(dig(after, "spec", "replicas", default=1))))

    def _note_available(self, place: str, before: Obj | None, after: Obj | None, now: float) -> None:
        uid = owner_of(after or before or {})
        if not uid:
            return
        count = int(dig(after, "status", "availableReplicas", default=0)) if after is not None else 0
        history = self.available.setdefault((place, uid), [])
        if not history or history[-1][1] != count:
            history.append((now, count))

    # What judges ask

    def live(self, uid: str) -> bool:
        """Tell whether a source is on the host and not on its way out."""
        source = self.sources.get(uid)
        return source is not None and uid in self.present() and "deletionTimestamp" not in source["metadata"]

    def present(self) -> set[str]:
        """Return the uids of all sources on the host."""
        return {uid_of(obj) for (bucket, _path), obj in self.objects[HOST].items() if bucket in SOURCES}

    def excluded(self, uid: str, cluster: str, now: float) -> bool:
        """Tell whether a source does not belong into a cluster, or did not a while ago."""
        return self._was(uid, cluster, now, selected=False)

    def included(self, uid: str, cluster: str, now: float) -> bool:
        """Tell whether a source belongs into a cluster, or did a while ago."""
        return self._was(uid, cluster, now, selected=True)

    def _was(self, uid: str, cluster: str, now: float, *, selected: bool) -> bool:
        if cluster in self.clusters and selects(self.sources[uid], self.clusters[cluster]) is selected:
            return True
        return now - self.last_selected.get((uid, cluster, selected), -1e9) <= REGRET_SECONDS

    def availability(self, place: str, uid: str, now: float) -> tuple[int, int]:
        """Return the least and the most replicas that a view of a member may have shown as available."""
        weather = self.weather.setdefault(place, Weather())
        # Before it is first told of, nothing is available.
        history = [(-1e9, 0), *self.available.get((place, uid), [])]
        return _extremes(history, weather.oldest_view(now))

    def least_asked(self, uid: str, now: float) -> int:
        """Return the fewest replicas that a person has asked for lately."""
        return _extremes(self.asked[uid], now - REGRET_SECONDS)[0]

    def copies(self, uid: str) -> Iterator[tuple[str, Obj]]:
        """Yield the members that hold a copy of a source, and the copies."""
        bucket = self.buckets.get(uid)
        for place, held in self.objects.items():
            for (where, _path), obj in held.items():
                if place != HOST and where == bucket and owner_of(obj) == uid:
                    yield place, obj


def _read(change: Change) -> Obj:
    obj: Obj = orjson.loads(change.value)
    return SOURCES[change.bucket].name_kind(obj) if change.bucket in SOURCES else obj


def _extremes(history: list[tuple[float, int]], since: float) -> tuple[int, int]:
    """Return the least and the most of a value that was in force at any moment from then on."""
    values = []
    for place, (_at, value) in enumerate(history):
        ends = history[place + 1][0] if place + 1 < len(history) else float("inf")
        if ends >= since:
            values.append(value)
    return min(values), max(values)
