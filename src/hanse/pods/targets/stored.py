"""The Targets and ClusterTargets of a source as its API server has them, and their status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from hanse.api.admiralty.keys import TARGET_FINALIZER
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, finalizers_of, uid_of, version_of, with_finalizer, without_finalizer
from hanse.pods.targets.places import Place
from hanse.pods.targets.reading import Target, read_target

log = Log("hanse")


class StoredTargets:
    """Every target of a source by its name, read."""

    def __init__(self, client: Client, changed: Callable[[str], None]) -> None:
        """`changed` hears of targets that were made, taken away, or say something else than before."""
        self._client = client
        self._changed = changed
        self._namespaced, self._wide = Cache(client, TARGETS), Cache(client, CLUSTER_TARGETS)
        self._targets: dict[str, Target] = {}
        # By uid: targets that may not be held.
        self._unheld: set[str] = set()
        for cache in (self._namespaced, self._wide):
            cache.subscribe(self._take_in)

    async def run(self) -> None:
        """Follow them until cancelled; waits where they are not served."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._namespaced.run())
            tasks.create_task(self._wide.run())

    async def wait_synced(self) -> None:
        """Wait until every target has been seen."""
        await self._namespaced.wait_synced()
        await self._wide.wait_synced()

    def targets(self) -> Collection[Target]:
        """Return every target there is."""
        return self._targets.values()

    def target(self, name: str) -> Target | None:
        """Return the target that is written NAMESPACE/NAME, or NAME for a ClusterTarget; None where there is none."""
        return self._targets.get(name)

    def conditions(self, target: Target) -> list[Obj]:
        """Return what the status of exactly this target says."""
        found: list[Obj] = self._status(target).get("conditions") or []
        return found

    def place(self, target: Target) -> Place:
        """Return by what the cluster is known in which pods of this target may be; nothing before it was used."""
        return frozenset(self._status(target).get("place") or ())

    async def report(self, target: Target, conditions: list[Obj], place: Place) -> None:
        """Write what is new into the status of exactly this target."""
        status: Obj = {"conditions": conditions, **({"place": sorted(place)} if place else {})}
        known = self._status(target)
        if all(known.get(name) == value for name, value in status.items()):
            return
        cache, key = self._cache(target), _key(target)
        patch = {"metadata": {"uid": target.uid}, "status": status}
        try:
            written = await self._client.patch(cache.resource, key.name, patch, key.namespace, subresource="status")
        except NotFound:
            return
        cache.remember(written)

    async def hold(self, target: Target) -> None:
        """Have exactly this target stay, when somebody deletes it, until it is released; where that is allowed."""
        if target.uid in self._unheld:
            return
        try:
            await self._keep(target, with_finalizer)
        except Forbidden as error:
            self._unheld.add(target.uid)
            log.warning("A target is not drained when it is removed", target=str(target.name), why=str(error))

    async def release(self, target: Target) -> None:
        """Let exactly this target go."""
        await self._keep(target, without_finalizer)

    async def _keep(self, target: Target, change: Callable[[Obj, str], Obj]) -> None:
        cache, key = self._cache(target), _key(target)
        obj = cache.get(key)
        if obj is None or uid_of(obj) != target.uid:
            return
        finalizers = finalizers_of(change(obj, TARGET_FINALIZER))
        if finalizers == finalizers_of(obj):
            return
        # Nothing but what was read is changed: a list is replaced as a whole.
        metadata = {"uid": target.uid, "resourceVersion": version_of(obj), "finalizers": finalizers or None}
        try:
            written = await self._client.patch(cache.resource, key.name, {"metadata": metadata}, key.namespace)
        except NotFound:
            return
        if not target.leaving or finalizers:
            cache.remember(written)

    def _take_in(self, change: Change) -> None:
        name = str(TargetName(change.key.namespace, change.key.name))
        before, new = self._targets.get(name), change.new
        if new is None:
            self._targets.pop(name, None)
        else:
            self._targets[name] = read_target(new)
        if before != self._targets.get(name):
            self._changed(name)

    def _status(self, target: Target) -> Obj:
        obj = self._cache(target).get(_key(target))
        if obj is None or uid_of(obj) != target.uid:
            return {}
        found: Obj = obj.get("status") or {}
        return found

    def _cache(self, target: Target) -> Cache:
        return self._namespaced if target.name.namespace else self._wide


def _key(target: Target) -> Key:
    return Key(target.name.namespace, target.name.name)
