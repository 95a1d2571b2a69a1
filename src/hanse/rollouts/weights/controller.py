"""Keeps one mixture for every name of an application whose releases share clients by weights, stored on the host.

An application is one key. What leads here is a change of its releases, of their weights, of their Services, and of the
addresses of these. Whoever leads clients reads the mixture as it reads the addresses of any Service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hanse.api.pieces import parse_piece
from hanse.api.service_addresses import BALANCER_ANNOTATION, LEAVING_ANNOTATION, MIXED_LABEL, SERVICE_ADDRESSES
from hanse.api.shipper.kinds import APP_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller, Terminal
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, is_deleting, key_of, labels_of, owner_reference, uid_of
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.weights.leaving import leaving_text, take_leave
from hanse.rollouts.weights.mixing import mix
from hanse.rollouts.weights.shares import (
    Name,
    ReleaseParts,
    Share,
    is_service,
    leads_by_weights,
    names_of,
    parts_of,
    share_of,
)

# The weights of two releases are set one after the other, and their addresses become ready one by one.
_GATHER_SECONDS = 0.1


class WeightsController:
    """Mixes the addresses of an application's releases by the weights of their TrafficTargets."""

    def __init__(self, host: Client, shelf: Shelf) -> None:
        self._host = host
        self._shelf = shelf
        self._addresses = Cache(host, SERVICE_ADDRESSES)
        # Whose each Service of a release is, and what was mixed for each application.
        self._applications: dict[Key, Key] = {}
        self._mixtures: dict[Key, set[Key]] = {}
        # Set with the first release that is led to by weights: before that nobody's addresses are of interest.
        self._needed = asyncio.Event()
        self._controller: Controller[Key] = Controller("weights", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled; the shelf must be filled."""
        self._shelf.releases.subscribe(self._note_release)
        await self._needed.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._addresses.run())
            await self._addresses.wait_synced()
            self._shelf.pieces.subscribe(self._note_piece)
            self._shelf.applications.subscribe(lambda change: self._soon(change.key))
            self._shelf.subscribe_releases(self._soon)
            self._addresses.subscribe(self._note_addresses)
            tasks.create_task(self._controller.run())

    # What leads here

    def _soon(self, application: Key) -> None:
        self._controller.queue.add_after(application, _GATHER_SECONDS)

    def _note_release(self, change: Change) -> None:
        if not self._needed.is_set() and change.new is not None and leads_by_weights(change.new):
            self._needed.set()

    def _note_piece(self, change: Change) -> None:
        for piece in (change.old, change.new):
            if piece is not None and is_service(piece):
                service = parse_piece(piece).key
                application = Key(change.key.namespace, labels_of(piece).get(APP_LABEL, ""))
                self._applications[service] = application
                if change.new_bytes is None:
                    del self._applications[service]
                self._soon(application)

    def _note_addresses(self, change: Change) -> None:
        for stored, act in ((change.old, set.discard), (change.new, set.add)):
            if stored is not None and MIXED_LABEL in labels_of(stored):
                mixed_for = Key(change.key.namespace, labels_of(stored).get(APP_LABEL, ""))
                mixed = self._mixtures.setdefault(mixed_for, set())
                act(mixed, change.key)
                if not mixed:
                    del self._mixtures[mixed_for]
                self._soon(mixed_for)
        application = self._applications.get(change.key)
        if application is not None:
            self._soon(application)

    # The paragraph: observe, decide, act

    async def _reconcile(self, key: Key) -> float | None:
        application = self._shelf.applications.get(key)
        every = [] if application is None or is_deleting(application) else self._parts(key)
        shares = [share_of(parts, self._addresses.get) for parts in every]
        names = names_of(every)
        await self._remove(key, names)
        waits = [await self._keep(application, name, shares) for name in names if application is not None]
        return min((wait for wait in waits if wait is not None), default=None)

    def _parts(self, application: Key) -> list[ReleaseParts]:
        releases = filter(leads_by_weights, self._shelf.releases_of(application))
        return [
            parts_of(release, self._shelf.traffics.get(key_of(release)), self._shelf.pieces_of(key_of(release)))
            for release in releases
        ]

    async def _keep(self, application: Obj, name: Name, shares: Sequence[Share]) -> float | None:
        """Write a mixture down where it is another; return when somebody who left will be gone for good."""
        stored = self._addresses.get(name.key)
        if stored is not None and MIXED_LABEL not in labels_of(stored):
            raise Terminal(
                f"ServiceAddresses {name.key} are those of another Service; give the Service of Application "
                f"{key_of(application)} another name"
            )
        spec = mix(shares, name, None if stored is None else stored["spec"])
        if spec is None:
            return None
        now = self._host.runtime.now()
        leaving = take_leave(stored, spec, now)
        annotations = {LEAVING_ANNOTATION: leaving_text(leaving), BALANCER_ANNOTATION: name.balancer}
        await self._store(application, name.key, spec, annotations)
        return min((until - now for until in leaving.values()), default=None)

    async def _store(self, application: Obj, key: Key, spec: Obj, annotations: dict[str, str | None]) -> None:
        stored = self._addresses.get(key)
        metadata: Obj = {"name": key.name, "namespace": key.namespace} if stored is None else dict(stored["metadata"])
        metadata["labels"] = {
            **metadata.get("labels", {}),
            MIXED_LABEL: "true",
            APP_LABEL: key_of(application).name,
        }
        kept = {name: each for name, each in annotations_of({"metadata": metadata}).items() if name not in annotations}
        metadata["annotations"] = kept | {name: each for name, each in annotations.items() if each is not None}
        metadata["ownerReferences"] = [owner_reference(application, controller=False)]
        kind = {"apiVersion": SERVICE_ADDRESSES.api_version, "kind": SERVICE_ADDRESSES.kind}
        wanted = {**kind, "metadata": metadata, "spec": spec}
        if stored is None:
            self._addresses.remember(await self._host.create(SERVICE_ADDRESSES, wanted))
        elif _said(stored) != _said(wanted):
            self._addresses.remember(await self._host.update(SERVICE_ADDRESSES, wanted), quietly=True)

    async def _remove(self, application: Key, names: Sequence[Name]) -> None:
        """Remove what was mixed for an application under names that it has no longer."""
        for key in sorted(self._mixtures.get(application, set()) - {name.key for name in names}):
            stored = self._addresses.get(key)
            try:
                if stored is not None:
                    await self._host.delete(SERVICE_ADDRESSES, key.name, key.namespace, uid=uid_of(stored))
            except NotFound:
                continue


def _said(mixture: Obj) -> tuple[object, ...]:
    metadata = mixture["metadata"]
    return (
        mixture["spec"],
        metadata.get("labels"),
        metadata.get("annotations") or {},
        metadata.get("ownerReferences"),
    )
