"""Keeping authors stamped on every federated kind while kinds are enabled and disabled."""

from __future__ import annotations

import asyncio

from hanse.api.federated_kinds import FEDERATED_KINDS, parse_federated_kind
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.clusters.access_admission import install, wait_installed
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import Forbidden
from hanse.kube.log import Log
from hanse.kube.resources import Resource
from hanse.native.door import NativeDoor
from hanse.native.holding import held_at_birth
from hanse.propagation.door import keyed

log = Log("hanse")


async def stamp_authors(host: Client) -> bool:
    """Have whatever is federated here stamped with its author and held for the engine; False where that cannot be."""
    kinds = (await host.list(FEDERATED_KINDS)).items
    inputs = {PLACEMENT_POLICIES: [], CLUSTER_PLACEMENT_POLICIES: [], FEDERATED_KINDS: kinds}
    try:
        disabled = [each.resource for each in map(parse_federated_kind, kinds) if not each.enabled]
        return await install(host, NativeDoor().informed(keyed(inputs)).resources, held_at_birth(disabled))
    except Forbidden as error:
        log.warning("Whose objects these are cannot be stamped on them", why=str(error))
        return False


class Authorship:
    """Follows the enabled kinds; does nothing on a host where authors are not stamped."""

    def __init__(self, host: Client) -> None:
        self._host = host
        self._kinds = Cache(host, FEDERATED_KINDS)
        self._controller: Controller[Resource] = Controller("authorship", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled."""
        if not await wait_installed(self._host):
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._kinds.run())
            await self._kinds.wait_synced()
            self._kinds.subscribe(self._changed)
            tasks.create_task(self._controller.run())

    def _changed(self, change: Change) -> None:
        before, now = ((obj or {}).get("spec") for obj in (change.old, change.new))
        if before != now:
            self._controller.queue.add(FEDERATED_KINDS)

    async def _reconcile(self, _kinds: Resource) -> None:
        await stamp_authors(self._host)
