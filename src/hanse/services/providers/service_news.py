"""Tells Services that a zone lacks a name of theirs, and when it no longer does.

Services whose names are all in place, which are nearly all of them, are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Mapping

from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Key, Obj, dig, key_of, version_of
from hanse.kube.resources import SERVICES
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Unreachable
from hanse.services.providers.reporting import ZONES_PUBLISHED, service_conditions

_AGAIN_SECONDS = 1.0


class ServiceNews:
    """Keeps the condition of Services about zones."""

    def __init__(self, host: Client) -> None:
        self._host = host
        self._troubles: dict[str, Mapping[Key, str]] = {}
        self._controller: Controller[Key] = Controller("services in zones", self._reconcile, host.runtime, workers=2)

    async def run(self) -> None:
        """Work until cancelled; what an earlier run has told is looked at again first."""
        for service in await self._services():
            if find_condition(dig(service, "status", "conditions"), ZONES_PUBLISHED) is not None:
                self._controller.queue.add(key_of(service))
        await self._controller.run()

    async def _services(self) -> list[Obj]:
        """Return all Services, asked for until the host answers."""
        while True:
            try:
                return (await self._host.list(SERVICES)).items
            except (ApiError, Unreachable):
                await self._host.runtime.sleep(_AGAIN_SECONDS)

    def tell(self, zone: str, troubles: Mapping[Key, str]) -> None:
        """Note which Services lack something in a zone; a zone that lacks nothing, or is gone, has no troubles."""
        before = self._troubles.pop(zone, {})
        if troubles:
            self._troubles[zone] = troubles
        for key in {*before, *troubles}:
            if before.get(key) != troubles.get(key):
                self._controller.queue.add(key)

    async def _reconcile(self, key: Key) -> None:
        service = await self._host.find(SERVICES, key.name, key.namespace)
        if service is None:
            return
        sentences = [told[key] for _, told in sorted(self._troubles.items()) if key in told]
        conditions = service_conditions(service, sentences, timestamp(self._host.runtime.now()))
        if conditions is not None:
            patch = {"metadata": {"resourceVersion": version_of(service)}, "status": {"conditions": conditions}}
            await self._host.patch(SERVICES, key.name, patch, key.namespace, subresource="status")
