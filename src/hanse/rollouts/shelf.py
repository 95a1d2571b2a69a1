"""The objects of all rollouts as the host has them: one cache a kind, shared by every controller of this room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.pieces import PIECES
from hanse.api.shipper.kinds import (
    APP_LABEL,
    APPLICATIONS,
    CAPACITY_TARGETS,
    GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
    RELEASES,
    ROLLOUT_BLOCKS,
    TRAFFIC_TARGETS,
)
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, annotations_of, labels_of, name_of

# Of more digits than any count has: Python itself refuses to read thousands of them.
_MOST_DIGITS = 18


class _Grouped:
    """The keys of one kind's objects by what a label of theirs says."""

    def __init__(self, cache: Cache, label: str) -> None:
        self._label = label
        self._keys: dict[Key, set[Key]] = {}
        cache.subscribe(self._note)

    def keys(self, group: Key) -> list[Key]:
        return sorted(self._keys.get(group, ()))

    def _note(self, change: Change) -> None:
        for obj, act in ((change.old, set.discard), (change.new, set.add)):
            if obj is None:
                continue
            group = Key(change.key.namespace, labels_of(obj).get(self._label, ""))
            keys = self._keys.setdefault(group, set())
            act(keys, change.key)
            if not keys:
                del self._keys[group]


class Shelf:
    """Finds what the host has of applications and their releases."""

    def __init__(self, host: Client) -> None:
        self.applications = Cache(host, APPLICATIONS)
        self.releases = Cache(host, RELEASES)
        self.installations = Cache(host, INSTALLATION_TARGETS)
        self.capacities = Cache(host, CAPACITY_TARGETS)
        self.traffics = Cache(host, TRAFFIC_TARGETS)
        self.blocks = Cache(host, ROLLOUT_BLOCKS)
        self.pieces = Cache(host, PIECES)
        self._releases = _Grouped(self.releases, APP_LABEL)
        self._pieces = _Grouped(self.pieces, RELEASE_LABEL)

    @property
    def caches(self) -> tuple[Cache, ...]:
        """One for every kind."""
        return (
            self.applications,
            self.releases,
            self.installations,
            self.capacities,
            self.traffics,
            self.blocks,
            self.pieces,
        )

    async def run(self) -> None:
        """Follow the host until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for cache in self.caches:
                tasks.create_task(cache.run())

    async def wait_synced(self) -> None:
        """Wait until everything was seen once."""
        for cache in self.caches:
            await cache.wait_synced()

    def releases_of(self, application: Key) -> list[Obj]:
        """Return an application's releases, the oldest generation first; one whose generation is no number is last."""
        found = [obj for key in self._releases.keys(application) if (obj := self.releases.get(key)) is not None]
        return sorted(found, key=lambda release: (_order(release), name_of(release)))

    def pieces_of(self, release: Key) -> list[Obj]:
        """Return what was rendered for a release, in order of name."""
        return [obj for key in self._pieces.keys(release) if (obj := self.pieces.get(key)) is not None]

    def subscribe_releases(self, listener: Callable[[Key], None]) -> None:
        """Call `listener` with the application of every release that changes, or one of whose targets does."""

        def heard(change: Change) -> None:
            for obj in (change.old, change.new):
                if obj is not None:
                    listener(Key(change.key.namespace, labels_of(obj).get(APP_LABEL, "")))

        for cache in (self.releases, self.installations, self.capacities, self.traffics):
            cache.subscribe(heard)


def generation_of(release: Obj) -> int | None:
    """Return a release's generation, None where its annotation is no number."""
    return whole_number(annotations_of(release).get(GENERATION_ANNOTATION, ""))


def whole_number(text: str) -> int | None:
    """Read a number out of an annotation, which anybody may have written; None where it is none that anybody counts."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _order(release: Obj) -> float:
    generation = generation_of(release)
    return float("inf") if generation is None else generation
