"""Which checkers are there: those that renew their Leases while we watch.

Nobody's clock is compared with another's: a Lease that changes is a sign of life, and silence counts from the last one.
A checker that is cut off from the host falls silent by that, and its last word counts no longer. While the host itself
cannot be heard, nothing is known, and nobody falls silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.health_reports import CHECKER_LABEL, checker_of
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.leases import LeaseTerms
from hanse.kube.manifest import Key, dig
from hanse.kube.resources import LEASES

# A checker renews so often that two renewals may be lost before it counts as silent.
CHECKER_TERMS = LeaseTerms(duration_seconds=8.0, renew_deadline_seconds=5.0, retry_seconds=2.0)
SILENCE_SECONDS = 7.0
_LOOK_SECONDS = 1.0


class Attendance:
    """Listens to the Leases of all checkers."""

    def __init__(self, host: Client) -> None:
        self._runtime = host.runtime
        self._leases = Cache(host, LEASES, labels=CHECKER_LABEL)
        self._heard: dict[Key, float] = {}
        self._present: frozenset[Key] = frozenset()
        self._listeners: list[Callable[[], None]] = []
        self._settled = asyncio.Event()
        self._leases.subscribe(self._lease_changed)
        self._leases.on_connected(self._host_heard)

    async def run(self) -> None:
        """Listen until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leases.run())
            await self._leases.wait_synced()
            tasks.create_task(self._settle())
            while True:
                await self._runtime.sleep(_LOOK_SECONDS)
                self._look()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a checker has come or fallen silent, and once when all of them could be heard."""
        self._listeners.append(listener)

    @property
    def present(self) -> frozenset[Key]:
        """The Leases of the checkers that are there."""
        return self._present

    def known(self, lease: Key) -> bool:
        """Tell whether a checker has a Lease at all; one that has none will not come back."""
        return not self._leases.synced or lease in self._leases

    @property
    def settled(self) -> bool:
        """Whether every checker that is there has had the time to be heard."""
        return self._settled.is_set()

    async def wait_settled(self) -> None:
        """Wait until every checker that is there has had the time to be heard."""
        await self._settled.wait()

    async def _settle(self) -> None:
        await self._runtime.sleep(CHECKER_TERMS.retry_seconds + _LOOK_SECONDS)
        self._look()
        self._settled.set()
        self._tell()

    def _lease_changed(self, change: Change) -> None:
        if not checker_of(change.key):
            return
        held = change.new is not None and bool(dig(change.new, "spec", "holderIdentity"))
        if not held:
            self._heard.pop(change.key, None)
        # When a Lease that we see for the first time was last renewed is not known; its next renewal will tell.
        elif change.old is not None or self._leases.connected:
            self._heard[change.key] = self._runtime.monotonic()
        self._look()

    def _host_heard(self, heard: bool) -> None:
        if heard:
            now = self._runtime.monotonic()
            self._heard.update(dict.fromkeys(self._present, now))

    def _look(self) -> None:
        if not self._leases.connected:
            return
        now = self._runtime.monotonic()
        present = frozenset(lease for lease, at in self._heard.items() if now - at < SILENCE_SECONDS)
        if present != self._present:
            self._present = present
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
