"""The sign of life of a source in its targets, given only where somebody listens to it.

A keeper that runs inside a target stops pods whose source was silent for too long, and shows by a Lease of its own that
it does. Where there is none, nothing is written. No clock is compared with another's: a keeper's Lease that changes
between two looks is one that is renewed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hanse.clusters.member import Member, PullMember
from hanse.kube.errors import ApiError, Forbidden
from hanse.kube.manifest import dig, version_of
from hanse.kube.resources import LEASES
from hanse.kube.runtime import micro_timestamp
from hanse.kube.transport import Unreachable
from hanse.pods.chaperons.signs import KEEPER_LEASE, source_lease
from hanse.pods.targets.claims import take_claim

_RENEW_SECONDS = 10.0
# A keeper that was not heard for so long is not there any more.
_SILENT_SECONDS = 40.0
# Rights come by a person's hand, and nobody waits for this one.
_FORBIDDEN_SECONDS = 300.0


class Pulse:
    """Renews a source's Lease in every target whose keeper asks for it."""

    def __init__(self, source: str, identity: Callable[[], Awaitable[str]]) -> None:
        self._lease = source_lease(source)
        self._identity = identity

    async def serve(self, member: Member | PullMember) -> None:
        """Give signs of life in one target until cancelled; one that fetches its work has none to hear."""
        if isinstance(member, PullMember):
            return
        runtime = member.client.runtime
        version, heard = "", float("-inf")
        while True:
            pause = _RENEW_SECONDS
            try:
                keeper = await member.client.find(LEASES, KEEPER_LEASE.name, KEEPER_LEASE.namespace)
                if keeper is not None and version_of(keeper) != version:
                    version, heard = version_of(keeper), runtime.monotonic()
                if keeper is not None and runtime.monotonic() - heard < _SILENT_SECONDS:
                    await self._renew(member)
            except Forbidden:
                pause = _FORBIDDEN_SECONDS
            except (ApiError, Unreachable):
                # Silence is what a keeper is to hear of a source that does not reach it.
                pass
            await runtime.sleep(pause * runtime.uniform(0.9, 1.0))

    async def _renew(self, member: Member) -> None:
        client, identity = member.client, await self._identity()
        if not identity:
            return
        now = micro_timestamp(client.runtime.now())
        held = await client.find(LEASES, self._lease.name, self._lease.namespace)
        if held is None:
            await take_claim(client, self._lease, identity)
        elif dig(held, "spec", "holderIdentity") == identity:
            await client.patch(LEASES, self._lease.name, {"spec": {"renewTime": now}}, self._lease.namespace)
