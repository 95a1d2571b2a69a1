"""The Secrets that targets name, each followed by itself: nothing else of its namespace is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from hanse.clusters.credentials import decoded
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import SECRETS
from hanse.pods.targets.reading import Credentials


def endpoint_of(credentials: Credentials, secret: Obj | None) -> Endpoint:
    """Return where a target's kubeconfig leads; raises KubeconfigError with the sentence that says why nowhere."""
    where = f"secret {credentials.secret}, named by spec.kubeconfigSecret,"
    if secret is None:
        raise KubeconfigError(f"{where} does not exist")
    text = (secret.get("data") or {}).get(credentials.key)
    if not text:
        raise KubeconfigError(f"{where} has no key {credentials.key!r}; add it, or name another in its field key")
    return Kubeconfig.parse(decoded(text, where, credentials.key), source=where).endpoint(credentials.context)


class TargetSecrets:
    """Credentials as the source has them now."""

    def __init__(self, client: Client, changed: Callable[[Key], None]) -> None:
        """`changed` hears of every Secret that has become known, or is another than before."""
        self._client = client
        self._changed = changed
        self._caches: dict[Key, tuple[Cache, list[asyncio.Task[None]]]] = {}

    def follow(self, wanted: Collection[Key], tasks: asyncio.TaskGroup) -> None:
        """Follow exactly these Secrets from now on."""
        for key in self._caches.keys() - set(wanted):
            for task in self._caches.pop(key)[1]:
                task.cancel()
        for key in sorted(set(wanted) - self._caches.keys()):
            cache = Cache(self._client, SECRETS, namespace=key.namespace, fields=f"metadata.name={key.name}")
            cache.subscribe(lambda change: self._changed(change.key))
            running = [tasks.create_task(cache.run()), tasks.create_task(self._await(key, cache))]
            self._caches[key] = cache, running

    def knows(self, key: Key) -> bool:
        """Tell whether it has been seen what a Secret holds, or that there is none."""
        found = self._caches.get(key)
        return found is not None and found[0].synced

    def problem(self, key: Key) -> str:
        """Return why a Secret is not known yet, "" where nothing speaks against it."""
        found = self._caches.get(key)
        error = found[0].last_error if found is not None else None
        return f"secret {key}, named by spec.kubeconfigSecret, cannot be read: {error}" if error is not None else ""

    def get(self, key: Key) -> Obj | None:
        """Return a Secret that is known, None where there is none."""
        return self._caches[key][0].get(key)

    async def _await(self, key: Key, cache: Cache) -> None:
        await cache.wait_synced()
        self._changed(key)
