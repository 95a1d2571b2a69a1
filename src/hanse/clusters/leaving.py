"""Leaving the federation: what a member still has of it, and taking that away in an order that survives a crash.

The Cluster is marked first: from then on the control plane leaves the member alone. It goes last, and its Secret with
it, so that whoever finds it half done has the credentials to finish.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, SYSTEM_NAMESPACE
from hanse.clusters.account import CLUSTER_ROLES, Account
from hanse.clusters.tokens import account_of
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Conflict, Forbidden, NotFound, Unauthorized
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    controller_of,
    finalizers_of,
    key_of,
    name_of,
    uid_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.resources import NAMESPACES, SECRETS, Resource

UNJOIN_FINALIZER = "hanse.dev/unjoin"
# What every namespace has without anybody's doing.
_FURNITURE = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
_FLEETING = {"Event", "Endpoints", "EndpointSlice", "Lease", "ControllerRevision"}
_PAUSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Copy:
    """An object that Hanse put into a member."""

    resource: Resource
    key: Key
    uid: str

    def __str__(self) -> str:
        return f"{self.resource.group_resource}/{self.key}"


async def readable_kinds(member: Client) -> list[Resource]:
    """Return every kind that can be listed and deleted, each in one version."""
    seen: dict[tuple[str, str], Resource] = {}
    for resource in await member.discovery.resources():
        if {"list", "delete"} <= resource.verbs and resource.kind not in _FLEETING:
            seen.setdefault((resource.group, resource.kind), resource)
    return list(seen.values())


async def find_copies(member: Client) -> list[Copy]:
    """Return what Hanse has put into a member, of every kind that it may read there; Namespaces come last."""

    async def of_kind(resource: Resource) -> list[Copy]:
        try:
            listed = await member.list(resource, labels=f"{MANAGED_LABEL}=true")
        except (Forbidden, NotFound):
            # What may not be read could not be written either.
            return []
        return [Copy(resource, key_of(obj), uid_of(obj)) for obj in listed.items if _is_copy(obj)]

    found = await asyncio.gather(*map(of_kind, await readable_kinds(member)))
    copies = [copy for some in found for copy in some]
    return sorted(copies, key=lambda copy: (copy.resource == NAMESPACES, str(copy)))


def counted(copies: Sequence[Copy]) -> str:
    """Say how many copies of which kinds there are: `3 (2 deployments.apps, 1 services)`."""
    kinds = Counter(copy.resource.group_resource for copy in copies)
    return f"{len(copies)} ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})"


async def mark_leaving(host: Client, cluster: Obj) -> None:
    """Make the control plane let go of a cluster; its object stays until `forget` is called."""
    if UNJOIN_FINALIZER not in finalizers_of(cluster):
        cluster = await host.update(CLUSTERS, with_finalizer(cluster, UNJOIN_FINALIZER))
    await host.delete(CLUSTERS, name_of(cluster), uid=uid_of(cluster))


async def forget(host: Client, name: str, secret: Obj | None) -> None:
    """Let the Cluster go, and the credentials that Hanse has made for it."""
    cluster = await host.find(CLUSTERS, name)
    if cluster is not None:
        await host.update(CLUSTERS, without_finalizer(cluster, UNJOIN_FINALIZER))
    if secret is not None and _made_by_join(secret, name):
        await _gone(host, SECRETS, key_of(secret), uid_of(secret))


async def delete_copies(member: Client, copies: Sequence[Copy], patience: float) -> list[str]:
    """Delete copies and wait for them to go; returns what remains, each with the reason.

    A Namespace in which somebody else has something stays: it is not Hanse's to empty.
    """
    staying: dict[Copy, str] = {}
    for copy in copies:
        if copy.resource == NAMESPACES and (others := await _others_in(member, copy.key.name)):
            staying[copy] = f"others have {others} in it"
            continue
        try:
            await _gone(member, copy.resource, copy.key, copy.uid)
        except ApiError as error:
            staying[copy] = str(error)

    async def all_gone() -> bool:
        left = set(await find_copies(member))
        return not any(copy in left and copy not in staying for copy in copies)

    if not await _until(member, all_gone, patience):
        left = set(await find_copies(member))
        staying |= {copy: "it is being deleted" for copy in copies if copy in left and copy not in staying}
    return [f"{copy} ({why})" for copy, why in staying.items()]


async def remove_account(member: Client, secret: Obj, name: str, patience: float) -> str:
    """Remove Hanse's account from a member, by its own rights; returns what may remain, "" where nothing does."""
    if account_of(secret) is None:
        return ""
    account = Account(name)
    try:
        await _gone(member, CLUSTER_ROLES, Key("", account.role))
    except ApiError as error:
        return f"the ClusterRole {account.role} and what belongs to it ({error})"

    async def unknown() -> bool:
        try:
            await member.get(CLUSTER_ROLES, account.role)
        except Unauthorized:
            return True
        except ApiError:
            return False
        return False

    if await _until(member, unknown, patience):
        return ""
    return f"the service account {account.path}, which the cluster's own garbage collector has yet to remove"


def _is_copy(obj: Obj) -> bool:
    return OWNER_ANNOTATION in annotations_of(obj)


def _made_by_join(secret: Obj, name: str) -> bool:
    return key_of(secret) == Key(SYSTEM_NAMESPACE, f"cluster-{name}")


async def _gone(client: Client, resource: Resource, key: Key, uid: str = "") -> None:
    try:
        await client.delete(resource, key.name, key.namespace, uid=uid)
    except (NotFound, Conflict):
        # Another object of that name is none of ours.
        pass


async def _others_in(member: Client, namespace: str) -> str:
    """Name something in a namespace that Hanse did not put there; "" where there is nothing."""
    for resource in await readable_kinds(member):
        if not resource.namespaced:
            continue
        try:
            listed = await member.list(resource, namespace)
        except (Forbidden, NotFound):
            continue
        for obj in listed.items:
            theirs = not _is_copy(obj) and controller_of(obj) is None
            if theirs and (obj["kind"], name_of(obj)) not in _FURNITURE:
                return f"{resource.group_resource}/{name_of(obj)}"
    return ""


async def _until(client: Client, holds: Callable[[], Awaitable[bool]], patience: float) -> bool:
    runtime = client.runtime
    end = runtime.monotonic() + patience
    while runtime.monotonic() < end:
        if await holds():
            return True
        await runtime.sleep(_PAUSE_SECONDS)
    return False
