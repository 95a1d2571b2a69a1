"""What the scheduler tells of its decisions: conditions and events of pods, and the end of those that make way."""

from __future__ import annotations

from hanse.kube.client import Client
from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.errors import Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig, uid_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime, timestamp
from hanse.simulator.scheduling.board import PlacedPod
from hanse.simulator.scheduling.decision import Refused
from hanse.simulator.writing import write

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class Telling:
    """Writes what was decided."""

    def __init__(self, client: Client, runtime: Runtime, scheduler: str) -> None:
        self._client = client
        self._runtime = runtime
        self._scheduler = scheduler
        self._events = EventRecorder(client, scheduler)

    async def gated(self, pod: Obj) -> None:
        """Say that a pod waits for its gates to be lifted."""
        await self._condition(pod, "SchedulingGated", _GATED, {})

    async def refused(self, pod: Obj, refused: Refused) -> None:
        """Say why a pod has no node, and have those that must make way for it leave."""
        for victim in refused.victims:
            await self._push_out(victim, pod, refused.nominated)
        present = dig(pod, "status", "nominatedNodeName", default="")
        nomination = {} if present == refused.nominated else {"nominatedNodeName": refused.nominated or None}
        if await self._condition(pod, "Unschedulable", refused.message, nomination):
            await self._events.record(pod, "FailedScheduling", refused.message, warning=True)

    async def _condition(self, pod: Obj, reason: str, message: str, status: Obj) -> bool:
        conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
        before = find_condition(conditions, "PodScheduled") or {}
        said = (before.get("status"), before.get("reason"), before.get("message")) == ("False", reason, message)
        if said and not status:
            return False
        made = condition("PodScheduled", False, reason, message)
        merged = merge_conditions(conditions, [made], timestamp(self._runtime.now()))
        patch = {"phase": "Pending", "conditions": merged, **status}
        await write(self._client, PODS, pod, {"status": patch}, subresource="status")
        return not said

    async def _push_out(self, victim: PlacedPod, pod: Obj, node: str) -> None:
        try:
            seen = await self._client.get(PODS, victim.key.name, victim.key.namespace)
            if uid_of(seen) != victim.uid:
                return
            message = f"{self._scheduler}: preempting to accommodate a higher priority pod"
            made = condition("DisruptionTarget", True, "PreemptionByScheduler", message)
            before = dig(seen, "status", "conditions", default=[])
            merged = merge_conditions(before, [made], timestamp(self._runtime.now()))
            await write(self._client, PODS, seen, {"status": {"conditions": merged}}, subresource="status")
            await self._events.record(seen, "Preempted", f"Preempted by pod {uid_of(pod)} on node {node}")
            await self._client.delete(PODS, victim.key.name, victim.key.namespace, uid=victim.uid)
        except (NotFound, Conflict):
            # Gone or changed meanwhile: the next look at the pod decides anew.
            return
