"""Joining a cluster: what is written to the host and into the member, and writing it.

The credentials go into a Secret of Hanse's own namespace; the Cluster object only points there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS, Address, cluster_manifest, parse_cluster
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.account import (
    FEDERATION_ANNOTATION,
    MEMBER_LABEL,
    RESOURCE_OF,
    SERVICE_ACCOUNT_ANNOTATION,
    Account,
    account_manifests,
)
from hanse.clusters.credentials import KUBECONFIG_KEY, encoded
from hanse.clusters.kubeconfigs import minified
from hanse.clusters.tokens import TOKEN_SECONDS, request_token
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    is_deleting,
    labels_of,
    name_of,
    owner_reference,
    uid_of,
    version_of,
)
from hanse.kube.resources import NAMESPACES, SECRETS, SERVICE_ACCOUNTS, Resource

_NAMESPACE_SECONDS = 60.0
_PAUSE_SECONDS = 0.25


class NotJoined(Exception):
    """The member is not free to join; the sentence says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a cluster is to be a member: its labels, further addresses, and the kinds that Hanse shall write there."""

    labels: dict[str, str]
    others: tuple[Address, ...] = ()
    kinds: tuple[Resource, ...] = ()
    token_seconds: int = TOKEN_SECONDS


def joining_manifests(
    name: str, endpoint: Endpoint, labels: dict[str, str], *, others: tuple[Address, ...] = (), account: str = ""
) -> list[Obj]:
    """Return what must exist on the host for a cluster to be a member: Namespace, Secret, Cluster.

    `account` is the member's service account to which the credentials belong, if Hanse has made it. Raises
    KubeconfigError for credentials that cannot travel: the control plane has neither the file nor the command.
    """
    if endpoint.token_file or endpoint.exec_plugin or endpoint.impersonation:
        raise KubeconfigError(
            f"the credentials for {endpoint.server} (a token file, a command or impersonation) only work on this "
            "machine; join with a client certificate or a token"
        )
    secret = Key(SYSTEM_NAMESPACE, f"cluster-{name}")
    metadata: Obj = {"name": secret.name, "namespace": secret.namespace}
    if account:
        metadata["annotations"] = {SERVICE_ACCOUNT_ANNOTATION: account}
    ca = encoded(endpoint.ca) if endpoint.ca else ""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": "Opaque",
            "data": {KUBECONFIG_KEY: encoded(minified(name, endpoint))},
        },
        cluster_manifest(name, server=endpoint.server, ca_bundle=ca, secret=secret, labels=labels, others=others),
    ]


def as_account(endpoint: Endpoint, token: str) -> Endpoint:
    """Return the same server with a service account's token as the only credential."""
    return Endpoint(
        server=endpoint.server,
        ca=endpoint.ca,
        insecure=endpoint.insecure,
        tls_server_name=endpoint.tls_server_name,
        proxy_url=endpoint.proxy_url,
        token=token,
    )


async def join(host: Client, manifests: list[Obj], *, relabel: bool = False) -> bool:
    """Write the manifests to the host; True if the cluster is new.

    Labels of a cluster that is there already are left as they are, unless `relabel` adds those of the manifest. The
    Secret belongs to the Cluster and goes with it.
    """
    namespace, secret, cluster = manifests
    try:
        await host.create(NAMESPACES, namespace)
    except AlreadyExists:
        pass
    if await host.find(CLUSTERS, name_of(cluster)) is None:
        # Nobody shall see a Cluster whose credentials are yet to come.
        await host.apply(SECRETS, secret)
    written, new = await write_cluster(host, cluster, relabel=relabel)
    owner = owned_by_object(written, CLUSTERS)
    await host.apply(SECRETS, {**secret, "metadata": {**secret["metadata"], "ownerReferences": [owner]}})
    return new


async def write_cluster(host: Client, cluster: Obj, *, relabel: bool = False) -> tuple[Obj, bool]:
    """Create a Cluster, or bring the spec of the one that is there up to date; what it has besides stays."""
    try:
        return await host.create(CLUSTERS, cluster), True
    except AlreadyExists:
        await _refuse_other_mode(host, cluster)
        patch: Obj = {"spec": cluster["spec"]}
        if relabel and labels_of(cluster):
            patch["metadata"] = {"labels": labels_of(cluster)}
        return await host.patch(CLUSTERS, name_of(cluster), patch), False


async def _refuse_other_mode(host: Client, cluster: Obj) -> None:
    known, wanted = parse_cluster(await host.get(CLUSTERS, name_of(cluster))), parse_cluster(cluster)
    if known.pull != wanted.pull:
        has = "fetches its work by an agent" if known.pull else "is reached by Hanse itself"
        raise NotJoined(
            f"cluster {known.name} is a member already and {has}; "
            f"`hanse unjoin {known.name} --keep` first, which leaves what it has in place"
        )


async def join_with_account(host: Client, member: Client, at: Endpoint, name: str, wish: Wish) -> bool:
    """Make a service account in the member, have it issue a token, and write what the host needs; True if it is new.

    `member` speaks as somebody who may do this; none of that power is kept. Raises NotJoined.
    """
    federation = uid_of(await host.get(NAMESPACES, "kube-system"))
    account = Account(name)
    await _refuse_others_account(member, account, federation)
    await make_account(member, account_manifests(account, federation, wish.kinds))
    token = await request_token(member, Key(SYSTEM_NAMESPACE, account.name), wish.token_seconds)
    manifests = joining_manifests(name, as_account(at, token), wish.labels, others=wish.others, account=account.path)
    return await join(host, manifests, relabel=True)


async def make_account(member: Client, manifests: Iterable[Obj]) -> None:
    """Write the account into the member, everything owned by the ClusterRole, which comes first."""
    role, *rest = manifests
    owner = owned_by_object(await member.apply(RESOURCE_OF["ClusterRole"], role), RESOURCE_OF["ClusterRole"])
    for obj in rest:
        if obj["kind"] == "Namespace":
            await _make_namespace(member, obj, owner)
            continue
        owned = {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}
        await member.apply(RESOURCE_OF[obj["kind"]], owned)


async def _make_namespace(member: Client, namespace: Obj, owner: Obj) -> None:
    """Create Hanse's namespace, or add an owner to it: it goes with the last of those who have joined by it.

    One that is there without Hanse's label is somebody's, perhaps the federation's own, and is only used.
    """
    name = name_of(namespace)
    owned = {**namespace, "metadata": {**namespace["metadata"], "ownerReferences": [owner]}}
    known = await settled(member, name)
    if known is None:
        await member.create(NAMESPACES, owned)
        return
    owners = dig(known, "metadata", "ownerReferences", default=[])
    if MEMBER_LABEL in labels_of(known) and all(entry["uid"] != owner["uid"] for entry in owners):
        metadata = {"ownerReferences": [*owners, owner], "resourceVersion": version_of(known)}
        await member.patch(NAMESPACES, name, {"metadata": metadata})


async def settled(member: Client, name: str) -> Obj | None:
    """Return a namespace once it is not on its way out: a cluster that has just left may join again at once."""
    runtime = member.runtime
    end = runtime.monotonic() + _NAMESPACE_SECONDS
    while (known := await member.find(NAMESPACES, name)) is not None and is_deleting(known):
        if runtime.monotonic() >= end:
            raise NotJoined(
                f"namespace {name} on {member.address} has been on its way out for {_NAMESPACE_SECONDS:g} s; "
                "see what keeps it in its status.conditions, and join again"
            )
        await runtime.sleep(_PAUSE_SECONDS)
    return known


async def _refuse_others_account(member: Client, account: Account, federation: str) -> None:
    known = await member.find(SERVICE_ACCOUNTS, account.name, SYSTEM_NAMESPACE)
    other = annotations_of(known).get(FEDERATION_ANNOTATION, federation) if known else federation
    if other != federation:
        raise NotJoined(
            f"another federation ({other}) has joined {member.address} under the name {account.cluster}; "
            "choose another NAME, or unjoin it there"
        )


async def already_another(host: Client, name: str, uid: str) -> str:
    """Return the address of another cluster that is a member under this name, "" where there is none."""
    obj = await host.find(CLUSTERS, name)
    if obj is None:
        return ""
    known = parse_cluster(obj)
    return known.server if known.uid and uid and known.uid != uid else ""


def owned_by_object(obj: Obj, resource: Resource) -> Obj:
    """Return the reference by which something goes with this object, and does not keep it from going."""
    owner = owner_reference({**obj, "apiVersion": resource.api_version, "kind": resource.kind}, controller=False)
    return {key: value for key, value in owner.items() if key not in ("blockOwnerDeletion", "controller")}
