"""How many endpoints of each federated Service are ready in each cluster.

EndpointSlices carry the labels of their Service, so that only those of federated ones are followed, and of these only a
number is kept. Nothing is followed before somebody wants to know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.names import MANAGED_LABEL
from hanse.clusters.member import Member, PullMember
from hanse.kube.cache import Cache, Change
from hanse.kube.manifest import Key, Obj, labels_of
from hanse.kube.resources import ENDPOINT_SLICES
from hanse.kube.runtime import Runtime

_SERVICE_NAME = "kubernetes.io/service-name"
# One that cannot be asked, or may not, is judged by its addresses alone.
_PATIENCE_SECONDS = 3.0
_READY, _FAMILY, _SERVICE = "ready", "family", "service"


class _Post:
    """What one cluster told: the ready endpoints of each slice of a Service, by address family."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.slices: dict[Key, dict[str, tuple[str, int]]] = {}

    def take(self, change: Change) -> Key | None:
        """Take in a slice; returns the Service whose number is another now."""
        before, after = change.old, change.new
        known = after or before
        if known is None or not known[_SERVICE]:
            return None
        service = Key(change.key.namespace, known[_SERVICE])
        counted = self.count(service)
        slices = self.slices.setdefault(service, {})
        if after is None:
            slices.pop(change.key.name, None)
        else:
            slices[change.key.name] = (after[_FAMILY], after[_READY])
        if not slices:
            del self.slices[service]
        return service if self.count(service) != counted else None

    def count(self, service: Key) -> int:
        """Return how many endpoints are ready; one that has addresses of two families is in two slices."""
        by_family: dict[str, int] = {}
        for family, ready in self.slices.get(service, {}).values():
            by_family[family] = by_family.get(family, 0) + ready
        return max(by_family.values(), default=0)


class ReadyEndpoints:
    """Counts ready endpoints; `changed` hears of a Service whose number changed in some cluster."""

    def __init__(self, runtime: Runtime, changed: Callable[[Key], None], counted: Callable[[], None]) -> None:
        """`counted` hears when a cluster has told all of its numbers."""
        self._runtime = runtime
        self._changed = changed
        self._counted = counted
        self._posts: dict[str, _Post] = {}
        # Until when a cluster may take to tell its numbers before it is done without them.
        self._awaited: dict[str, float] = {}
        self._wanted = asyncio.Event()

    def want(self) -> None:
        """Begin to follow every member, now and those to come."""
        if not self._wanted.is_set():
            self._wanted.set()
            self._awaited = dict.fromkeys(self._awaited, self._runtime.monotonic() + _PATIENCE_SECONDS)

    def awaits(self, cluster: str) -> bool:
        """Tell whether a cluster will tell its numbers in a moment; what they are is no use guessing."""
        return self._runtime.monotonic() < self._awaited.get(cluster, 0.0)

    def count(self, cluster: str, service: Key) -> int | None:
        """Return how many endpoints a Service has ready in a cluster, None where that has not been told."""
        post = self._posts.get(cluster)
        return post.count(service) if post is not None and post.cache.synced else None

    async def serve(self, member: Member | PullMember) -> None:
        """Follow one member's endpoints until cancelled; one that fetches its work tells nothing of them."""
        if isinstance(member, PullMember):
            await asyncio.Event().wait()
            return
        self._awaited[member.name] = self._runtime.monotonic() + _PATIENCE_SECONDS
        await self._wanted.wait()
        cache = Cache(member.client, ENDPOINT_SLICES, labels=f"{MANAGED_LABEL}=true", project=_projected)
        post = self._posts[member.name] = _Post(cache)
        cache.subscribe(lambda change: self._take(post, change))
        cache.on_connected(lambda _following: self._told(member.name))
        try:
            await cache.run()
        finally:
            if self._posts.get(member.name) is post:
                del self._posts[member.name]
                self._awaited.pop(member.name, None)

    def _told(self, cluster: str) -> None:
        self._awaited.pop(cluster, None)
        self._counted()

    def _take(self, post: _Post, change: Change) -> None:
        service = post.take(change)
        if service is not None:
            self._changed(service)


def ready_in(endpoint_slice: Obj) -> int:
    """Return how many endpoints of a slice are ready; one that does not say is, as the API has it."""
    conditions = (endpoint.get("conditions") or {} for endpoint in endpoint_slice.get("endpoints") or ())
    return sum(each.get("ready") is not False for each in conditions)


def _projected(endpoint_slice: Obj) -> Obj:
    metadata = endpoint_slice["metadata"]
    return {
        "metadata": {name: metadata[name] for name in ("name", "namespace", "resourceVersion") if name in metadata},
        _SERVICE: labels_of(endpoint_slice).get(_SERVICE_NAME, ""),
        _FAMILY: endpoint_slice.get("addressType") or "",
        _READY: ready_in(endpoint_slice),
    }
