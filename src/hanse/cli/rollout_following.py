"""Following applications on the federation: what is stored of them is read again and again.

Reading twice a second costs an API server next to nothing, needs no right to watch, and outlives its restarts.
"""

from __future__ import annotations

from hanse.api.shipper.kinds import APP_LABEL, APPLICATIONS
from hanse.cli.rollout_finding import list_rollouts, rollouts_of
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.transport import Unreachable
from hanse.rollouts.reading import RolloutReading

_LOOK_SECONDS = 0.5
# For so long an API server may be away, as while it is restarted.
_AWAY_SECONDS = 30.0


class Followed:
    """Applications as they are now: one, all of a namespace, or without that all there are."""

    def __init__(self, host: Client, key: Key) -> None:
        self._host = host
        self._key = key
        self._last: list[RolloutReading] = []
        self._answered = host.runtime.monotonic()

    async def look(self) -> list[RolloutReading]:
        """Read what is stored now; raises Unreachable where nobody has answered for a while."""
        try:
            self._last = await self._read()
            self._answered = self._host.runtime.monotonic()
        except Unreachable:
            if self._host.runtime.monotonic() - self._answered > _AWAY_SECONDS:
                raise
        return self._last

    async def rest(self) -> None:
        """Wait until it is worth looking again."""
        await self._host.runtime.sleep(_LOOK_SECONDS)

    async def _read(self) -> list[RolloutReading]:
        key = self._key
        if not key.name:
            return await list_rollouts(self._host, key.namespace)
        found = await self._host.find(APPLICATIONS, key.name, key.namespace)
        if found is None:
            return []
        return await rollouts_of(self._host, [found], key.namespace, f"{APP_LABEL}={key.name}")
