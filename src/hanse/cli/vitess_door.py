"""Opening and closing the door of a cluster for its VitessClusters, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from hanse.api.planetscale.definitions import PLANETSCALE_CRDS, PRIORITY_CLASSES, VITESS_PRIORITY_CLASS
from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_DOOR
from hanse.cli.composite_parts import keeps_conditions
from hanse.cli.connection import connected
from hanse.cli.defining import define
from hanse.cli.door_members import SignIn, identity_in, of_cluster, registered, require_cluster, signed_in
from hanse.cli.door_opening import mark
from hanse.cli.failures import Failure, one_sentence
from hanse.cli.output import show_documents
from hanse.cli.running import run
from hanse.cli.vitess_rights import vitess_rights
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, MEMBER_LABEL, RESOURCE_OF, Account
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS
from hanse.pods.installing.closing import delete_labelled
from hanse.pods.installing.rights import DOOR_LABEL


@dataclass(frozen=True, slots=True)
class VitessWish:
    """What the command line asks for."""

    cluster: str
    take_over: bool = False
    sign_in: SignIn = field(default_factory=SignIn)


async def open_vitess(host_at: Endpoint, wish: VitessWish, *, writes: bool) -> tuple[Obj, ...]:
    """Open the door of a cluster, or only say what that would write; raises Failure."""
    async with connected(host_at) as host:
        cluster = require_cluster(wish.cluster, await registered(host), "--cluster")
        async with signed_in(host, [cluster], wish.sign_in) as members:
            member = members[cluster.name]
            with of_cluster(cluster.name):
                if not wish.take_over:
                    await _require_ours(member)
                identity = await identity_in(host, member, cluster)
                rights = [] if identity.role is None else vitess_rights(Account(wish.cluster), identity.role)
                manifests = (*PLANETSCALE_CRDS, VITESS_PRIORITY_CLASS, *rights)
                if writes:
                    await define(member, list(PLANETSCALE_CRDS))
                    await member.apply(PRIORITY_CLASSES, VITESS_PRIORITY_CLASS)
                    for each in rights:
                        await member.apply(RESOURCE_OF[each["kind"]], each)
            if writes:
                await mark(host, cluster.name, is_open=True, door=VITESS_DOOR)
            return manifests


async def _require_ours(member: Client) -> None:
    found = await member.find(CRDS, VITESS_CLUSTERS.group_resource)
    if found is not None and not keeps_conditions(found):
        raise Failure(
            "another Vitess operator's definitions are there; stop that operator, which would do everything twice, and "
            "give --take-over"
        )


async def close_vitess(host_at: Endpoint, cluster: str, sign_in: SignIn, agreed: Callable[[str], bool]) -> bool:
    """Close the door of a cluster; says whether whoever was told what it means did agree."""
    async with connected(host_at) as host:
        member_cluster = require_cluster(cluster, await registered(host), "--cluster")
        async with signed_in(host, [member_cluster], sign_in) as members:
            with of_cluster(cluster):
                said = (
                    f"the VitessClusters of {cluster} are looked after no longer: their pods run on, and nobody "
                    "restarts, drains or backs them up"
                )
                if not agreed(said):
                    return False
                await mark(host, cluster, is_open=False, door=VITESS_DOOR)
                labels = f"{DOOR_LABEL}={VITESS_DOOR},{MEMBER_LABEL}={cluster}"
                await delete_labelled(members[cluster], (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES), labels)
    return True


def enable_vitess(find: Callable[[], Endpoint], wish: VitessWish, rehearsed_as: str) -> None:
    """Open the door of a cluster and say so; `rehearsed_as` yaml or json, only print what would be written there."""
    with one_sentence():
        endpoint = find()
        manifests = run(lambda: open_vitess(endpoint, wish, writes=not rehearsed_as))
    if rehearsed_as == "json":
        click.echo(json.dumps({f"in the cluster {wish.cluster}": list(manifests)}, indent=2))
    elif rehearsed_as:
        show_documents(manifests)
    else:
        click.echo(f"the VitessClusters of cluster {wish.cluster} are run; create one there")


def disable_vitess(endpoint: Endpoint, cluster: str, sign_in: SignIn, agreed: Callable[[str], bool]) -> None:
    """Close the door of a cluster and say what is so then; raises Failure."""
    if not run(lambda: close_vitess(endpoint, cluster, sign_in, agreed)):
        raise Failure("nothing was changed")
    click.echo(f"no VitessCluster of cluster {cluster} is looked after any more; everything that there is stays")
