"""Whose a source's name is in a target: a Lease there, which holds the identity of the cluster that came first.

What a source has in a target is marked with the source's name. Two sources of one name would take each other's objects
for their own leftovers; so the second is refused, and nothing is swept where the name is not known to be ours. The
Lease is in hanse-system; where a target is reached by credentials for one namespace only, it is in that namespace. It
stays when the target is taken away, since pods may be left there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, dig, uid_of
from hanse.kube.resources import LEASES, NAMESPACES
from hanse.kube.runtime import micro_timestamp

_LEASE_SECONDS = 40
# A target that answers its probes answers this.
_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a name is ours in a target; None where that cannot be told, and why."""

    ours: bool | None
    why: str = ""


class SourceIdentity:
    """What tells a source from every other: the uid of its kube-system namespace."""

    def __init__(self, client: Client | None) -> None:
        self._client = client
        self._uid = ""

    async def get(self) -> str:
        """Return it, "" where it cannot be told."""
        if not self._uid and self._client is not None:
            try:
                self._uid = uid_of(await self._client.get(NAMESPACES, "kube-system"))
            except (Forbidden, NotFound):
                return ""
        return self._uid


async def take_claim(client: Client, lease: Key, identity: str, *, found_namespace: bool = False) -> Claim:
    """Take a name in a target, or find out who has it; raises where the target gives no answer.

    With `found_namespace` the namespace of the Lease is made where there is none.
    """
    if not identity:
        return Claim(None, "the uid of the source's kube-system namespace cannot be read")
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            found = await _found_or_made(client, lease, identity, found_namespace=found_namespace)
    except (Forbidden, NotFound) as error:
        return Claim(None, f"Lease {lease} can be neither read nor made there: {error}")
    holder = dig(found, "spec", "holderIdentity", default="")
    if holder == identity:
        return Claim(True)
    return Claim(
        False,
        f"another source of the same name (its kube-system namespace has the uid {holder or 'unknown'}) sends pods "
        f"there; give one of the two another name, or delete Lease {lease} there if that one is no more",
    )


async def _found_or_made(client: Client, lease: Key, identity: str, *, found_namespace: bool) -> Obj:
    if (found := await client.find(LEASES, lease.name, lease.namespace)) is not None:
        return found
    if found_namespace and await client.find(NAMESPACES, lease.namespace) is None:
        await _make_namespace(client, lease.namespace)
    try:
        made = lease_manifest(lease, identity, micro_timestamp(client.runtime.now()))
        return await client.create(LEASES, made)
    except AlreadyExists:
        return await client.get(LEASES, lease.name, lease.namespace)


async def _make_namespace(client: Client, name: str) -> None:
    try:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(NAMESPACES, namespace)
    except AlreadyExists:
        return


def lease_manifest(lease: Key, identity: str, now: str) -> Obj:
    """Write the Lease of a source."""
    spec = {"holderIdentity": identity, "acquireTime": now, "renewTime": now, "leaseDurationSeconds": _LEASE_SECONDS}
    metadata = {"name": lease.name, "namespace": lease.namespace}
    return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
