"""The loop that says of every rollout block who overrides it, and takes overrides away with the block they name.

A ConfigMap of Hanse's own names all blocks. Admission reads in it whether an override names a block that exists; and
since it is written after the overrides of a deleted block are gone, it also tells which were deleted while nobody
looked.
"""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.shipper.kinds import APPLICATIONS, OVERRIDE_ANNOTATION, RELEASES, ROLLOUT_BLOCKS
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, dig, key_of, version_of
from hanse.kube.resources import CONFIGMAPS, Resource
from hanse.rollouts.blocks.standing import concerns, overrides_of
from hanse.rollouts.shelf import Shelf

# Names all rollout blocks, as namespace/name and comma-separated, under this key of its data.
LEDGER = Key(SYSTEM_NAMESPACE, "rollout-blocks")
LEDGER_KEY = "blocks"


def overriding(block: Key, objects: Iterable[Obj]) -> str:
    """Return which of some objects override a block, as its status has it: `namespace/name`, in order, with commas."""
    named = (obj for obj in objects if str(block) in overrides_of(obj) and concerns(block, key_of(obj).namespace))
    return ",".join(sorted(str(key_of(obj)) for obj in named))


def without(obj: Obj, gone: set[str]) -> str | None:
    """Return an object's overrides without those of blocks that are gone; None where it overrides none of them."""
    overrides = overrides_of(obj)
    return None if gone.isdisjoint(overrides) else ",".join(name for name in overrides if name not in gone)


class BlockController:
    """Keeps the status of rollout blocks, the list of them, and overrides that name those there are."""

    def __init__(self, host: Client, shelf: Shelf) -> None:
        self._host = host
        self._shelf = shelf
        self._controller: Controller[Key] = Controller("rollout-blocks", self._reconcile, host.runtime, workers=2)

    async def run(self) -> None:
        """Work until cancelled; the shelf is run by its owner."""
        await self._shelf.wait_synced()
        self._controller.queue.add(LEDGER)
        self._shelf.blocks.subscribe(self._block_changed)
        for cache in (self._shelf.applications, self._shelf.releases):
            cache.subscribe(self._overrides_changed)
        await self._controller.run()

    def _block_changed(self, change: Change) -> None:
        if change.old_bytes is None or change.new_bytes is None:
            self._controller.queue.add(LEDGER)
        if change.new_bytes is not None:
            self._controller.queue.add(change.key)

    def _overrides_changed(self, change: Change) -> None:
        before, after = (set(overrides_of(obj)) if obj is not None else set() for obj in (change.old, change.new))
        for named in before ^ after:
            self._controller.queue.add(Key(*_parts(named)))

    async def _reconcile(self, key: Key) -> None:
        if key == LEDGER:
            await self._keep_ledger()
        else:
            await self._report(key)

    async def _report(self, key: Key) -> None:
        block = self._shelf.blocks.get(key)
        if block is None:
            return
        overrides = {
            "application": overriding(key, self._shelf.applications.objects()),
            "release": overriding(key, self._shelf.releases.objects()),
        }
        if dig(block, "status", "overrides") == overrides:
            return
        status = {**(block.get("status") or {}), "overrides": overrides}
        written = await self._host.update(ROLLOUT_BLOCKS, {**block, "status": status}, subresource="status")
        self._shelf.blocks.remember(written)

    async def _keep_ledger(self) -> None:
        ledger = await self._host.find(CONFIGMAPS, LEDGER.name, LEDGER.namespace)
        listed = str(dig(ledger, "data", LEDGER_KEY, default=""))
        existing = [str(key) for key in self._shelf.blocks]
        if gone := {name for name in listed.split(",") if name}.difference(existing):
            await self._forget(gone, self._shelf.applications, APPLICATIONS)
            await self._forget(gone, self._shelf.releases, RELEASES)
        if ledger is None or listed != ",".join(existing):
            await self._write_ledger(ledger, ",".join(existing))

    async def _forget(self, gone: set[str], cache: Cache, resource: Resource) -> None:
        for obj in cache.objects():
            left = without(obj, gone)
            if left is None:
                continue
            metadata = {"resourceVersion": version_of(obj), "annotations": {OVERRIDE_ANNOTATION: left or None}}
            key = key_of(obj)
            try:
                cache.remember(await self._host.patch(resource, key.name, {"metadata": metadata}, key.namespace))
            except NotFound:
                continue

    async def _write_ledger(self, ledger: Obj | None, listed: str) -> None:
        made: Obj = {
            "apiVersion": CONFIGMAPS.api_version,
            "kind": CONFIGMAPS.kind,
            "metadata": ledger["metadata"] if ledger else {"name": LEDGER.name, "namespace": LEDGER.namespace},
            "data": {LEDGER_KEY: listed},
        }
        if ledger is not None:
            await self._host.update(CONFIGMAPS, made)
            return
        try:
            await self._host.create(CONFIGMAPS, made)
        except AlreadyExists:
            self._controller.queue.add(LEDGER)


def _parts(named: str) -> tuple[str, str]:
    namespace, _, name = named.partition("/")
    return namespace, name
