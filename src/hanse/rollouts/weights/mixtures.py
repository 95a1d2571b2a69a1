"""Whose clients are led by weights, and the mixtures as the host stores them, for those who wait until it is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.service_addresses import MIXED_LABEL, SERVICE_ADDRESSES
from hanse.api.shipper.kinds import APP_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, labels_of, namespace_of
from hanse.rollouts.weights.shares import leads_by_weights


class Mixtures:
    """Follows what was mixed for applications, from when somebody wants to know."""

    def __init__(self, host: Client, releases: Cache, changed: Callable[[Key], None]) -> None:
        """`releases` are those of the host; `changed` hears the application."""
        self._cache = Cache(host, SERVICE_ADDRESSES, labels=f"{MIXED_LABEL}=true")
        self._changed = changed
        self._wanted = asyncio.Event()
        self._asked: set[Key] = set()
        self._keys: dict[Key, set[Key]] = {}
        self._releases: dict[Key, set[Key]] = {}
        releases.subscribe(self._note_release)

    async def run(self) -> None:
        """Follow the host until cancelled."""
        await self._wanted.wait()
        self._cache.subscribe(self._note)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cache.run())
            await self._cache.wait_synced()
            # Of an application without a mixture nothing else is heard.
            for application in sorted(self._asked):
                self._changed(application)
            self._asked.clear()

    def concerns(self, application: Key) -> bool:
        """Tell whether clients outside are led to an application's releases by weights."""
        return bool(self._releases.get(application))

    def of(self, application: Key) -> list[Obj] | None:
        """Return what was mixed for an application, in order of name; None while that is not known."""
        self._wanted.set()
        if not self._cache.synced:
            self._asked.add(application)
            return None
        found = (self._cache.get(key) for key in sorted(self._keys.get(application, ())))
        return [mixture for mixture in found if mixture is not None]

    def _note(self, change: Change) -> None:
        for mixture, act in ((change.old, set.discard), (change.new, set.add)):
            if mixture is not None:
                application = _application(mixture)
                act(self._keys.setdefault(application, set()), change.key)
                self._changed(application)

    def _note_release(self, change: Change) -> None:
        for release, act in ((change.old, set.discard), (change.new, set.add)):
            if release is not None and leads_by_weights(release):
                act(self._releases.setdefault(_application(release), set()), change.key)


def _application(obj: Obj) -> Key:
    return Key(namespace_of(obj), labels_of(obj).get(APP_LABEL, ""))
