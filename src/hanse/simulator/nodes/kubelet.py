"""The kubelets of a cluster: pods bound to its nodes start after a while, run, restart and end.

Where a pod stands is read from its manifest; in memory there is only since when something lasts. So a kubelet that
takes over after a crash leaves running pods alone and goes on with those that were half started.
"""

from __future__ import annotations

from hanse.kube.errors import Conflict, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, is_deleting, namespace_of, uid_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import timestamp
from hanse.simulator.faults.node_troubles import REVIVAL_SECONDS
from hanse.simulator.networking.addresses import AddressPool, pod_network
from hanse.simulator.nodes.conduct import hangs
from hanse.simulator.nodes.incidents import incidents_between
from hanse.simulator.nodes.machines import machines_of
from hanse.simulator.nodes.pod_status import Host, crashed_status, is_finished, is_running, next_status, stopped_status
from hanse.simulator.nodes.stopwatch import Stopwatch
from hanse.simulator.pods import PodFacts
from hanse.simulator.world import World
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
        self._troubles = world.troubles
        self._addresses = AddressPool(pod_network(world.settings.index))
        self._events = EventRecorder(world.client, "kubelet")
        # By the pod's uid: how slow it is among all, and since when this and that has lasted.
        self._paces: dict[str, float] = {}
        self._began: dict[str, dict[str, float]] = {}
        self._pods.listen(self._pod_changed)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self._addresses.release(old.uid)
            self._paces.pop(old.uid, None)
            self._began.pop(old.uid, None)
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
        if is_running(pod) and pod["spec"]["nodeName"] in self._machines:
            await write_status(self._client, PODS, pod, crashed_status(pod, self._host(pod)))

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.cache.get(key)
        if pod is None or dig(pod, "spec", "nodeName") not in self._machines:
            return None
        if self._troubles.is_lost(pod["spec"]["nodeName"]):
            return REVIVAL_SECONDS
        watch = Stopwatch(self._began.setdefault(uid_of(pod), {}), self._runtime.monotonic())
        if is_deleting(pod):
            if watch.due("stop", self._stop_seconds(pod)):
                await self._end(pod)
        elif not is_finished(pod):
            await self._report(pod, next_status(pod, self._host(pod), watch))
        return watch.next_seconds

    def _host(self, pod: Obj) -> Host:
        machine = self._machines[pod["spec"]["nodeName"]]
        created = bool(dig(pod, "status", "containerStatuses"))
        address = ""
        if created:
            address = machine.address if pod["spec"].get("hostNetwork") else self._addresses.take(uid_of(pod))
        return Host(machine.address, address, self._pace(pod), timestamp(self._runtime.now()))

    def _pace(self, pod: Obj) -> float:
        first, last = self._settings.pod_start_seconds
        return self._troubles.delay(pod["spec"]["nodeName"]) + first + (last - first) * self._share(pod)

    def _share(self, pod: Obj) -> float:
        """Return how slow a pod is among all, from 0 to 1; drawn once."""
        uid = uid_of(pod)
        if uid not in self._paces:
            self._paces[uid] = self._runtime.uniform(0.0, 1.0)
        return self._paces[uid]

    def _stop_seconds(self, pod: Obj) -> float:
        grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        if hangs(pod):
            return grace
        # A share of the range that is the pod's own, so that a wait which began is not drawn anew.
        first, last = self._settings.pod_stop_seconds
        return min(grace, first + (last - first) * self._share(pod))

    async def _report(self, pod: Obj, status: Obj) -> None:
        if await write_status(self._client, PODS, pod, status):
            for incident in incidents_between(pod, status):
                await self._events.record(pod, incident.reason, incident.message, warning=incident.warning)

    async def _end(self, pod: Obj) -> None:
        # Who holds on to a pod by a finalizer wants to know how it ended; of others nobody could read it.
        if pod["metadata"].get("finalizers") and not is_finished(pod):
            await self._report(pod, stopped_status(pod, self._host(pod)))
        else:
            await self._remove(pod)

    async def _remove(self, pod: Obj) -> None:
        name = pod["metadata"]["name"]
        try:
            await self._client.delete(PODS, name, namespace_of(pod), uid=uid_of(pod), grace_seconds=0)
        except (NotFound, Conflict):
            # Gone already, or another pod has the name by now.
            return
