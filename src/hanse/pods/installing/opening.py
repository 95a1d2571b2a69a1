"""Opening the door of a source: everything that is written, place by place, in the order in which it can be."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.account import CLUSTER_ROLES, Account
from hanse.clusters.joining import owned_by_object
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Obj, dig, labels_of, name_of
from hanse.kube.resources import CRDS, DEPLOYMENTS, NAMESPACES
from hanse.pods.admission.policies import chaperon_policies
from hanse.pods.installing.admission_pod import ADMISSION, admission_account, admission_pods, admission_secret
from hanse.pods.installing.rights import TARGET_SIDE, host_rights, labelled, source_rights, target_rights
from hanse.pods.installing.targets import target_manifests
from hanse.pods.senders.rights import SENDER_LABEL, sender_roles

_SERVED = (TARGETS, CLUSTER_TARGETS, POD_CHAPERONS)
_SERVED_SECONDS = 30.0
_PAUSE_SECONDS = 0.1
_NAMESPACE: Obj = {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": SYSTEM_NAMESPACE}}


@dataclass(frozen=True, slots=True)
class Admission:
    """How the pods of a source are admitted: what calls the server, and the server itself where it runs there.

    `webhook` has the manifests that have the API server call it, the MutatingWebhookConfiguration first. Without an
    `image` the server runs somewhere else.
    """

    webhook: tuple[Obj, ...]
    secret: dict[str, str]
    image: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who Hanse is in a cluster: the ClusterRole of its account there, or the `users` as whom it signs in instead.

    Those have rights of their own; whoever gave Hanse their credentials has seen to that.
    """

    role: Obj | None = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """What opens the door of one source; `calling` is written last, once there is a server to be called."""

    source: str
    targets: Mapping[str, tuple[Obj, ...]]
    own: tuple[Obj, ...]
    host: tuple[Obj, ...]
    calling: tuple[Obj, ...] = ()


def opening(
    cluster: Obj,
    targets: Sequence[str],
    identities: Mapping[str, Identity],
    admission: Admission | None,
    *,
    allowed: Collection[str] = (),
    kept: Collection[str] = (),
) -> Opening:
    """Return what opens the door of a registered cluster to these targets.

    `identities` say who Hanse is in each of them. Without an `admission` the one that is there stays. `allowed` are
    further clusters that its pods may use, `kept` the names under which somebody else has a target.
    """
    source = str(cluster["metadata"]["name"])
    role = identities[source].role
    used = sorted({*targets, *allowed} - {source})
    return Opening(
        source=source,
        targets={name: _target(name, identities[name]) for name in targets if name != source},
        own=(
            # A source that is its own target runs pods for itself, too.
            *_target(source, identities[source]),
            *(source_rights(Account(source), role) if role is not None else ()),
            *(_server(source, admission, role) if admission is not None else ()),
            *target_manifests(source, [name for name in targets if name not in kept]),
        ),
        host=tuple(host_rights(source, used, cluster)),
        calling=_owned(admission.webhook, role) if admission is not None else (),
    )


def _target(name: str, identity: Identity) -> tuple[Obj, ...]:
    """Return what a cluster needs in which others' pods run."""
    rights = target_rights(Account(name), identity.role) if identity.role is not None else ()
    policies = [labelled(each, name, TARGET_SIDE) for each in chaperon_policies(identity.users)]
    return (*ADMIRALTY_CRDS, _NAMESPACE, *sender_roles(), *rights, *_owned(policies, identity.role))


def _server(source: str, admission: Admission, role: Obj | None) -> list[Obj]:
    owner = owned_by_object(role, CLUSTER_ROLES) if role is not None else None
    webhook = str(admission.webhook[0]["metadata"]["name"])
    return [
        *admission_account(source, webhook, owner),
        admission_secret(source, admission.secret, owner),
        *(admission_pods(source, admission.image, owner) if admission.image else ()),
    ]


def _owned(manifests: Sequence[Obj], role: Obj | None) -> tuple[Obj, ...]:
    """Return what has the API server call, to go with Hanse's account: a call that nobody answers refuses pods."""
    if role is None:
        return tuple(manifests)
    owner = owned_by_object(role, CLUSTER_ROLES)
    return tuple({**each, "metadata": {**each["metadata"], "ownerReferences": [owner]}} for each in manifests)


async def write_into(member: Client, manifests: Sequence[Obj]) -> None:
    """Write manifests in their order; definitions are served before anything of their kinds is written."""
    defined = [each for each in manifests if each["kind"] == CRDS.kind]
    for each in defined:
        await member.apply(CRDS, each)
    if defined:
        await _wait_served(member)
    for each in manifests:
        if each["kind"] == NAMESPACES.kind:
            try:
                await member.create(NAMESPACES, each)
            except AlreadyExists:
                continue
        elif each["kind"] != CRDS.kind and not await _is_others(member, each):
            await member.apply(await member.resource_of(each), each)


async def _is_others(member: Client, manifest: Obj) -> bool:
    """Tell whether a role of senders is somebody else's, Admiralty's own chart's say, whose word on it counts."""
    if SENDER_LABEL not in labels_of(manifest):
        return False
    found = await member.find(CLUSTER_ROLES, name_of(manifest))
    return found is not None and SENDER_LABEL not in labels_of(found)


async def wait_answering(member: Client, seconds: float) -> bool:
    """Wait until the admission server that runs in a source can be called; False where it takes longer."""
    runtime = member.runtime
    end = runtime.monotonic() + seconds
    while True:
        found = await member.find(DEPLOYMENTS, ADMISSION.name, ADMISSION.namespace)
        if found is None or dig(found, "status", "availableReplicas", default=0):
            return True
        if runtime.monotonic() >= end:
            return False
        await runtime.sleep(_PAUSE_SECONDS)


async def _wait_served(member: Client) -> None:
    async with asyncio.timeout(_SERVED_SECONDS):
        while not await _serves(member):
            await member.runtime.sleep(_PAUSE_SECONDS)
    member.discovery.forget()


async def _serves(member: Client) -> bool:
    try:
        for kind in _SERVED:
            await member.list(kind)
    except NotFound:
        return False
    return True
