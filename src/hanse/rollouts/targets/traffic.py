"""Which pods of an application receive traffic in one cluster, by the weights of its releases there. Pure.

The Service in front of them selects a label, so that how many pods of a release carry it is the release's share.
Numbers are whole ones throughout: of 20 pods, 55 of 100 are 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.shipper.kinds import TRAFFIC_DISABLED, TRAFFIC_ENABLED
from hanse.rollouts.targets.capacity import PODS_NOT_READY
from hanse.rollouts.targets.statuses import AS_WANTED, IN_PROGRESS, Verdict, not_ready

PODS_NOT_IN_ENDPOINTS = "PodsNotInEndpoints"


@dataclass(frozen=True, slots=True, order=True)
class TrafficPod:
    """A pod that runs or will: its release, and what its label says of traffic, None where it has none."""

    name: str
    release: str
    label: str | None = None

    @property
    def enabled(self) -> bool:
        """Whether the Service may lead clients to it."""
        return self.label == TRAFFIC_ENABLED


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The Services that lead to an application in a cluster, and the pods that are behind them, ready or not."""

    services: frozenset[str] = frozenset()
    ready: frozenset[str] = frozenset()
    unready: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Move:
    """A pod whose label shall say something else."""

    pod: str
    value: str


@dataclass(frozen=True, slots=True)
class Share:
    """What one release has of the traffic: pods it shall have in it, that carry the label, that are ready in endpoints.

    `moving` labels change now; `kept` pods keep theirs until others can do without them.
    """

    target: int
    labelled: int
    serving: int
    ready: int
    unready: int
    achieved: int
    moving: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Shift:
    """What to do now, pods that shall receive traffic first, and how each release stands."""

    enable: tuple[Move, ...]
    disable: tuple[Move, ...]
    shares: Mapping[str, Share]


NO_SHIFT = Shift((), (), {})


def shift(
    pods: Iterable[TrafficPod],
    weights: Mapping[str, int],
    endpoints: Endpoints,
    *,
    sizes: Mapping[str, int],
    whole: bool = False,
) -> Shift:
    """Decide which labels move, by the weights of all releases that have any say in this cluster.

    `sizes` are how many pods each release is asked to have here. Those that nobody has seen yet count as well:
    otherwise a release whose pods are told of late would want no traffic, and have it all taken from the others.

    With `whole` every pod of a release with any weight receives traffic: how much of it is decided before it comes.

    Labels are given at once. They are taken only as far as enough pods are seen to serve: those that shall receive
    traffic in the end, of all releases together. A pod that is not ready gives up nothing by losing its label.
    """
    every = sorted(pods)
    total = sum(weights.values())
    of = {release: [pod for pod in every if pod.release == release] for release in weights}
    counts = {name: max(len(of[name]), sizes.get(name, 0)) for name in weights}
    if whole:
        targets = {name: counts[name] if weights[name] else 0 for name in weights}
    else:
        known = len(every) + sum(counts[name] - len(of[name]) for name in weights)
        targets = {name: pod_target(counts[name], weights[name], known, total) for name in weights}
    serving = {name: [pod for pod in of[name] if pod.enabled and pod.name in endpoints.ready] for name in weights}
    spare = max(0, sum(map(len, serving.values())) - sum(targets.values()))
    enable: list[Move] = []
    disable: list[Move] = []
    shares: dict[str, Share] = {}
    for name in sorted(weights):
        given, taken, kept = _moves(of[name], targets[name], endpoints, spare)
        spare -= sum(pod.name in endpoints.ready for pod in taken)
        enable += (Move(pod.name, TRAFFIC_ENABLED) for pod in given)
        disable += (Move(pod.name, TRAFFIC_DISABLED) for pod in taken)
        ready = sum(pod.name in endpoints.ready for pod in of[name])
        shares[name] = Share(
            target=targets[name],
            labelled=sum(pod.enabled for pod in of[name]),
            serving=len(serving[name]),
            ready=ready,
            unready=sum(pod.enabled and pod.name in endpoints.unready for pod in of[name]),
            achieved=achieved_traffic(ready, len(every), total),
            moving=len(given) + len(taken),
            kept=kept,
        )
    return Shift(tuple(enable), tuple(disable), shares)


def pod_target(pods: int, weight: int, every: int, total: int) -> int:
    """Return how many of a release's pods shall receive traffic: its share of all pods, rounded up, if it has them."""
    return min(pods, -(-every * weight // total)) if total else 0


def achieved_traffic(ready: int, every: int, total: int) -> int:
    """Return the weight that so many ready pods of all amount to, rounded to the nearest."""
    return (2 * ready * total + every) // (2 * every) if every else 0


def judged(share: Share) -> Verdict:
    """Say whether a release has its share of the traffic, or what is missing."""
    if share.ready == share.serving == share.target and not share.moving and not share.kept:
        return AS_WANTED
    if share.moving:
        return not_ready(IN_PROGRESS)
    if share.kept:
        return not_ready(IN_PROGRESS, f"{share.kept} pods keep receiving traffic until enough others are ready to")
    if share.ready > share.serving:
        return not_ready(IN_PROGRESS, f"{share.ready - share.serving} pods are yet to leave the endpoints")
    if share.unready:
        return not_ready(
            PODS_NOT_READY, f"{share.unready}/{share.labelled} pods designated to receive traffic are not ready"
        )
    if share.serving == share.labelled:
        return not_ready(IN_PROGRESS, f"{share.target - share.labelled}/{share.target} pods are not there yet")
    absent = f"{share.labelled - share.serving}/{share.labelled}"
    return not_ready(PODS_NOT_IN_ENDPOINTS, f"{absent} pods designated to receive traffic are not yet in endpoints")


def _moves(
    pods: Sequence[TrafficPod], target: int, endpoints: Endpoints, spare: int
) -> tuple[list[TrafficPod], list[TrafficPod], int]:
    """Return the pods that get the label, those that lose it, and how many would but have to keep it, lowest first."""
    enabled = [pod for pod in pods if pod.enabled]
    surplus = len(enabled) - target
    if surplus <= 0:
        return [pod for pod in pods if not pod.enabled][:-surplus], [], 0
    # Neither all releases together nor this one alone shall have fewer that serve than they are meant to.
    spare = min(spare, sum(pod.name in endpoints.ready for pod in enabled) - target)
    taken: list[TrafficPod] = []
    for pod in enabled:
        costs = pod.name in endpoints.ready
        if len(taken) < surplus and not (costs and spare <= 0):
            taken.append(pod)
            spare -= costs
    return [], taken, surplus - len(taken)
