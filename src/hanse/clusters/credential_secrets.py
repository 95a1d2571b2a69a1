"""The Secrets that Clusters point to, followed in those namespaces only that some Cluster names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import SECRETS


class CredentialSecrets:
    """Credentials as the host has them now, a namespace at a time."""

    def __init__(self, host: Client, changed: Callable[[Key], None], seen: Callable[[str], None]) -> None:
        self._host = host
        self._changed = changed
        self._seen = seen
        self._caches: dict[str, Cache] = {}

    def knows(self, namespace: str) -> bool:
        """Tell whether every Secret of a namespace has been seen."""
        cache = self._caches.get(namespace)
        return cache is not None and cache.synced

    def get(self, key: Key) -> Obj | None:
        """Return a Secret of a namespace that is known."""
        return self._caches[key.namespace].get(key)

    def follow(self, namespace: str, tasks: asyncio.TaskGroup) -> Cache:
        """Follow a namespace from now on; `seen` is called once all of it is known."""
        cache = self._caches.get(namespace)
        if cache is None:
            cache = self._caches[namespace] = Cache(self._host, SECRETS, namespace=namespace)
            cache.subscribe(self._tell)
            tasks.create_task(cache.run())
            tasks.create_task(self._await(namespace, cache))
        return cache

    async def _await(self, namespace: str, cache: Cache) -> None:
        await cache.wait_synced()
        self._seen(namespace)

    def _tell(self, change: Change) -> None:
        self._changed(change.key)
