"""What is true in a random world: every object of interest as its API server holds it, and what was so lately.

A control plane knows the world as it was a moment ago. Whoever judges it must know what it could have seen, so the
past is kept as well: for as long as a sound view may lag, and through a cluster's faults for as long as they last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.api.held_changes import HELD_CHANGES
from hanse.api.names import (
    CLUSTER_SELECTOR_ANNOTATION,
    DELETION_ANNOTATION,
    MANAGED_LABEL,
    OWNER_ANNOTATION,
    ROLLOUT_APPROVED_ANNOTATION,
    TEMPLATE_ANNOTATION,
)
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.apiserver.storage import Change
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, labels_of, name_of, namespace_of, uid_of
from hanse.kube.resources import LEASES, NAMESPACES, Resource
from tests.simulation.random_objects import KINDS, Kind, essence, selects

HOST = "federation"
# How old what a healthy control plane acts on may be: a dead member is noticed after 10 s, and a request takes time.
LAG_SECONDS = 20.0
# Choices that a person takes back may still be carried out for a while.
REGRET_SECONDS = 30.0
_LONG_AGO = -1e9


def bucket_of(resource: Resource) -> str:
    """Return where a server stores a kind."""
    return f"{resource.group or 'core'}/{resource.plural}"


SOURCES = {bucket_of(resource): resource for resource in (NAMESPACES, *(kind.resource for kind in KINDS))}
KIND_OF: dict[str, Kind] = {bucket_of(kind.resource): kind for kind in KINDS}
CLUSTERS = "clusterregistry.k8s.io/clusters"
DEPLOYMENTS = "apps/deployments"
STATEFUL_SETS = "apps/statefulsets"
JOBS = "batch/jobs"
# Kinds whose replicas are divided, and the field that counts those that serve.
DIVIDED = {DEPLOYMENTS: "availableReplicas", STATEFUL_SETS: "readyReplicas"}
POLICIES = (bucket_of(PLACEMENT_POLICIES), bucket_of(CLUSTER_PLACEMENT_POLICIES))
HELD = bucket_of(HELD_CHANGES)
_LEASES = bucket_of(LEASES)
WATCHED = {*SOURCES, CLUSTERS, *POLICIES, HELD, _LEASES}


def owner_of(obj: Obj) -> str:
    """Return the uid of the source whose copy an object is, "" where it is not Hanse's."""
    return str(annotations_of(obj).get(OWNER_ANNOTATION, "")) if labels_of(obj).get(MANAGED_LABEL) == "true" else ""


@dataclass(slots=True)
class Weather:
    """When a cluster was last broken, and since when."""

    broken: bool = False
    since: float = _LONG_AGO
    calm_since: float = _LONG_AGO

    def oldest_view(self, now: float) -> float:
        """Return the moment from which on a view of the cluster may still be believed."""
        if self.broken or now - self.calm_since < LAG_SECONDS:
            return self.since - LAG_SECONDS
        return now - LAG_SECONDS

    def calm_for(self, now: float) -> float:
        """Return for how long nothing has been wrong with it."""
        return 0.0 if self.broken else now - self.calm_since


@dataclass(slots=True)
class Truth:
    """Objects by place, bucket and path, with their recent past."""

    objects: dict[str, dict[tuple[str, str], Obj]] = field(default_factory=dict)
    # Sources by uid, those that are gone as they were last.
    sources: dict[str, Obj] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)
    weather: dict[str, Weather] = field(default_factory=dict)
    # Clusters by name as they were registered last, and when one was registered, left or was cordoned.
    clusters: dict[str, Obj] = field(default_factory=dict)
    joined_at: dict[str, float] = field(default_factory=dict)
    left_at: dict[str, float] = field(default_factory=dict)
    cordoned_at: dict[str, float] = field(default_factory=dict)
    # When the federation itself last began to call a cluster ready.
    ready_at: dict[str, float] = field(default_factory=dict)
    # Policies, those of a namespace before those for all.
    policies: list[Obj] = field(default_factory=list)
    # When a policy last changed, or a label of a cluster as well; when an approved HeldChange was last there.
    policies_at: float = _LONG_AGO
    choices_at: float = _LONG_AGO
    approved_at: float = _LONG_AGO
    # Who holds the Lease, and when a control plane last began to work.
    holder: str = ""
    begun_at: float = 0.0
    # Whether somebody has set the federation's clock.
    clock_is_wrong: bool = False
    orphaned: set[str] = field(default_factory=set)
    # What people approved of each source: what it was, and up to which group.
    approvals: dict[str, list[tuple[Any, int]]] = field(default_factory=dict)
    # Which templates a copy has had, and with which of them it was well once.
    given: dict[tuple[str, str, str], float] = field(default_factory=dict)
    proven: set[tuple[str, str, str]] = field(default_factory=set)
    # For each source and cluster, when it was last so that it belongs there, and that it does not.
    last_selected: dict[tuple[str, str, bool], float] = field(default_factory=dict)
    # When a copy was last deleted by somebody other than a control plane.
    bereft_at: dict[tuple[str, str], float] = field(default_factory=dict)
    available: dict[tuple[str, str], list[tuple[float, int]]] = field(default_factory=dict)
    asked: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def note(self, place: str, change: Change, now: float) -> tuple[Obj | None, Obj | None]:
        """Take a change in; returns the object before and after it."""
        held = self.objects.setdefault(place, {})
        where = (change.bucket, change.path)
        before = held.get(where)
        after = None if change.deleted else _read(change)
        if place == HOST and _moves(change.bucket, before, after):
            self._note_choices(now)
        if after is None:
            held.pop(where, None)
        else:
            held[where] = after
        if place == HOST:
            self._note_host(change.bucket, before, after, now)
        elif change.bucket in DIVIDED:
            self._note_available(place, change.bucket, before, after, now)
            self._note_template(place, before, after, now)
        return before, after

    def note_loss(self, place: str, before: Obj | None, after: Obj | None, now: float) -> None:
        """Note that somebody else took a copy away; one that was going already was taken by whoever began that."""
        if after is None and before is not None and "deletionTimestamp" not in before["metadata"]:
            self.bereft_at[place, owner_of(before)] = now

    def note_weather(self, place: str, now: float, *, broken: bool) -> None:
        """Note that a cluster is broken from now on, or well."""
        weather = self.weather.setdefault(place, Weather())
        if broken and not weather.broken and now - weather.calm_since > 0:
            weather.since = now
        if weather.broken and not broken:
            weather.calm_since = now
        weather.broken = broken

    def _note_choices(self, now: float) -> None:
        """Remember, before anything changes, where every source belongs until now."""
        for uid, source in self.sources.items():
            for name, cluster in self.clusters.items():
                chosen = self.chosen(source, cluster)
                if chosen is not None:
                    self.last_selected[uid, name, chosen] = now

    def _note_host(self, bucket: str, before: Obj | None, after: Obj | None, now: float) -> None:
        if bucket == CLUSTERS:
            self._note_cluster(before, after, now)
        elif bucket in POLICIES:
            self.choices_at = self.policies_at = now
            self.policies = [
                obj for where in POLICIES for (each, _), obj in self.objects[HOST].items() if each == where
            ]
        elif bucket == HELD:
            if any(dig(each, "spec", "approved") is True for each in (before, after)):
                self.approved_at = now
        elif bucket == _LEASES:
            holder = str(dig(after, "spec", "holderIdentity", default=""))
            if name_of(after or before or {}) == "hanse-controller" and holder != self.holder:
                self.holder, self.begun_at = holder, now
        elif after is not None:
            self._note_source(bucket, before, after, now)

    def _note_cluster(self, before: Obj | None, after: Obj | None, now: float) -> None:
        name = name_of(after or before or {})
        if after is None:
            self.left_at[name] = self.choices_at = now
            self.clusters.pop(name, None)
            return
        if name not in self.clusters:
            self.joined_at[name] = self.choices_at = now
        elif labels_of(after) != labels_of(self.clusters[name]):
            self.choices_at = now
        if not _is_ready(after):
            self.ready_at.pop(name, None)
        else:
            self.ready_at.setdefault(name, now)
        if not dig(after, "spec", "unschedulable", default=False):
            self.cordoned_at.pop(name, None)
        else:
            self.cordoned_at.setdefault(name, now)
        self.clusters[name] = after

    def _note_source(self, bucket: str, before: Obj | None, after: Obj, now: float) -> None:
        uid = uid_of(after)
        self.sources[uid] = after
        self.buckets[uid] = bucket
        if bucket in DIVIDED:
            self.asked.setdefault(uid, []).append((now, int(dig(after, "spec", "replicas", default=1))))
        if "deletionTimestamp" in after["metadata"] and (
            "orphan" in finalizers_of(after) or annotations_of(after).get(DELETION_ANNOTATION) == "orphan"
        ):
            self.orphaned.add(uid)
        approved = annotations_of(after).get(ROLLOUT_APPROVED_ANNOTATION)
        if approved and approved != annotations_of(before or after | {"metadata": {}}).get(ROLLOUT_APPROVED_ANNOTATION):
            group = int(approved.rpartition("/")[2])
            self.approvals.setdefault(uid, []).append((essence(KIND_OF[bucket], after), group))

    def _note_available(self, place: str, bucket: str, before: Obj | None, after: Obj | None, now: float) -> None:
        uid = owner_of(after or before or {})
        if not uid:
            return
        count = int(dig(after, "status", DIVIDED[bucket], default=0)) if after is not None else 0
        history = self.available.setdefault((place, uid), [])
        if not history or history[-1][1] != count:
            history.append((now, count))

    def _note_template(self, place: str, before: Obj | None, after: Obj | None, now: float) -> None:
        template = annotations_of(after).get(TEMPLATE_ANNOTATION) if after is not None else None
        if after is None or template is None:
            return
        if before is None or annotations_of(before).get(TEMPLATE_ANNOTATION) != template:
            self.given[place, owner_of(after), template] = now
        status, wanted = after.get("status") or {}, dig(after, "spec", "replicas", default=1)
        seen = status.get("observedGeneration", 0) >= after["metadata"].get("generation", 0)
        if seen and min(status.get("updatedReplicas", 0), status.get("availableReplicas", 0)) >= wanted:
            self.proven.add((place, owner_of(after), template))

    # What judges ask

    def live(self, uid: str) -> bool:
        """Tell whether a source is on the host and not on its way out."""
        source = self.sources.get(uid)
        return source is not None and uid in self.present() and "deletionTimestamp" not in source["metadata"]

    def present(self) -> set[str]:
        """Return the uids of all sources on the host."""
        return {uid_of(obj) for (bucket, _path), obj in self.objects[HOST].items() if bucket in SOURCES}

    def policy_of(self, source: Obj) -> Obj | None:
        """Return the policy that counts for a source: one of its namespace before one for all."""
        for policy in self.policies:
            within = namespace_of(policy) in ("", namespace_of(source))
            if within and any(each["kind"] in ("*", source["kind"]) for each in policy["spec"]["selects"]):
                return policy
        return None

    def chosen(self, source: Obj, cluster: Obj) -> bool | None:
        """Tell whether a source goes into a cluster; None where its selector cannot be read."""
        if CLUSTER_SELECTOR_ANNOTATION in annotations_of(source):
            return selects(source, cluster)
        policy = self.policy_of(source)
        return policy is None or name_of(cluster) not in dig(policy, "spec", "clusters", "exclude", default=())

    def excluded(self, uid: str, cluster: str, now: float) -> bool:
        """Tell whether a source does not belong into a cluster, or did not a while ago."""
        return self._was(uid, cluster, now, selected=False)

    def included(self, uid: str, cluster: str, now: float) -> bool:
        """Tell whether a source belongs into a cluster, or did a while ago."""
        return self._was(uid, cluster, now, selected=True)

    def _was(self, uid: str, cluster: str, now: float, *, selected: bool) -> bool:
        if cluster in self.clusters and self.chosen(self.sources[uid], self.clusters[cluster]) is selected:
            return True
        return self.last_selected.get((uid, cluster, selected), _LONG_AGO) >= self.known_since(now) - REGRET_SECONDS

    def nothing_since(self, uid: str, place: str) -> bool:
        """Tell whether a source belongs nowhere at all, and belonged into this cluster right before."""
        if any(self.chosen(self.sources[uid], cluster) is not False for cluster in self.clusters.values()):
            return False
        last = {name: self.last_selected.get((uid, name, True), _LONG_AGO) for name in self.clusters}
        return last.get(place, _LONG_AGO) == max(last.values(), default=_LONG_AGO) > _LONG_AGO

    def known_since(self, now: float) -> float:
        """Return the moment since which a control plane knows everything that people did on the host."""
        return min(now, self.weather.setdefault(HOST, Weather()).oldest_view(now) + LAG_SECONDS)

    def is_calm(self, place: str, now: float) -> bool:
        """Tell whether a cluster is registered, and nothing has been wrong with it, for as long as a view may lag."""
        known = self.known_since(now) - LAG_SECONDS
        if place not in self.clusters or self.joined_at[place] > known:
            return False
        return self.weather.setdefault(place, Weather()).calm_for(now) > LAG_SECONDS

    def is_steady(self, place: str, now: float) -> bool:
        """Tell whether a cluster is calm and the federation has had the time to find that it stays so."""
        return self.is_calm(place, now) and self.ready_at.get(place, now) < self.known_since(now) - LAG_SECONDS

    def was_robbed(self, place: str, uid: str, now: float) -> bool:
        """Tell whether somebody deleted a copy that a view of the cluster may still have shown a moment ago."""
        oldest = self.weather.setdefault(place, Weather()).oldest_view(now)
        return self.bereft_at.get((place, uid), _LONG_AGO) >= oldest

    def availability(self, place: str, uid: str, now: float) -> tuple[int, int]:
        """Return the least and the most replicas that a view of a member may have shown as available."""
        weather = self.weather.setdefault(place, Weather())
        # Before it is first told of, nothing is available.
        history = [(_LONG_AGO, 0), *self.available.get((place, uid), [])]
        return _extremes(history, weather.oldest_view(now))

    def asked_lately(self, uid: str, now: float) -> tuple[int, int]:
        """Return the fewest and the most replicas that a person has asked for lately."""
        return _extremes(self.asked[uid], self.known_since(now) - REGRET_SECONDS)

    def copies(self, uid: str) -> Iterator[tuple[str, Obj]]:
        """Yield the members that hold a copy of a source, and the copies."""
        bucket = self.buckets.get(uid)
        for place, held in self.objects.items():
            for (where, _path), obj in held.items():
                if place != HOST and where == bucket and owner_of(obj) == uid:
                    yield place, obj


def _moves(bucket: str, before: Obj | None, after: Obj | None) -> bool:
    """Tell whether a change on the host may say anew where something belongs."""
    if before is None or after is None or bucket in POLICIES:
        return True
    if bucket == CLUSTERS:
        return labels_of(before) != labels_of(after)
    selectors = [annotations_of(each).get(CLUSTER_SELECTOR_ANNOTATION) for each in (before, after)]
    return selectors[0] != selectors[1]


def _is_ready(cluster: Obj) -> bool:
    return is_true(dig(cluster, "status", "conditions", default=[]), "Ready")


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
