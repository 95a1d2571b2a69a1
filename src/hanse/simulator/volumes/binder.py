"""Claims and volumes find each other, and neither goes while the other or a pod needs it.

This is the part that kube-controller-manager plays where it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hanse.kube.cache import Change
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, name_of
from hanse.kube.quantities import parse_quantity
from hanse.kube.resources import NODES, Resource
from hanse.simulator.pods import PodFacts
from hanse.simulator.scheduling.board import NodeOffer, claims_of
from hanse.simulator.scheduling.volume_filters import (
    NO_PROVISIONER,
    SELECTED_NODE,
    Storage,
    volume_fits,
    volume_reaches,
    waits_for_consumer,
)
from hanse.simulator.volumes.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from hanse.simulator.volumes.manifests import (
    BIND_COMPLETED,
    CLAIM_PROTECTION,
    VOLUME_PROTECTION,
    WANTS_PROVISIONER,
    bound_claim_status,
    claim_reference,
    is_default,
    volume_phase,
    without_finalizer,
)
from hanse.simulator.world import World
from hanse.simulator.writing import write, write_status


class VolumeBinder:
    """Binds claims to volumes, and lets go of what nobody uses any more."""

    def __init__(self, world: World) -> None:
        # One worker: two claims never reach for the same volume.
        self.controller = world.controller("volume-binder", self._reconcile, workers=1)
        self._client = world.client
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._claims = world.cache(CLAIMS)
        self._volumes = world.cache(VOLUMES)
        self._classes = world.cache(STORAGE_CLASSES)
        self._storage = Storage(self._claims.get, self._volumes.get, self._classes.get, self._volumes.objects)
        self._unbound: set[Key] = set()
        self._leaving: set[Key] = set()
        self._claims.subscribe(self._claim_changed)
        self._volumes.subscribe(self._volume_changed)
        self._classes.subscribe(lambda _change: self._look_again(self._unbound))
        self._pods.listen(self._pod_changed)

    def _claim_changed(self, change: Change) -> None:
        claim = change.new
        self._unbound.discard(change.key)
        self._leaving.discard(change.key)
        if claim is not None and is_deleting(claim):
            self._leaving.add(change.key)
        elif claim is not None and not dig(claim, "spec", "volumeName"):
            self._unbound.add(change.key)
        self.controller.queue.add(change.key)
        for version in (claim, change.old):
            if version is not None and (volume := dig(version, "spec", "volumeName")):
                self.controller.queue.add(Key("", volume))

    def _volume_changed(self, change: Change) -> None:
        self.controller.queue.add(change.key)
        volume = change.new or change.old
        reference: Obj | None = dig(volume, "spec", "claimRef")
        if reference:
            self.controller.queue.add(Key(reference["namespace"], reference["name"]))
        else:
            self._look_again(self._unbound)

    def _pod_changed(self, _old: PodFacts | None, new: PodFacts | None) -> None:
        if self._leaving and (new is None or new.finished):
            self._look_again(self._leaving)

    def _look_again(self, keys: set[Key]) -> None:
        for key in sorted(keys):
            self.controller.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        if key.namespace:
            claim = self._claims.get(key)
            if claim is not None:
                await self._settle_claim(claim)
        else:
            volume = self._volumes.get(key)
            if volume is not None:
                await self._settle_volume(volume)

    async def _settle_volume(self, volume: Obj) -> None:
        reference: Obj = dig(volume, "spec", "claimRef", default={})
        claim = self._claims.get(Key(reference["namespace"], reference["name"])) if reference else None
        phase = volume_phase(volume, claim)
        status = {**(volume.get("status") or {}), "phase": phase}
        left = without_finalizer(volume, VOLUME_PROTECTION)
        if left is not None and phase != "Bound":
            await self._drop_finalizer(VOLUMES, volume, left)
        else:
            await write_status(self._client, VOLUMES, volume, status)

    async def _settle_claim(self, claim: Obj) -> None:
        left = without_finalizer(claim, CLAIM_PROTECTION)
        if left is not None and not self._is_used(claim):
            await self._drop_finalizer(CLAIMS, claim, left)
        elif not is_deleting(claim):
            await self._bind(claim)

    async def _drop_finalizer(self, resource: Resource, obj: Obj, left: list[str]) -> None:
        try:
            await write(self._client, resource, obj, {"metadata": {"finalizers": left or None}})
        except NotFound:
            return

    def _is_used(self, claim: Obj) -> bool:
        key = key_of(claim)
        for facts in self._pods.in_namespace(key.namespace):
            pod = None if facts.finished else self._pods.cache.get(facts.key)
            if pod is not None and key.name in claims_of(pod["spec"]):
                return True
        return False

    async def _bind(self, claim: Obj) -> None:
        """Take the claim one step further: a class, a volume, or word to whoever makes volumes."""
        name = dig(claim, "spec", "volumeName", default="")
        if name:
            await self._tell_bound(claim, self._volumes.get(Key("", name)))
        elif dig(claim, "spec", "storageClassName") is None and (chosen := self._default_class()):
            await write(self._client, CLAIMS, claim, {"spec": {"storageClassName": chosen}})
        elif volume := next(self._candidates(claim), None):
            await self._join(claim, volume)
        elif self._wants_provisioning(claim):
            provisioner = self._class_of(claim).get("provisioner")
            if annotations_of(claim).get(WANTS_PROVISIONER) != provisioner:
                patch = {"metadata": {"annotations": {WANTS_PROVISIONER: provisioner}}}
                await write(self._client, CLAIMS, claim, patch)
        else:
            await write_status(self._client, CLAIMS, claim, {**(claim.get("status") or {}), "phase": "Pending"})

    def _class_of(self, claim: Obj) -> Obj:
        return self._classes.get(Key("", dig(claim, "spec", "storageClassName", default=""))) or {}

    def _default_class(self) -> str:
        return next((name_of(entry) for entry in self._classes.objects() if is_default(entry)), "")

    def _candidates(self, claim: Obj) -> Iterator[Obj]:
        """Yield the volumes that a claim can have, those that were made or kept for it first, then the smallest."""
        selected = annotations_of(claim).get(SELECTED_NODE, "")
        waits = waits_for_consumer(claim, self._storage)
        node = self._nodes.get(Key("", selected)) if selected else None
        fitting = [volume for volume in self._volumes.objects() if volume_fits(volume, claim)]
        for volume in sorted(fitting, key=_preference):
            kept = dig(volume, "spec", "claimRef") is not None
            if kept or not waits or (node is not None and volume_reaches(volume, NodeOffer.of(node))):
                yield volume

    def _wants_provisioning(self, claim: Obj) -> bool:
        found = self._class_of(claim)
        if found.get("provisioner", NO_PROVISIONER) == NO_PROVISIONER:
            return False
        return not waits_for_consumer(claim, self._storage) or SELECTED_NODE in annotations_of(claim)

    async def _join(self, claim: Obj, volume: Obj) -> None:
        """Have both name each other, the volume first: then nobody else can take it."""
        reference: Obj = dig(volume, "spec", "claimRef", default={})
        if not reference.get("uid"):
            await write(self._client, VOLUMES, volume, {"spec": {"claimRef": claim_reference(claim)}})
        patch = {
            "metadata": {"annotations": {BIND_COMPLETED: "yes"}},
            "spec": {"volumeName": name_of(volume)},
        }
        await write(self._client, CLAIMS, claim, patch)

    async def _tell_bound(self, claim: Obj, volume: Obj | None) -> None:
        if volume is None:
            known = (claim.get("status") or {}).get("phase") == "Bound"
            status = {**(claim.get("status") or {}), "phase": "Lost" if known else "Pending"}
        else:
            reference: Obj = dig(volume, "spec", "claimRef", default={})
            if not reference and volume_fits(volume, claim):
                # The user named the volume: it is kept for the claim from now on.
                await write(self._client, VOLUMES, volume, {"spec": {"claimRef": claim_reference(claim)}})
            elif reference.get("uid") not in (None, claim["metadata"]["uid"]):
                return
            status = bound_claim_status(claim, volume)
        await write_status(self._client, CLAIMS, claim, status)


def _preference(volume: Obj) -> tuple[bool, Decimal, str]:
    size = parse_quantity(dig(volume, "spec", "capacity", "storage", default="0"))
    return dig(volume, "spec", "claimRef") is None, size, name_of(volume)
