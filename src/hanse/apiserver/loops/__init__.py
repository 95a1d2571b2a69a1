"""The small loops that every cluster needs to be one: owners, namespaces, service accounts, quotas, custom kinds."""

from __future__ import annotations

from hanse.apiserver.core import Core
from hanse.apiserver.loops.aggregated_roles import AggregatedRoles
from hanse.apiserver.loops.custom_kinds import CustomKinds
from hanse.apiserver.loops.garbage import GarbageCollector
from hanse.apiserver.loops.namespaces import Namespaces
from hanse.apiserver.loops.quotas import Quotas
from hanse.apiserver.loops.token_secrets import TokenSecrets


class Loops:
    """All loops of one server; each is idle until a change concerns it."""

    def __init__(self, core: Core) -> None:
        self._loops = (
            CustomKinds(core),
            AggregatedRoles(core),
            Namespaces(core),
            GarbageCollector(core),
            TokenSecrets(core),
        )
        self._quotas = Quotas(core)

    async def start(self) -> None:
        """Take in what is stored, then follow changes."""
        for loop in self._loops:
            await loop.start()

    def count_quotas(self) -> None:
        """Have ResourceQuotas counted from now on."""
        self._quotas.start()

    async def stop(self) -> None:
        """Stop following."""
        for loop in (*self._loops, self._quotas):
            await loop.stop()
