"""The provisioner of a simulated cluster's disks: makes volumes for claims, and unmakes released ones.

It does what a CSI driver's provisioner does beside kube-controller-manager, so it serves a real cluster as well: it
acts on claims that were handed to it by annotation, and leaves the binding to others.
"""

from __future__ import annotations

from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import NODES
from hanse.simulator.scheduling.volume_filters import SELECTED_NODE, Storage, waits_for_consumer
from hanse.simulator.volumes.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from hanse.simulator.volumes.manifests import (
    PROVISIONER,
    WANTS_PROVISIONER,
    default_classes,
    is_ours,
    provisioned_volume,
)
from hanse.simulator.world import World

# Keys of three kinds share one queue; names of volumes and classes have no namespace.
_CLASSES = Key("", "storage classes of a new cluster")


class Provisioner:
    """Gives claims their volumes and takes back what was released."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("provisioner", self._reconcile)
        self._client = world.client
        self._claims = world.cache(CLAIMS)
        self._volumes = world.cache(VOLUMES)
        self._classes = world.cache(STORAGE_CLASSES)
        self._nodes = world.cache(NODES)
        self._events = EventRecorder(world.client, PROVISIONER)
        self._storage = Storage(self._claims.get, self._volumes.get, self._classes.get)
        self._claims.subscribe(lambda change: self.controller.queue.add(change.key))
        self._volumes.subscribe(lambda change: self.controller.queue.add(change.key))
        self.controller.queue.add(_CLASSES)

    async def _reconcile(self, key: Key) -> None:
        if key == _CLASSES:
            await self._create_classes()
        elif not key.namespace:
            await self._unmake_if_released(self._volumes.get(key))
        else:
            await self._provision_if_asked(self._claims.get(key))

    async def _create_classes(self) -> None:
        if len(self._classes):
            return
        for made in default_classes():
            try:
                await self._client.create(STORAGE_CLASSES, made)
            except AlreadyExists:
                continue

    async def _provision_if_asked(self, claim: Obj | None) -> None:
        if claim is None or is_deleting(claim) or dig(claim, "spec", "volumeName"):
            return
        said = annotations_of(claim)
        storage_class = self._classes.get(Key("", dig(claim, "spec", "storageClassName", default="")))
        if said.get(WANTS_PROVISIONER) != PROVISIONER or storage_class is None:
            return
        selected = said.get(SELECTED_NODE, "")
        if waits_for_consumer(claim, self._storage) and not selected:
            return
        node = self._nodes.get(Key("", selected)) if selected else None
        made = provisioned_volume(claim, storage_class, labels_of(node) if node else {})
        try:
            await self._client.create(VOLUMES, made)
        except AlreadyExists:
            # Made before, and on its way to being bound.
            return
        await self._events.record(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name_of(made)}")

    async def _unmake_if_released(self, volume: Obj | None) -> None:
        if volume is None or is_deleting(volume) or not is_ours(volume):
            return
        reclaimed = dig(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete"
        if reclaimed and dig(volume, "status", "phase") == "Released":
            try:
                await self._client.delete(VOLUMES, name_of(volume))
            except NotFound:
                return
