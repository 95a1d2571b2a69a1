"""The Secrets and ConfigMaps that hooks name, read from the cluster in which their controller acts.

A ConfigMap with code is followed for as long as its hook is open, and no other one is: the rights to read these by
their names are all that hooks need.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hanse.composite.hooks.calling import Hook, HookFailed, HookParts
from hanse.composite.hooks.opening import open_hook
from hanse.composite.spec import HookSpec
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import CONFIGMAPS, SECRETS, Resource


@dataclass(frozen=True, slots=True)
class _Followed:
    cache: Cache
    task: asyncio.Task[None]


class NamedObjects:
    """Reads what one hook names."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._followed: dict[Key, _Followed] = {}

    async def secret(self, namespace: str, name: str) -> Obj | None:
        """Return a Secret, None where there is none; raises HookFailed where it may not be read."""
        return await self._read(SECRETS, Key(namespace, name))

    async def config_map(self, namespace: str, name: str) -> Obj | None:
        """Return a ConfigMap, None where there is none; raises HookFailed where it may not be read."""
        key = Key(namespace, name)
        cache = self._following(key)
        if cache.synced and cache.connected:
            return cache.get(key)
        return await self._read(CONFIGMAPS, key)

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = [followed.task for followed in self._followed.values()]
        self._followed.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _following(self, key: Key) -> Cache:
        if key not in self._followed:
            cache = Cache(self._client, CONFIGMAPS, namespace=key.namespace, fields=f"metadata.name={key.name}")
            self._followed[key] = _Followed(cache, asyncio.create_task(cache.run()))
        return self._followed[key].cache

    async def _read(self, kind: Resource, key: Key) -> Obj | None:
        try:
            return await self._client.find(kind, key.name, key.namespace)
        except Forbidden as error:
            raise HookFailed(
                f"{kind.kind} {key} may not be read, and a hook names it; give Hanse the right to get it"
            ) from error


class _HookWithObjects:
    """A hook, and what it reads for as long as it is open."""

    def __init__(self, hook: Hook, objects: NamedObjects) -> None:
        self._hook = hook
        self._objects = objects

    async def call(self, body: Obj, root: Obj) -> Obj:
        return await self._hook.call(body, root)

    async def close(self) -> None:
        await self._hook.close()
        await self._objects.close()


async def open_reading_hook(
    spec: HookSpec, client: Client, *, trusted: bool = False, folders: tuple[str, ...] = ()
) -> Hook:
    """Open a hook that reads the Secrets and ConfigMaps that it names through a client; raises HookUnusable.

    What `trusted` and `folders` mean, `HookParts` says.
    """
    objects = NamedObjects(client)
    try:
        parts = HookParts(client.runtime, objects, trusted=trusted, folders=folders)
        return _HookWithObjects(await open_hook(spec, parts), objects)
    except BaseException:
        await objects.close()
        raise
