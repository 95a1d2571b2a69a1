"""What is to be thought of every target, given all that is known: pure, and each fault is one sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.clusters.health import Health, Symptom
from hanse.pods.targets.places import NOWHERE, Place, private_place, registered_place, rivals
from hanse.pods.targets.reading import Target
from hanse.pods.targets.standing import Standing, standing_of, standing_of_cluster

_UNUSABLE = "TargetUnusable"


@dataclass(frozen=True, slots=True)
class Private:
    """What is known of the cluster to which a target's own credentials lead, or why they lead nowhere."""

    server: str = ""
    uid: str = ""
    health: Health = field(default_factory=Health)
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """All that targets are judged by.

    `source` is the cluster whose targets they are, `private` tells of those that only their own credentials lead to,
    and `taken` says of targets (by uid) that another source has this one's name there. Where a target led when it was
    first used, it `was`: pods may be there.
    """

    source: str
    registered: Mapping[str, Cluster]
    private: Callable[[Target], Private]
    taken: Mapping[str, str]
    was: Callable[[Target], Place] = lambda _target: NOWHERE

    def is_own(self, target: Target) -> bool:
        """Tell whether a target is the source itself, by either way of saying so."""
        return target.itself or target.cluster == self.source

    def behind(self, target: Target) -> Cluster | None:
        """Return the registered cluster that a target is."""
        if target.trouble or target.credentials is not None:
            return None
        return self.registered.get(target.cluster or self.source)

    def place(self, target: Target) -> Place:
        """Return by what the cluster behind a target is known."""
        if target.trouble:
            return NOWHERE
        if target.credentials is not None:
            private = self.private(target)
            return private_place([private.server], private.uid)
        name = target.cluster or self.source
        return registered_place(name, self.registered.get(name))

    def has_moved(self, target: Target) -> bool:
        """Tell whether a target leads elsewhere than to where pods may be."""
        was, place = self.was(target), self.place(target)
        return bool(was and place) and not was & place


def rivals_among(targets: Iterable[Target], scene: Scene, used: Collection[str]) -> dict[str, TargetName]:
    """Return the targets whose place another one has; see `places.rivals`."""
    everyone = list(targets)
    # What has moved must not be used where it leads now, and so keeps nobody from there.
    places = {str(each.name): scene.was(each) if scene.has_moved(each) else scene.place(each) for each in everyone}
    failing = {str(target.name) for target in everyone if judged(target, scene).ready is False}
    return rivals(everyone, places, used=used, failing=failing)


def judged(target: Target, scene: Scene, rival: TargetName | None = None) -> Standing:
    """Return what is to be thought of a target."""
    if target.trouble:
        return _blocked(_UNUSABLE, target.trouble)
    if scene.has_moved(target):
        why = "pods may be where it led before; lead it there again, and make another target for the new place"
        return _blocked("TargetMoved", why)
    if rival is not None:
        why = f"it leads to the same place as {rival}, which has it; remove one of the two, or lead it elsewhere"
        return _blocked(Symptom.DUPLICATE.value, why)
    if why := scene.taken.get(target.uid, ""):
        return _blocked("SourceNameTaken", why)
    if target.credentials is not None:
        return _judged_private(target, scene)
    cluster = scene.behind(target)
    if target.itself and cluster is None:
        return Standing(True, Symptom.READY.value, "it is this cluster itself")
    if cluster is None:
        why = f"there is no cluster {target.cluster} in the federation; register it, or name another"
        return _blocked(_UNUSABLE, f"spec.clusterName: {why}")
    if cluster.pull and not scene.is_own(target):
        why = f"{cluster.name} fetches its work, and pods are sent only to clusters that are reached from here"
        return _blocked(_UNUSABLE, f"spec.clusterName: {why}")
    return standing_of_cluster(cluster)


def _judged_private(target: Target, scene: Scene) -> Standing:
    private = scene.private(target)
    home = registered_place(scene.source, scene.registered.get(scene.source))
    if scene.place(target) & home:
        return _blocked(_UNUSABLE, "spec.kubeconfigSecret leads to this cluster itself; write self: true in its place")
    if private.trouble:
        return _blocked(Symptom.UNUSABLE.value, private.trouble)
    return standing_of(private.health)


def _blocked(reason: str, why: str) -> Standing:
    return Standing(False, reason, why, blocked=True)
