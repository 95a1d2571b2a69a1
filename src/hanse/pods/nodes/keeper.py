"""Keeps one Node for each target in the cluster whose pods go there.

What is kept is a view: nothing is decided by it, and nothing is lost with it. Others write to these nodes too:
operators label, taint and cordon them, the node lifecycle controller taints them, address controllers number them. All
of that stays. While nothing changes, nothing is written but the Leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from hanse.api.admiralty.keys import PROVIDER, PROVIDER_NAME
from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, CLUSTER_TARGETS, SUMMARY_NAME, TARGETS
from hanse.api.admiralty.names import TargetName, target_named
from hanse.api.admiralty.nodes import is_virtual
from hanse.api.clusters import Cluster
from hanse.clusters.member import Member, PullMember
from hanse.clusters.roster import Roster
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.controller import Controller, Terminal
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, dig, labels_of, name_of, uid_of, version_of
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import NODES
from hanse.kube.runtime import timestamp
from hanse.pods.nodes.heartbeats import Heartbeats
from hanse.pods.nodes.manifests import KEPT, TAINT, Kubelet, Shown, applied_labels, node_of, node_status, shown_before
from hanse.pods.nodes.sums import any_has_several_sizes, has_several_sizes, shown_of
from hanse.pods.targets.reading import read_target

_PROVIDED = f"{PROVIDER}={PROVIDER_NAME}"
_LIFTED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class NodeRoster(Roster, Protocol):
    """A roster that also knows the targets that cannot be used."""

    def troubles(self) -> Mapping[str, str]:
        """Return the targets that are there and cannot be used, each with why."""


class NodeKeeper:
    """Registers, brings up to date and removes the virtual nodes of one cluster.

    `kubelet_address` is where its API server reaches the server that answers for their pods; None where none does.
    """

    def __init__(self, source_client: Client, roster: NodeRoster, kubelet_address: tuple[str, int] | None) -> None:
        self._client = source_client
        self._runtime = source_client.runtime
        self._roster = roster
        self._kubelet = Kubelet(*kubelet_address) if kubelet_address else None
        self._nodes = Cache(source_client, NODES, labels=_PROVIDED)
        self._targets = (Cache(source_client, TARGETS), Cache(source_client, CLUSTER_TARGETS))
        self._summaries: dict[str, Cache] = {}
        # By node: the labels as they were applied last. Those of an earlier life are found out by applying once.
        self._applied: dict[str, Obj] = {}
        self._wanted: dict[str, TargetName] = {}
        self._heartbeats = Heartbeats(source_client, self._alive)
        self._controller: Controller[str] = Controller("virtual nodes", self._reconcile, self._runtime, workers=4)
        roster.attach(self._follow)

    async def run(self) -> None:
        """Keep the nodes until cancelled; they stay, and their Leases end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            for targets in self._targets:
                tasks.create_task(targets.run())
            await self._nodes.wait_synced()
            await self._roster.wait_synced()
            self._roster.subscribe(lambda name: self._controller.queue.add(target_named(name).node))
            self._nodes.subscribe(lambda change: self._controller.queue.add(change.key.name))
            for targets in self._targets:
                targets.subscribe(self._target_changed)
            for target in self._known():
                self._controller.queue.add(target.node)
            tasks.create_task(self._controller.run())
            tasks.create_task(self._heartbeats.run())

    async def _follow(self, member: Member | PullMember) -> None:
        """Follow what a target's nodes have together, while it is there."""
        if isinstance(member, PullMember):
            return
        name = member.name
        cache = Cache(member.client, CLUSTER_SUMMARIES, fields=f"metadata.name={SUMMARY_NAME}")
        cache.subscribe(lambda _change: self._controller.queue.add(target_named(name).node))
        cache.on_connected(lambda _connected: self._controller.queue.add(target_named(name).node))
        self._summaries[name] = cache
        try:
            await cache.run()
        finally:
            if self._summaries.get(name) is cache:
                del self._summaries[name]

    def _target_changed(self, change: Change) -> None:
        self._controller.queue.add(TargetName(change.key.namespace, change.key.name).node)

    def _known(self) -> dict[TargetName, Cluster]:
        """Return every target that is there, also those that cannot be used now."""
        troubles = self._roster.troubles()
        found = {target_named(name): Cluster(name, why=why) for name, why in troubles.items()}
        return found | {target_named(cluster.name): cluster for cluster in self._roster.clusters()}

    def _alive(self) -> list[Obj]:
        """Return the nodes whose Leases are renewed: those of targets that are there."""
        return [node for name in self._wanted if (node := self._nodes.get(Key("", name))) is not None]

    async def _reconcile(self, name: str) -> None:
        known = {target.node: (target, cluster) for target, cluster in self._known().items()}
        node = self._nodes.get(Key("", name))
        if name not in known:
            await self._forget(name, node)
            return
        target, cluster = known[name]
        if node is None and str(target) not in {each.name for each in self._roster.clusters()}:
            # Nothing is behind it yet, and its target says so itself.
            return
        self._wanted[name] = target
        shown = await self._shown(target, cluster)
        if node is None:
            node = await self._register(target, cluster, shown or Shown({}, cluster.capacity, cluster.capacity))
        # What was shown last counts while nobody says better: labels that come and go would move pods.
        if shown is not None or not is_virtual(node):
            node = await self._label(node, applied_labels(target, shown or Shown()))
        node = await self._report(node, cluster, shown or shown_before(node, cluster))
        await self._taint(node)
        self._heartbeats.meet(node)

    async def _shown(self, target: TargetName, cluster: Cluster) -> Shown | None:
        """Return what a target's node shall show; None while that is not known."""
        cache = self._summaries.get(str(target))
        if cache is None or not (_is_known(cache) and _is_known(self._targets_like(target))):
            return None
        summary = cache.get(Key("", SUMMARY_NAME)) if cache.synced else None
        local = False
        if summary is not None and has_several_sizes(summary.get("capacity") or {}):
            local = any_has_several_sizes((await self._client.list(NODES)).items)
        return shown_of(summary, cluster, self._excluded(target), local_sizes=local)

    def _excluded(self, target: TargetName) -> str:
        """Return the pattern of labels that a target's node shall not have; one that cannot be used is none."""
        cache = self._targets_like(target)
        found = cache.get(Key(target.namespace, target.name)) if cache.synced else None
        return read_target(found).excluded_labels if found is not None else ""

    def _targets_like(self, target: TargetName) -> Cache:
        return self._targets[0 if target.namespace else 1]

    async def _register(self, target: TargetName, cluster: Cluster, shown: Shown) -> Obj:
        made = node_of(target, cluster, shown, self._kubelet, now=timestamp(self._runtime.now()))
        try:
            return await self._client.create(NODES, made)
        except AlreadyExists:
            # The cache is a moment behind, or the name is a machine's.
            found = await self._client.get(NODES, target.node)
            if not is_virtual(found) and KEPT not in annotations_of(found):
                raise Terminal(f"node {target.node} is a machine; rename it, or the target {target}") from None
            return found

    async def _label(self, node: Obj, wanted: Obj) -> Obj:
        present = labels_of(node).items() >= labels_of(wanted).items() and KEPT in annotations_of(node)
        if present and self._applied.get(uid_of(node)) == wanted:
            return node
        written = await self._client.apply(NODES, wanted)
        self._applied[uid_of(node)] = wanted
        return written

    async def _report(self, node: Obj, cluster: Cluster, shown: Shown) -> Obj:
        before: Obj = node.get("status") or {}
        status = node_status(cluster, shown, self._kubelet, before, timestamp(self._runtime.now()))
        changes = _changes(before, status)
        if not changes:
            return node
        # The list of conditions is others' too: whoever wrote first is read again.
        patch = {"metadata": {"resourceVersion": version_of(node)}, "status": changes}
        return await self._client.patch(NODES, name_of(node), patch, subresource="status")

    async def _taint(self, node: Obj) -> None:
        """Put our taint back, and lift from a ready node what its registration put there where nobody else does."""
        taints: list[Obj] = dig(node, "spec", "taints", default=[])
        ready = is_true(dig(node, "status", "conditions"), "Ready")
        kept = [taint for taint in taints if not (ready and taint.get("key") in _LIFTED)]
        if not any(all(taint.get(key) == value for key, value in TAINT.items()) for taint in kept):
            kept.append(TAINT)
        if kept != taints:
            patch = {"metadata": {"resourceVersion": version_of(node)}, "spec": {"taints": kept}}
            await self._client.patch(NODES, name_of(node), patch)

    async def _forget(self, name: str, node: Obj | None) -> None:
        """Remove the node of a target that is gone; one that somebody else made stays theirs."""
        self._wanted.pop(name, None)
        if node is None or KEPT not in annotations_of(node):
            return
        self._applied.pop(uid_of(node), None)
        try:
            await self._client.delete(NODES, name, uid=uid_of(node))
        except NotFound:
            return


def _is_known(cache: Cache) -> bool:
    """Tell whether a cluster has said what it has of a kind, or that it does not have the kind."""
    return cache.synced or isinstance(cache.last_error, NotFound)


def _changes(before: Obj, status: Obj) -> Obj:
    """Return the patch between two statuses; API servers that do not know a field leave it out, which is no news."""
    changes = merge_patch_between(before, status)
    if before and "declaredFeatures" not in before and set(changes) == {"declaredFeatures"}:
        return {}
    return changes
