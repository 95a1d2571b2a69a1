"""Looks at every change of a cluster how many pods clients are led to, and whether they are enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from hanse.api.shipper.kinds import APP_LABEL, BALANCED, BALANCED_LABEL, RELEASE_LABEL, TRAFFIC_ENABLED, TRAFFIC_LABEL
from hanse.apiserver.storage import Change
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of
from hanse.kube.resources import ENDPOINT_SLICES, PODS
from tests.simulation.random_truth import bucket_of

_PODS, _SLICES = bucket_of(PODS), bucket_of(ENDPOINT_SLICES)


@dataclass(slots=True)
class Cluster:
    """The pods of applications and the addresses before them, as a cluster has them at this moment."""

    pods: dict[str, Obj] = field(default_factory=dict)
    slices: dict[str, Obj] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        """Take a change in."""
        held = self.pods if change.bucket == _PODS else self.slices
        if change.deleted:
            held.pop(change.path, None)
        else:
            held[change.path] = orjson.loads(change.value)

    def served(self, application: str) -> dict[str, int]:
        """Return, by release, the ready pods of an application that are enabled and in its ready endpoints."""
        led_to = {
            dig(endpoint, "targetRef", "uid")
            for each in self.slices.values()
            if labels_of(each).get(BALANCED_LABEL) == BALANCED and labels_of(each).get(APP_LABEL) == application
            for endpoint in each.get("endpoints") or ()
            if dig(endpoint, "conditions", "ready")
        }
        found: dict[str, int] = {}
        for pod in self.pods.values():
            labels = labels_of(pod)
            if (
                labels.get(APP_LABEL) == application
                and labels.get(TRAFFIC_LABEL) == TRAFFIC_ENABLED
                and pod["metadata"]["uid"] in led_to
                and not is_deleting(pod)
                and is_true(dig(pod, "status", "conditions"), "Ready")
            ):
                release = labels[RELEASE_LABEL]
                found[release] = found.get(release, 0) + 1
        return found

    def pods_of(self, release: str) -> int:
        """Return how many pods of a release there are, those that are going not counted."""
        theirs = (pod for pod in self.pods.values() if labels_of(pod).get(RELEASE_LABEL) == release)
        return sum(not is_deleting(pod) for pod in theirs)


class TrafficWatch:
    """Holds clusters to a promise: from the moment on at which it is given, never fewer pods than so many."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._clusters: dict[str, Cluster] = {}
        self._promised: dict[tuple[str, str], int] = {}
        self.found: list[str] = []

    def note(self, cluster: str, change: Change) -> None:
        """Look at a change."""
        if change.bucket not in (_PODS, _SLICES):
            return
        state = self.cluster(cluster)
        state.take(change)
        for (name, application), least in self._promised.items():
            if name == cluster and (served := sum(state.served(application).values())) < least:
                self.found.append(f"{self._clock():.2f} s: {served} of {least} pods of {application} in {cluster}")

    def cluster(self, name: str) -> Cluster:
        """Return what a cluster has."""
        return self._clusters.setdefault(name, Cluster())

    def promise(self, application: str, least: int, *clusters: str) -> None:
        """Have these clusters lead clients to at least so many pods from now on."""
        for cluster in clusters:
            assert sum(self.cluster(cluster).served(application).values()) >= least
            self._promised[cluster, application] = least

    def take_back(self, application: str) -> list[str]:
        """Ask for nothing of an application any more; returns, and forgets, how its promise was broken."""
        self._promised = {of: least for of, least in self._promised.items() if of[1] != application}
        broken = [sentence for sentence in self.found if f" of {application} in " in sentence]
        self.found = [sentence for sentence in self.found if sentence not in broken]
        return broken
