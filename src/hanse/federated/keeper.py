"""Keeping FederatedTypeConfigs: each says whether its type propagates, and stays while the engine holds its objects.

Without that an object whose type is no longer followed could never be deleted: its finalizer would wait for an engine
that does not look at it.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hanse.api.kubefed.forms import FORMS, Form
from hanse.api.kubefed.type_configs import parse_type_config
from hanse.api.names import FINALIZER
from hanse.federated.knowledge import TYPE_CONFIG_KINDS
from hanse.federated.types import needs_config
from hanse.kube.cache import Cache, Change, Handler
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, dig, finalizers_of, is_deleting, with_finalizer, without_finalizer
from hanse.kube.resources import Resource

TYPE_CONFIG_FINALIZER = "core.kubefed.io/federated-type-config"
_AGAIN_SECONDS = 1.0


class _Config(NamedTuple):
    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.group_resource}/{self.key}"


def type_status(config: Obj) -> Obj:
    """Return what a FederatedTypeConfig says of its controllers."""
    read = parse_type_config(config)
    running = read.propagates and not is_deleting(config)
    status: Obj = {
        "observedGeneration": dig(config, "metadata", "generation", default=0),
        "propagationController": "Running" if running else "NotRunning",
    }
    if read.collects_status:
        status["statusController"] = status["propagationController"]
    return status


class TypeKeeper:
    """Holds every FederatedTypeConfig until its type is let go, and keeps its status."""

    def __init__(self, host: Client, forms: tuple[Form, ...] = FORMS) -> None:
        """`forms` are those in which the host serves KubeFed's default types, which no config needs to name."""
        self._host = host
        self._forms = forms
        self._configs = {resource: Cache(host, resource) for resource in TYPE_CONFIG_KINDS}
        self._controller: Controller[_Config] = Controller("federated types", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for resource, cache in self._configs.items():
                cache.subscribe(self._following(resource))
                tasks.create_task(cache.run())
            tasks.create_task(self._controller.run())

    def _following(self, resource: Resource) -> Handler:
        def changed(change: Change) -> None:
            self._controller.queue.add(_Config(resource, change.key))

        return changed

    async def _reconcile(self, ref: _Config) -> float | None:
        config = self._configs[ref.resource].get(ref.key)
        if config is None or not isinstance(config.get("spec"), dict):
            return None
        if is_deleting(config):
            return await self._let_go(ref, config)
        config = await self._write(ref, with_finalizer(config, TYPE_CONFIG_FINALIZER), config)
        status = type_status(config)
        await self._write(ref, {**config, "status": status}, config, subresource="status")
        return None

    async def _let_go(self, ref: _Config, config: Obj) -> float | None:
        if TYPE_CONFIG_FINALIZER not in finalizers_of(config):
            return None
        if await self._is_held(config):
            await self._write(ref, {**config, "status": type_status(config)}, config, subresource="status")
            return _AGAIN_SECONDS
        await self._write(ref, without_finalizer(config, TYPE_CONFIG_FINALIZER), config)
        return None

    async def _is_held(self, config: Obj) -> bool:
        federated = parse_type_config(config).federated
        if not needs_config(federated, self._forms):
            return False
        try:
            listed = await self._host.list(federated)
        except NotFound:
            # A kind that the host no longer serves has no objects.
            return False
        return any(FINALIZER in finalizers_of(obj) for obj in listed.items)

    async def _write(self, ref: _Config, config: Obj, before: Obj, *, subresource: str = "") -> Obj:
        if config == before:
            return before
        try:
            written = await self._host.update(ref.resource, config, subresource=subresource)
        except NotFound:
            return before
        self._configs[ref.resource].remember(written)
        return written
