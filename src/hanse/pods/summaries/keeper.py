"""The loop that keeps a cluster's summary: nodes are watched, and the summary is written when it says something new."""

from __future__ import annotations

import asyncio

from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, SUMMARY_NAME
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Key, Obj, labels_of, name_of
from hanse.kube.resources import NODES
from hanse.pods.serving import wait_served
from hanse.pods.summaries.summing import summary_of

_SUMMARY = Key("", SUMMARY_NAME)
# Nodes that come together are counted together.
_TOGETHER_SECONDS = 0.5


class SummaryKeeper:
    """Keeps the one ClusterSummary of a cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes = Cache(client, NODES, project=_counted)
        self._summaries = Cache(client, CLUSTER_SUMMARIES)
        self._controller: Controller[Key] = Controller("cluster summary", self._reconcile, client.runtime, workers=1)

    async def run(self) -> None:
        """Work until cancelled; in a cluster that does not serve summaries yet, wait until it does."""
        await wait_served(self._client, CLUSTER_SUMMARIES)
        async with asyncio.TaskGroup() as tasks:
            for cache in (self._nodes, self._summaries):
                tasks.create_task(cache.run())
            for cache in (self._nodes, self._summaries):
                await cache.wait_synced()
            self._controller.queue.add(_SUMMARY)
            self._nodes.subscribe(self._node_changed)
            self._summaries.subscribe(self._summary_changed)
            tasks.create_task(self._controller.run())

    def _node_changed(self, change: Change) -> None:
        # Most that happens to a node is a heartbeat.
        if change.old_bytes != change.new_bytes:
            self._controller.queue.add_after(_SUMMARY, _TOGETHER_SECONDS)

    def _summary_changed(self, _change: Change) -> None:
        self._controller.queue.add_after(_SUMMARY, _TOGETHER_SECONDS)

    async def _reconcile(self, key: Key) -> None:
        wanted = summary_of(self._nodes.objects())
        stored = self._summaries.get(key)
        if stored is None:
            try:
                self._summaries.remember(await self._client.create(CLUSTER_SUMMARIES, wanted))
            except AlreadyExists:
                self._controller.queue.add_after(key, _TOGETHER_SECONDS)
        elif _said(stored) != _said(wanted):
            changed = {**stored, **wanted, "metadata": {**stored["metadata"], "labels": labels_of(wanted)}}
            self._summaries.remember(await self._client.update(CLUSTER_SUMMARIES, changed))


def _counted(node: Obj) -> Obj:
    status = node.get("status") or {}
    return {
        "metadata": {"name": name_of(node), "labels": labels_of(node)},
        "status": {"capacity": status.get("capacity") or {}, "allocatable": status.get("allocatable") or {}},
    }


def _said(summary: Obj) -> tuple[object, ...]:
    return labels_of(summary), summary.get("capacity") or {}, summary.get("allocatable") or {}
