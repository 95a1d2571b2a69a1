"""Closing the door of a cluster, so that nothing in it waits for somebody who is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.admiralty.keys import PARENT_CLUSTER, PODS_DOOR
from hanse.api.admiralty.kinds import CLUSTER_TARGETS
from hanse.api.clusters import Cluster, parse_cluster
from hanse.api.plain_kinds import DISRUPTION_BUDGETS
from hanse.cli.connection import connected
from hanse.cli.door_members import SignIn, of_cluster, registered, require_cluster, signed_in
from hanse.cli.door_opening import mark
from hanse.cli.fleet import ask_members
from hanse.cli.printable import printable
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, MEMBER_LABEL, ROLE_BINDINGS, ROLES
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, key_of
from hanse.kube.resources import DEPLOYMENTS, SECRETS, SERVICE_ACCOUNTS, SERVICES
from hanse.pods.installing.admission_call import remove_calls
from hanse.pods.installing.closing import (
    Remaining,
    clear_target,
    delete_labelled,
    look_for_placeholders,
    release_all,
    remove_door,
    remove_virtual_nodes,
    stop_placeholders,
)
from hanse.pods.installing.rights import DOOR_LABEL

# What the door has in its cluster, rights last: until then the server may still be asked.
_SERVER_KINDS = (DEPLOYMENTS, DISRUPTION_BUDGETS, SERVICES, SECRETS, SERVICE_ACCOUNTS)
_RIGHTS_KINDS = (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES)
_RELEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Closed:
    """What became of everything: told to whoever closed the door, with what is `left` for them to do."""

    lines: tuple[str, ...]
    left: tuple[str, ...] = ()


def warning(cluster: str, found: Remaining) -> str:
    """Say what becomes of the pods of a cluster when its door closes."""
    told = [_of_pods(cluster, found)] if found.alive else []
    if found.jobs:
        told.append(
            f"{len(found.jobs)} Jobs that run whole elsewhere are stopped and never end, since nobody else can manage "
            "them; delete them, and create them without managedBy"
        )
    return "; ".join(told) or f"no pod of {cluster} runs elsewhere"


def _of_pods(cluster: str, found: Remaining) -> str:
    parts = [f"{len(found.running)} pods of {cluster} that run elsewhere are stopped"] if found.running else []
    if found.waiting:
        parts.append(f"{len(found.waiting)} that wait for a place are deleted")
    lost = f"; {found.ownerless} of them have no controller and are not made again" if found.ownerless else ""
    return f"{' and '.join(parts)}; their controllers make them again, and they run in {cluster} itself{lost}"


async def close_door(
    host_at: Endpoint, cluster: str, sign_in: SignIn, patience: float, agreed: Callable[[str], bool]
) -> Closed | None:
    """Close the door of a cluster; None where whoever was told what that means did not agree."""
    async with connected(host_at) as host:
        known = await registered(host)
        source = require_cluster(cluster, known, "--cluster")
        async with signed_in(host, [source], sign_in) as members:
            member = members[cluster]
            with of_cluster(cluster):
                found = await look_for_placeholders(member)
            if not agreed(warning(cluster, found)):
                return None
            others = [parse_cluster(obj) for name, obj in sorted(known.items()) if name != cluster]
            # Where work is fetched no pod was ever sent.
            others = [each for each in others if not each.pull]
            with of_cluster(cluster):
                return await _close(host, member, cluster, others, patience)


async def _close(host: Client, member: Client, cluster: str, others: Sequence[Cluster], patience: float) -> Closed:
    """Close step by step; each one is safe to be done again after a crash."""
    await remove_calls(member)
    late = await stop_placeholders(member, patience)
    await delete_labelled(member, (CLUSTER_TARGETS,), f"{DOOR_LABEL}={PODS_DOOR},{MEMBER_LABEL}={cluster}")
    await mark(host, cluster, is_open=False)
    lines = [f"{len(late)} pods did not end within {patience:g} s and are let go"] if late else []
    known, left = await _stop_elsewhere(host, member, cluster, others, _RELEASE_SECONDS)
    if held := await release_all(member, _RELEASE_SECONDS):
        left.append(f"could not be let go, run this again: {', '.join(str(key_of(obj)) for obj in held)}")
    await remove_virtual_nodes(member)
    await remove_door(member, _SERVER_KINDS, PODS_DOOR, cluster)
    await remove_door(host, (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES), PODS_DOOR, cluster)
    await remove_door(member, _RIGHTS_KINDS, PODS_DOOR, cluster)
    return Closed((f"cluster {cluster} sends no pods elsewhere any more", *lines, *known), tuple(left))


async def _stop_elsewhere(
    host: Client, member: Client, cluster: str, others: Sequence[Cluster], patience: float
) -> tuple[list[str], list[str]]:
    """Stop what the control plane did not: in every registered cluster that answers, and in the source itself.

    Returns what is to be known of it, and what may go on without end.
    """

    async def stop(target: Member) -> list[Obj] | None:
        try:
            return await clear_target(target.client, cluster, min(patience, 4.0))
        except Forbidden:
            return None

    answers = await ask_members(host, others, stop)
    own = await clear_target(member, cluster, patience)
    known, left = [], []
    for name, answer in {**answers, cluster: own}.items():
        if isinstance(answer, str):
            left.append(
                f"what {name} may still run for {cluster} could not be stopped: {printable(answer)}; delete its "
                f"podchaperons with the label {PARENT_CLUSTER}={cluster}"
            )
        elif answer is None:
            # It never was a target, or its administrators have taken that back.
            known.append(f"{name} does not let Hanse see whether it runs anything for {cluster}")
        elif answer:
            known.append(f"{len(answer)} pods in {name} are still ending")
    return known, left
