"""The kubelets of a cluster: pods bound to its nodes start after a while, run, restart and end.

Where a pod stands is read from its manifest; in memory there is only when the next step is due. So a kubelet that
takes over after a crash leaves running pods alone and goes on with those that were half started.
"""

from __future__ import annotations

from hanse.kube.errors import Conflict, NotFound
from hanse.kube.manifest import Key, Obj, dig, namespace_of, uid_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import timestamp
from hanse.simulator.networking.addresses import AddressPool, pod_network
from hanse.simulator.nodes.machines import machines_of
from hanse.simulator.nodes.pod_status import (
    Stage,
    backoff_seconds,
    crashed_status,
    creating_status,
    running_status,
    stage_of,
)
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write_status


class Kubelets:
    """Starts, watches over and ends the pods of the cluster's nodes."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("kubelet", self._reconcile)
        self._client = world.client
        self._runtime = world.runtime
        self._settings = world.settings
        self._pods = world.pods
        self._machines = machines_of(world.settings)
        self._addresses = AddressPool(pod_network(world.settings.index))
        self._due: dict[str, tuple[Stage, float]] = {}
        self._pods.listen(self._pod_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self._addresses.release(old.uid)
            self._due.pop(old.uid, None)
        if new is None or new.node not in self._machines:
            return
        if new.finished:
            self._addresses.release(new.uid)
        elif new.ip:
            self._addresses.hold(new.uid, new.ip)
        self.controller.queue.add(new.key)

    async def crash(self, key: Key) -> None:
        """Have all containers of a running pod exit with an error; they restart as the pod's policy says."""
        pod = await self._client.get(PODS, key.name, key.namespace)
        if stage_of(pod) is Stage.RUNNING:
            await write_status(self._client, PODS, pod, crashed_status(pod, timestamp(self._runtime.now())))

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.cache.get(key)
        if pod is None or dig(pod, "spec", "nodeName") not in self._machines:
            return None
        stage = stage_of(pod)
        wait = self._wait(pod, stage)
        if wait > SHORTEST_WAIT_SECONDS:
            return wait
        match stage:
            case Stage.STOPPING:
                await self._remove(pod)
            case Stage.ARRIVED:
                host = self._machines[pod["spec"]["nodeName"]].address
                await write_status(self._client, PODS, pod, creating_status(pod, host, timestamp(self._runtime.now())))
            case Stage.CREATING | Stage.CRASHED:
                address = self._address_of(pod)
                await write_status(
                    self._client, PODS, pod, running_status(pod, address, timestamp(self._runtime.now()))
                )
            case Stage.RUNNING | Stage.FINISHED:
                self._due.pop(uid_of(pod), None)
        return None

    def _wait(self, pod: Obj, stage: Stage) -> float:
        """Return the seconds until the next step of a pod is due; the clock starts when its stage is first seen."""
        now = self._runtime.monotonic()
        known = self._due.get(uid_of(pod))
        if known is None or known[0] is not stage:
            known = self._due[uid_of(pod)] = (stage, now + self._pause(pod, stage))
        return known[1] - now

    def _pause(self, pod: Obj, stage: Stage) -> float:
        match stage:
            case Stage.CREATING:
                return self._runtime.uniform(*self._settings.pod_start_seconds)
            case Stage.CRASHED:
                return backoff_seconds(pod) + self._runtime.uniform(*self._settings.pod_start_seconds)
            case Stage.STOPPING:
                grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
                return min(grace, self._runtime.uniform(*self._settings.pod_stop_seconds))
            case _:
                return 0.0

    def _address_of(self, pod: Obj) -> str:
        if pod["spec"].get("hostNetwork"):
            return self._machines[pod["spec"]["nodeName"]].address
        return self._addresses.take(uid_of(pod))

    async def _remove(self, pod: Obj) -> None:
        name = pod["metadata"]["name"]
        try:
            await self._client.delete(PODS, name, namespace_of(pod), uid=uid_of(pod), grace_seconds=0)
        except (NotFound, Conflict):
            # Gone already, or another pod has the name by now.
            return
