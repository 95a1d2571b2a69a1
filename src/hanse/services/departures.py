"""Pods that shall leave a cluster, and the clients that are led away before they do.

A decision on a service looks here, so that DNS and balancers hear of a move before it is made. Nothing of this is
stored: a control plane that starts anew hears of the move again, and waits again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from hanse.kube.runtime import Runtime
from hanse.propagation.farewells import Pods
from hanse.propagation.intent import Ref
from hanse.services.presence import FederatedService

# Balancers have heard by then; resolvers that may keep an answer for longer have not.
DRAIN_SECONDS = 5.0
# What has left by now is seen in the number of endpoints.
_REMEMBERED_SECONDS = 300.0

Selector = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Move:
    since: float
    pods: Pods


class Departures:
    """Who shall leave which cluster, and since when that is known."""

    def __init__(
        self,
        runtime: Runtime,
        services: Callable[[str], Iterable[tuple[Selector, FederatedService]]],
        heard: Callable[[str], None],
    ) -> None:
        """`services` gives those of a namespace as they were decided on; `heard` looks at those of one again."""
        self._runtime = runtime
        self._services = services
        self._heard = heard
        self._moves: dict[tuple[Ref, str], _Move] = {}

    def part(self, workload: Ref, leaving: Mapping[str, Pods], staying: Collection[str]) -> Mapping[str, float]:
        """Take in a move of a workload's pods; see `Usher.part`."""
        now = self._runtime.monotonic()
        self._forget_old(now)
        news = [self._moves.pop((workload, cluster), None) for cluster in staying]
        waits: dict[str, float] = {}
        for cluster, pods in leaving.items():
            move = self._moves.get((workload, cluster))
            if move is None and self._is_awaited(workload.key.namespace, cluster, pods, leaving):
                move = self._moves[workload, cluster] = _Move(now, pods)
                news.append(move)
            if move is not None:
                waits[cluster] = max(0.0, move.since + DRAIN_SECONDS - now)
        if any(news):
            self._heard(workload.key.namespace)
        return waits

    def left(self, namespace: str, selector: Selector, backends: Mapping[str, int | None]) -> frozenset[str]:
        """Return the clusters that shall lose every pod that a service has there."""
        counts: dict[str, int] = {}
        for (workload, cluster), move in self._moves.items():
            if workload.key.namespace == namespace and _selects(selector, move.pods):
                counts[cluster] = counts.get(cluster, 0) + move.pods.available
        return frozenset(cluster for cluster, count in counts.items() if _is_all(count, backends.get(cluster)))

    def _is_awaited(self, namespace: str, cluster: str, pods: Pods, leaving: Collection[str]) -> bool:
        """Tell whether clients come to these pods, and have somewhere else to go."""
        for selector, service in self._services(namespace):
            live = {each.cluster: each.backends for each in service.serving}
            if cluster in live and _selects(selector, pods) and live.keys() - set(leaving):
                return True
        return False

    def _forget_old(self, now: float) -> None:
        for place in [place for place, move in self._moves.items() if now - move.since > _REMEMBERED_SECONDS]:
            del self._moves[place]


def _selects(selector: Selector, pods: Pods) -> bool:
    return bool(selector) and selector.items() <= dict(pods.labels).items()


def _is_all(leaving: int, backends: int | None) -> bool:
    return backends is None or backends <= leaving
