"""Leadership by Lease: at most one holder acts, and it stops before anybody else may start.

The holder renews in time or gives up: its work is cancelled when the last renewal is older than the renew deadline,
which is shorter than the lease that others wait for. A clock is compared only with itself: others count from the
moment at which *they* last saw the Lease change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, Conflict
from hanse.kube.manifest import Key, Obj, dig, version_of
from hanse.kube.resources import LEASES
from hanse.kube.runtime import micro_timestamp
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from hanse.kube.upgrades import Upgraded, upgrade_over


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a silent holder keeps others waiting, and how often it renews."""

    duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0

    @property
    def attempt_seconds(self) -> float:
        """How long one renewal may take: a busy server needs time, after a dead connection another needs some too."""
        return max(self.retry_seconds, self.renew_deadline_seconds / 3)


class Leadership:
    """One candidate for one Lease."""

    def __init__(
        self,
        client: Client,
        lease: Key,
        identity: str,
        terms: LeaseTerms | None = None,
        *,
        labels: dict[str, str] | None = None,
    ) -> None:
        """`labels` are given to a Lease that is not there yet, so that it can be found among others."""
        self._client = client
        self._labels = labels
        self._runtime = client.runtime
        self._lease = lease
        self._identity = identity
        self._terms = terms or LeaseTerms()
        self._seen_version = ""
        self._seen_at = 0.0
        self._held: Obj | None = None
        self._renewed_at: float | None = None

    @property
    def holds(self) -> bool:
        """Whether nobody else can be leading yet; asked before every write of a leader (see `Fenced`).

        It turns False by itself when renewals stop, also in a process that was itself stopped for a while.
        """
        return self._left() > 0.0

    def _left(self) -> float:
        """Return for how many seconds nobody else can be leading, if nothing happens."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._terms.renew_deadline_seconds - self._runtime.monotonic()

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, do the work while holding it, and give it back at the end.

        Returns when the work returns or when the Lease is lost; the work is cancelled first.
        """
        while not await self._try_acquire():
            await self._runtime.sleep(self._terms.retry_seconds * self._runtime.uniform(0.9, 1.1))
        task = asyncio.ensure_future(work())
        renewing = asyncio.ensure_future(self._renew_while_possible())
        try:
            await asyncio.wait({task, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            renewing.cancel()
            task.cancel()
            self._renewed_at = None
            results = await asyncio.gather(task, renewing, return_exceptions=True)
            await self._release()
        if isinstance(results[0], Exception):
            raise results[0]

    async def _renew_while_possible(self) -> None:
        while self.holds:
            await self._runtime.sleep(self._terms.retry_seconds)
            try:
                async with asyncio.timeout(min(self._terms.attempt_seconds, self._left())):
                    if not self.holds or not await self._write(self._held):
                        return
            except (ApiError, Unreachable, TimeoutError):
                continue

    async def _try_acquire(self) -> bool:
        try:
            current = await self._client.find(LEASES, self._lease.name, self._lease.namespace)
            if current is not None and not self._may_take(current):
                return False
            return await self._write(current)
        except (ApiError, Unreachable):
            return False

    def _may_take(self, current: Obj) -> bool:
        spec = current.get("spec") or {}
        if spec.get("holderIdentity") in (None, "", self._identity):
            return True
        if version_of(current) != self._seen_version:
            self._seen_version, self._seen_at = version_of(current), self._runtime.monotonic()
        waited = self._runtime.monotonic() - self._seen_at
        return waited >= float(spec.get("leaseDurationSeconds") or self._terms.duration_seconds)

    async def _write(self, current: Obj | None) -> bool:
        """Write ourselves as the holder on top of what we saw; False when somebody else was faster."""
        # Counted from before the request: others may count from the moment it was stored.
        asked_at = self._runtime.monotonic()
        now = micro_timestamp(self._runtime.now())
        before = (current or {}).get("spec") or {}
        ours = before.get("holderIdentity") == self._identity
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._terms.duration_seconds)),
            "acquireTime": before.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if ours or not current else 1),
        }
        try:
            self._held = await self._store(current, spec)
        except (Conflict, AlreadyExists):
            return await self._was_our_own(ours=ours)
        self._renewed_at = asked_at
        return True

    async def _was_our_own(self, *, ours: bool) -> bool:
        """After a conflict, see whether it was a renewal of ours whose answer got lost; then go on from there."""
        found = await self._client.find(LEASES, self._lease.name, self._lease.namespace) if ours else None
        if found is None or dig(found, "spec", "holderIdentity") != self._identity:
            return False
        self._held = found
        return True

    async def _store(self, current: Obj | None, spec: Obj) -> Obj:
        if current is not None:
            return await self._client.update(LEASES, {**current, "spec": spec})
        metadata: Obj = {"name": self._lease.name, "namespace": self._lease.namespace}
        if self._labels:
            metadata["labels"] = self._labels
        lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        return await self._client.create(LEASES, lease)

    async def _release(self) -> None:
        """Let the next one start at once; only if the Lease is still ours."""
        if self._held is None:
            return
        spec = {**self._held["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(self._terms.retry_seconds):
                await self._client.update(LEASES, {**self._held, "spec": spec})
        except (ApiError, Unreachable, TimeoutError):
            # It will expire by itself.
            return


class Deposed(Unreachable):
    """A write that was not sent, because the process that wanted it no longer leads."""


class Fenced:
    """A transport that lets a leader's writes pass only while it leads; reading is always allowed."""

    def __init__(self, inner: Transport, leadership: Leadership) -> None:
        self._inner = inner
        self._leadership = leadership

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        if request.method != "GET" and not self._leadership.holds:
            raise Deposed(self.address, "this process no longer leads, so it writes nothing")
        return await self._inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        return await self._inner.stream(request, timeout)

    async def upgrade(self, request: Request, timeout: float) -> Upgraded:
        """Open a connection that stops being HTTP: what people do with it is theirs, whoever leads."""
        return await upgrade_over(self._inner, request, timeout)

    async def close(self) -> None:
        await self._inner.close()
