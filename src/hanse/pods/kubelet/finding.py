"""Where a pod of a virtual node really runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hanse.api.admiralty.keys import PARENT_UID, PROXY_SCHEDULER
from hanse.api.admiralty.names import child_name, target_named
from hanse.clusters.member import Member
from hanse.clusters.roster import Roster
from hanse.kube.cache import NotSynced
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, BadRequest, ServerError
from hanse.kube.manifest import Obj, dig, labels_of, uid_of
from hanse.kube.resources import PODS
from hanse.kube.transport import Unreachable


class MemberRoster(Roster, Protocol):
    """A roster that leads to the clusters of its targets."""

    def member(self, name: str) -> Member | None:
        """Return the way to a target's cluster; None where there is none now."""


@dataclass(frozen=True, slots=True, eq=False)
class Delegate:
    """The pod that runs for another one, and the way to its cluster."""

    client: Client
    namespace: str
    pod: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A pod here, and the node that it is on ("" where it is on none)."""

    pod: Obj
    node: str


class PodFinder:
    """Leads from the pods of one cluster's virtual nodes to those that run elsewhere."""

    def __init__(self, source_name: str, source_client: Client, roster: MemberRoster) -> None:
        self._source = source_name
        self._client = source_client
        self._roster = roster

    async def placeholder(self, namespace: str, pod: str) -> Placeholder:
        """Read the pod that was asked about; raises ApiError, with a sentence where it is none of ours."""
        found = await self._client.get(PODS, pod, namespace)
        if dig(found, "spec", "schedulerName") != PROXY_SCHEDULER:
            raise _not_here(f"pod {namespace}/{pod} does not run elsewhere, so nothing is known of it")
        return Placeholder(found, dig(found, "spec", "nodeName", default=""))

    async def delegate(self, placeholder: Placeholder) -> Delegate:
        """Return the pod that runs for another one; raises ApiError with a sentence where there is none."""
        name, namespace = placeholder.pod["metadata"]["name"], placeholder.pod["metadata"]["namespace"]
        what = f"pod {namespace}/{name}"
        if not placeholder.node:
            raise _not_here(f"{what} has not been given a cluster to run in yet; wait until it has a node")
        target = self._target_of(placeholder.node)
        if target is None:
            raise _unavailable(f"node {placeholder.node} of {what} stands for no target that is known")
        member = self._roster.member(target)
        if member is None:
            raise _unavailable(f"there is no way to the cluster of target {target}, in which {what} runs")
        child = child_name(self._source, namespace, name)
        try:
            found = await member.client.find(PODS, child, namespace)
        except (Unreachable, TimeoutError) as error:
            raise _unavailable(f"{what} runs in the cluster of target {target}: {error}") from error
        if found is None or labels_of(found).get(PARENT_UID) != uid_of(placeholder.pod):
            raise _not_here(f"{what} has no pod in the cluster of target {target}")
        return Delegate(member.client, namespace, child)

    def _target_of(self, node: str) -> str | None:
        try:
            names = [cluster.name for cluster in self._roster.clusters()]
        except NotSynced:
            return None
        return next((name for name in names if target_named(name).node == node), None)


# API servers pass on what a kubelet says with these two codes, and hide it behind words of their own with others.
def _not_here(message: str) -> ApiError:
    return BadRequest(400, "BadRequest", message)


def _unavailable(message: str) -> ApiError:
    return ServerError(500, "InternalError", message)
