"""Giving a member the kinds of the multi-cluster services API, and Hanse's account the rights that they need."""

from __future__ import annotations

import asyncio

from hanse.api.mcs import MCS_CRDS, SERVICE_EXPORTS, SERVICE_IMPORTS, mcs_rules
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, MEMBER_LABEL, Account
from hanse.clusters.joining import owned_by_object
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS

_SERVED_SECONDS = 30.0
_PAUSE_SECONDS = 0.1


async def serves_mcs(member: Client) -> bool:
    """Tell whether a member serves the kinds, in the version that Hanse speaks."""
    try:
        await member.list(SERVICE_EXPORTS)
        await member.list(SERVICE_IMPORTS)
    except NotFound:
        return False
    return True


async def install_mcs(member: Client) -> None:
    """Define the kinds in a member and wait until they are served; raises Forbidden.

    Where somebody else has defined them, their word on them counts.
    """
    for crd in MCS_CRDS:
        try:
            await member.create(CRDS, crd)
        except AlreadyExists:
            continue
    async with asyncio.timeout(_SERVED_SECONDS):
        while not await serves_mcs(member):
            await member.runtime.sleep(_PAUSE_SECONDS)


def mcs_account_manifests(account: Account, role: Obj) -> list[Obj]:
    """Return the rights of Hanse's account in a member that takes part; they go with `role`, the account's own."""
    name = f"{account.role}:mcs"
    metadata = {
        "name": name,
        "labels": {MEMBER_LABEL: account.cluster},
        "ownerReferences": [owned_by_object(role, CLUSTER_ROLES)],
    }
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": SYSTEM_NAMESPACE}
    bound = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name}
    return [
        {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": metadata,
            "rules": mcs_rules(),
        },
        {
            "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
            "kind": CLUSTER_ROLE_BINDINGS.kind,
            "metadata": metadata,
            "roleRef": bound,
            "subjects": [subject],
        },
    ]
