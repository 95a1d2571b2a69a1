"""Opening and closing the door of a cluster for its lambda controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hanse.api.metacontroller.definitions import HOME, METACONTROLLER_CRDS
from hanse.api.metacontroller.kinds import COMPOSITES_DOOR
from hanse.cli.composite_parts import SOMEBODY_ELSES, obstacle
from hanse.cli.composite_releasing import held_parents, release_parents
from hanse.cli.composite_rights import NamedKind, composite_rights
from hanse.cli.connection import connected
from hanse.cli.defining import define
from hanse.cli.door_members import SignIn, identity_in, of_cluster, registered, require_cluster, signed_in
from hanse.cli.door_opening import mark
from hanse.cli.failures import Failure
from hanse.clusters.account import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    MEMBER_LABEL,
    RESOURCE_OF,
    ROLE_BINDINGS,
    ROLES,
    Account,
)
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS
from hanse.pods.installing.closing import delete_labelled
from hanse.pods.installing.rights import DOOR_LABEL

# Bindings first: nothing may be done any more from then on.
_RIGHTS_KINDS = (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, CLUSTER_ROLES, ROLES)


@dataclass(frozen=True, slots=True)
class CompositeWish:
    """What the command line asks for: the kinds that controllers may write, and where hooks may read."""

    cluster: str
    kinds: tuple[NamedKind, ...] = ()
    hook_namespaces: tuple[str, ...] = ()
    take_over: bool = False
    sign_in: SignIn = field(default_factory=SignIn)


@dataclass(frozen=True, slots=True)
class CompositeOpening:
    """What opens the door of a cluster, in the order in which it is written, and what has to be told of it."""

    manifests: tuple[Obj, ...]
    notes: tuple[str, ...] = ()


async def open_composites(host_at: Endpoint, wish: CompositeWish, *, writes: bool) -> CompositeOpening:
    """Open the door of a cluster, or only say what that would write; raises Failure."""
    async with connected(host_at) as host:
        cluster = require_cluster(wish.cluster, await registered(host), "--cluster")
        async with signed_in(host, [cluster], wish.sign_in) as members:
            member = members[cluster.name]
            with of_cluster(cluster.name):
                if not wish.take_over and await obstacle(member) == SOMEBODY_ELSES:
                    raise Failure(
                        "Metacontroller's definitions are there; stop Metacontroller, which would do everything twice, "
                        "and give --take-over"
                    )
                identity = await identity_in(host, member, cluster)
                opening = await _opening(member, wish, identity.role)
                if writes:
                    await _write(member, opening.manifests)
            if writes:
                await mark(host, cluster.name, is_open=True, door=COMPOSITES_DOOR)
            return opening


async def _opening(member: Client, wish: CompositeWish, role: Obj | None) -> CompositeOpening:
    if role is None:
        # Whoever gave Hanse their credentials has seen to its rights.
        return CompositeOpening((*METACONTROLLER_CRDS, HOME))
    served = {(kind.group, kind.plural) for kind in await member.discovery.resources()}
    missing = [kind for kind in wish.kinds if (kind.group, kind.plural) not in served]
    notes = [f"the cluster serves no {kind} yet; it may write them once it does" for kind in missing]
    if not wish.kinds:
        notes.append("without --kinds controllers may write nothing, except what ClusterRoles allow that you label")
    rights = composite_rights(Account(wish.cluster), role, wish.kinds, wish.hook_namespaces)
    return CompositeOpening((*METACONTROLLER_CRDS, HOME, *rights), tuple(notes))


async def _write(member: Client, manifests: Sequence[Obj]) -> None:
    await define(member, [each for each in manifests if each["kind"] == CRDS.kind])
    for each in manifests:
        if each["kind"] != CRDS.kind:
            await member.apply(RESOURCE_OF[each["kind"]], each)


async def close_composites(
    host_at: Endpoint, cluster: str, sign_in: SignIn, patience: float, agreed: Callable[[str], bool]
) -> list[str] | None:
    """Close the door of a cluster, and say what is so then; None where whoever was told what it means did not agree."""
    async with connected(host_at) as host:
        member_cluster = require_cluster(cluster, await registered(host), "--cluster")
        async with signed_in(host, [member_cluster], sign_in) as members:
            member = members[cluster]
            with of_cluster(cluster):
                held = await held_parents(member)
                if not agreed(_warning(cluster, len(held))):
                    return None
                await mark(host, cluster, is_open=False, door=COMPOSITES_DOOR)
                left = await release_parents(member, patience)
                if left:
                    raise Failure(f"{len(left)} parents could not be let go, run this again: {', '.join(left)}")
                await delete_labelled(member, _RIGHTS_KINDS, f"{DOOR_LABEL}={COMPOSITES_DOOR},{MEMBER_LABEL}={cluster}")
    lines = [f"no lambda controller of cluster {cluster} is run any more; the controllers, parents and children stay"]
    return lines + ([f"{len(held)} parents wait for no finalize hook any more"] if held else [])


def _warning(cluster: str, held: int) -> str:
    said = f"the lambda controllers of {cluster} are run no longer; parents and children stay as they are"
    if held:
        said += f"; {held} parents have a finalize hook, which is not called when they are deleted"
    return said
