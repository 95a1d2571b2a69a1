"""From what the engine and the members show to what is told of each cluster: reading, and no writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hanse.api.clusters import Cluster
from hanse.api.pieces import PIECES, PIECES_ANNOTATION, parse_piece
from hanse.api.shipper.kinds import APP_LABEL, BALANCED, BALANCED_LABEL, RELEASE_LABEL
from hanse.clusters.registry import Registry
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, labels_of, namespace_of
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation.intent import Ref
from hanse.propagation.viewing import Standing, View
from hanse.rollouts.shelf import Shelf, generation_of
from hanse.rollouts.targets.capacity import report, size_within, unreported
from hanse.rollouts.targets.installation import PieceFacts, installed
from hanse.rollouts.targets.led import led
from hanse.rollouts.targets.member_traffic import MemberTraffic
from hanse.rollouts.targets.statuses import IN_PROGRESS, INTERNAL_ERROR, Told, Verdict, not_operational, not_ready
from hanse.rollouts.targets.traffic import judged, shift
from hanse.rollouts.targets.weights import weights_of
from hanse.rollouts.weights.mixtures import Mixtures

_UNRENDERED = not_ready(IN_PROGRESS, "its manifests are not rendered yet")


class Observer:
    """Reads what there is to say of a release's targets; None while that is not known yet."""

    def __init__(
        self,
        shelf: Shelf,
        registry: Registry,
        view: View,
        sides: Mapping[str, MemberTraffic],
        begins: Callable[[], bool],
        mixtures: Mixtures,
    ) -> None:
        """`begins` tells whether members have only begun to be followed, so that one without a side will have one.

        `mixtures` are what leads clients outside to the releases of applications by weights.
        """
        self._shelf = shelf
        self._registry = registry
        self._view = view
        self._sides = sides
        self._begins = begins
        self._mixtures = mixtures

    def installation(self, target: Obj) -> dict[str, Told] | None:
        """Return what is told of a release's installation, by cluster."""
        names = [name for name in annotations_of(target).get(PIECES_ANNOTATION, "").split(",") if name]
        pieces = [self._piece(Key(namespace_of(target), name), target) for name in names]
        known = [piece for piece in pieces if piece is not None]
        if len(known) < len(pieces):
            return None
        clusters = self._clusters()
        return {
            name: Told(refusal_of(name, clusters.get(name)) or (installed(name, known) if known else _UNRENDERED))
            for name in dig(target, "spec", "clusters", default=[])
        }

    def capacity(self, target: Obj) -> dict[str, Told] | None:
        """Return what is told of a release's pods, by cluster."""
        key = key_of(target)
        standing = self._view.standing(Ref(PIECES, key))
        if standing is None and self._shelf.pieces.get(key) is not None:
            return None
        clusters, entries = self._clusters(), dig(target, "spec", "clusters", default=[])
        if any(self._awaits(clusters.get(entry["name"])) for entry in entries):
            return None
        return {
            entry["name"]: self._capacity(entry, key, standing or Standing(), clusters.get(entry["name"]))
            for entry in entries
        }

    def traffic(self, target: Obj, every: list[Obj]) -> dict[str, Told] | None:
        """Return what is told of a release's traffic, by cluster, beside all targets of its application."""
        weights, clusters = weights_of(every), self._clusters()
        application = Key(namespace_of(target), labels_of(target)[APP_LABEL])
        names = [entry["name"] for entry in dig(target, "spec", "clusters", default=[])]
        if any(self._awaits(clusters.get(name)) for name in names):
            return None
        release = labels_of(target)[RELEASE_LABEL]
        told = {name: self._traffic(application, release, weights[name], name, clusters.get(name)) for name in names}
        if not self._mixtures.concerns(application):
            return told
        mixtures = self._mixtures.of(application)
        if mixtures is None:
            return None
        return {
            name: led(release, name, weights[name][release], mixtures) if each.verdict.ready else each
            for name, each in told.items()
        }

    def size(self, release: Key, cluster: str) -> int:
        """Return how many pods a release is asked to have in a cluster."""
        return size_within(self._shelf.capacities.get(release), cluster)

    def _clusters(self) -> dict[str, Cluster]:
        return {cluster.name: cluster for cluster in self._registry.clusters()}

    def _awaits(self, cluster: Cluster | None) -> bool:
        """Tell whether a cluster will show its pods in a moment: until then nothing is said that would not last."""
        if cluster is None or cluster.refusal or cluster.pull:
            return False
        side = self._sides.get(cluster.name)
        return self._begins() if side is None else side.pods.awaited

    def _piece(self, key: Key, target: Obj) -> PieceFacts | None:
        obj = self._shelf.pieces.get(key)
        if obj is None:
            gone = "it was deleted; a change of the Application's template makes a release that has it again"
            return PieceFacts(f'Piece "{key}"', problem=gone)
        piece = parse_piece(obj)
        named = f'{piece.resource.kind} "{piece.key}"'
        if is_deleting(obj):
            return PieceFacts(named, problem=f"its Piece {key} is being deleted")
        standing = self._view.standing(Ref(PIECES, key))
        if standing is None:
            return None
        if standing.spoken_by is not None:
            if not self._is_newer(standing.spoken_by, target):
                theirs = f"{standing.spoken_by} has an object of this name in the clusters already"
                return PieceFacts(named, problem=theirs)
            speaker = self._view.standing(standing.spoken_by)
            return None if speaker is None else PieceFacts(named, speaker.rows, superseded=True)
        scaled = piece.resource == DEPLOYMENTS and key == key_of(target)
        return PieceFacts(named, standing.rows, scaled=scaled, problem=standing.problem)

    def _is_newer(self, speaker: Ref, target: Obj) -> bool:
        """Tell whether a source is a piece of a newer release of the target's application."""
        other = self._shelf.pieces.get(speaker.key) if speaker.resource == PIECES else None
        if other is None or labels_of(other).get(APP_LABEL) != labels_of(target).get(APP_LABEL):
            return False
        return self._generation(other) > self._generation(target)

    def _generation(self, obj: Obj) -> int:
        """Return of which generation something is; what is left of a release that has gone says it itself."""
        release = self._shelf.releases.get(Key(namespace_of(obj), labels_of(obj).get(RELEASE_LABEL, "")))
        generation = generation_of(obj if release is None else release)
        return -1 if generation is None else generation

    def _capacity(self, entry: Obj, release: Key, standing: Standing, cluster: Cluster | None) -> Told:
        name, deployment = entry["name"], f'Deployment "{release}"'
        if refusal := refusal_of(name, cluster):
            return unreported(refusal.message)
        side, row = self._sides.get(name), standing.rows.get(name)
        if side is not None and side.pods.lost:
            return unreported(f'cluster "{name}": {side.pods.blindness}')
        if row is not None and not row.live:
            return unreported(f"{deployment}: {row.trouble or row.held or 'the cluster may not be used for it'}")
        if row is None or row.observed is None:
            trouble = standing.problem or (row.trouble or row.held if row is not None else "")
            return unreported(f"{deployment} is not there: {trouble}" if trouble else f"{deployment} is not there yet")
        pods = side.pods.pods(release) if side is not None else []
        total, percent = entry.get("totalReplicaCount") or 0, entry.get("percent") or 0
        return report(total, percent, row.observed, pods, row.trouble)

    def _traffic(
        self, application: Key, release: str, weights: Mapping[str, int], name: str, cluster: Cluster | None
    ) -> Told:
        def untold(message: str) -> Told:
            return Told(not_operational(message), {"achievedTraffic": 0})

        if cluster is not None and cluster.pull:
            return untold(f'cluster "{name}" fetches its work itself: labels of its pods cannot be moved from here')
        if refusal := refusal_of(name, cluster):
            return untold(refusal.message)
        side = self._sides.get(name)
        if side is None or side.pods.blindness:
            why = side.pods.blindness if side is not None else "it is not followed yet"
            return untold(f'cluster "{name}": {why}')
        endpoints = side.pods.endpoints(application)
        if len(endpoints.services) != 1:
            return untold(_not_one_service(application, sorted(endpoints.services)))
        sizes = {each: self.size(Key(application.namespace, each), name) for each in weights}
        whole = self._mixtures.concerns(application)
        share = shift(side.pods.traffic(application), weights, endpoints, sizes=sizes, whole=whole).shares[release]
        verdict = judged(share)
        if not verdict.ready and (trouble := side.trouble(application)):
            verdict = not_ready(INTERNAL_ERROR, trouble)
        return Told(verdict, {"achievedTraffic": share.achieved})


def refusal_of(name: str, cluster: Cluster | None) -> Verdict | None:
    """Say why a cluster cannot be worked with; None where it can."""
    if cluster is None:
        return not_operational(f'cluster "{name}" unknown; please check if cluster exists in management cluster')
    # What exactly is the matter is on the Cluster, and worded anew with every probe.
    state = "offline" if cluster.offline else "not ready"
    return not_operational(f'cluster "{name}" is {state}; `hanse clusters` says why') if cluster.refusal else None


def _not_one_service(application: Key, services: list[str]) -> str:
    selector = f"{APP_LABEL}={application.name},{BALANCED_LABEL}={BALANCED}"
    found = f"{len(services)} instead: {', '.join(services)}" if services else "0 instead"
    return f'expected 1 Service for selector "{selector}" in namespace {application.namespace}, got {found}'
