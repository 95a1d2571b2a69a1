"""Signs of life between a source and a keeper that runs inside the target, as Leases of the target.

The keeper renews one to say that it is there; a source that sees it renews one of its own. Renewals are counted by the
listener's own clock from the moment at which it saw them, so that clocks need not agree. A listener that has just
started has not heard anybody yet and counts from its start.
"""

from __future__ import annotations

import asyncio

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import LEASES
from hanse.kube.runtime import micro_timestamp
from hanse.kube.transport import Unreachable

# No source's Lease is called so, whatever the source is called.
KEEPER_LEASE = Key(SYSTEM_NAMESPACE, "pods.hanse.dev.keeper")
_FEDERATION_LEASE = "pods.hanse.dev"
_RENEW_SECONDS = 10.0
_DURATION_SECONDS = 40

log = Log("hanse")


def source_lease(source: str) -> Key:
    """Return the Lease by which a source shows a target's keeper that it is alive."""
    # The federation itself has no name, and a Lease's must not end with a hyphen.
    return Key(SYSTEM_NAMESPACE, f"{_FEDERATION_LEASE}-{source}" if source else _FEDERATION_LEASE)


class SourceSigns:
    """For how long each source has given no sign in this cluster."""

    def __init__(self, client: Client) -> None:
        self._runtime = client.runtime
        self._leases = Cache(client, LEASES, namespace=SYSTEM_NAMESPACE)
        self._leases.subscribe(self._changed)
        self._heard: dict[str, float] = {}
        self._started: float | None = None

    async def run(self) -> None:
        """Listen until cancelled; silence counts once the Leases are known."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leases.run())
            await self._leases.wait_synced()
            self._started = self._runtime.monotonic()

    def silent(self, source: str) -> float:
        """Return for how many seconds a source has given no sign."""
        now = self._runtime.monotonic()
        since = self._heard.get(source_lease(source).name, self._started)
        return 0.0 if since is None else now - since

    def _changed(self, change: Change) -> None:
        if change.new_bytes is None:
            # A Lease that is gone gives no further sign; what it last said still counts.
            return
        if change.old_bytes is None or _renewal(change.old) != _renewal(change.new):
            self._heard[change.key.name] = self._runtime.monotonic()


class Presence:
    """Shows that this cluster's chaperons have a keeper inside it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._runtime = client.runtime

    async def run(self) -> None:
        """Renew the Lease until cancelled; what stands in the way is said once and tried again."""
        said = ""
        while True:
            try:
                await self._client.apply(LEASES, self._lease())
                said = ""
            except (ApiError, Unreachable, TimeoutError) as error:
                if str(error) != said:
                    log.warning("The keeper cannot show that it is here", lease=str(KEEPER_LEASE), error=str(error))
                said = str(error)
            await self._runtime.sleep(_RENEW_SECONDS)

    def _lease(self) -> Obj:
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": KEEPER_LEASE.name, "namespace": KEEPER_LEASE.namespace},
            "spec": {
                "holderIdentity": "hanse",
                "leaseDurationSeconds": _DURATION_SECONDS,
                "renewTime": micro_timestamp(self._runtime.now()),
            },
        }


def _renewal(lease: Obj | None) -> object:
    return dig(lease, "spec", "renewTime"), dig(lease, "spec", "holderIdentity")
