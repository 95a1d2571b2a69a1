"""DaemonSets: one pod on every node that fits, replaced node by node when the template changes."""

from __future__ import annotations

from hanse.kube.cache import Change
from hanse.kube.errors import ApiError
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig, is_deleting, name_of, namespace_of, uid_of
from hanse.kube.resources import NODES
from hanse.kube.transport import Unreachable
from hanse.simulator.index import Index, controller_uid
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import (
    POD_REVISION,
    forget_revisions,
    hash_of,
    settle_history,
)
from hanse.simulator.workloads.daemonset_nodes import DaemonNode, daemon_node, daemon_pod
from hanse.simulator.workloads.daemonset_plan import (
    DaemonSetPlan,
    DaemonSituation,
    daemonset_status,
    plan_daemonset,
    target_of,
)
from hanse.simulator.workloads.kinds import CONTROLLER_REVISIONS, DAEMON_SETS
from hanse.simulator.workloads.pod_writes import PodWrites
from hanse.simulator.workloads.replicas import min_ready_seconds, next_availability, selector_of
from hanse.simulator.world import SHORTEST_WAIT_SECONDS, World
from hanse.simulator.writing import write_status

# What the cache should show any moment is asked for again after this long at the latest.
_UNSEEN_SECONDS = 10.0
# A pod that fails on its node again and again is replaced ever more slowly.
_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 900.0


class DaemonSets:
    """Carries out the next step of each DaemonSet."""

    def __init__(self, world: World) -> None:
        self.controller = world.controller("daemonset", self._reconcile, owners=DAEMON_SETS)
        self._client = world.client
        self._runtime = world.runtime
        self._pods = world.pods
        self._cache = world.cache(DAEMON_SETS)
        self._nodes = world.cache(NODES)
        self._revisions = Index(world.cache(CONTROLLER_REVISIONS), controller_uid)
        self._events = EventRecorder(world.client, "daemonset-controller")
        self._writes = PodWrites(world, events=self._events)
        self._pauses: dict[tuple[str, str], tuple[float, float]] = {}
        self._cache.subscribe(self._daemon_set_changed)
        self._nodes.subscribe(self._node_changed)
        self._pods.listen(self._pod_changed)

    def _daemon_set_changed(self, change: Change) -> None:
        if change.new_bytes is None and (gone := change.old) is not None:
            self._writes.forget(uid_of(gone))
            self._pauses = {key: pause for key, pause in self._pauses.items() if key[0] != uid_of(gone)}
        self.controller.queue.add(change.key)

    def _node_changed(self, change: Change) -> None:
        if self._cache.synced and _matters(change.old) != _matters(change.new):
            for key in self._cache:
                self.controller.queue.add(key)

    def _pod_changed(self, old: PodFacts | None, new: PodFacts | None) -> None:
        for facts in (old, new):
            if facts is None:
                continue
            if facts.owner_kind == DAEMON_SETS.kind:
                self.controller.queue.add(Key(facts.key.namespace, facts.owner_name))
            elif not facts.owner_uid and self._cache.synced:
                for daemon_set in self._cache.objects(facts.key.namespace):
                    if selector_of(daemon_set).matches(facts.labels):
                        self.controller.queue.add(Key(facts.key.namespace, name_of(daemon_set)))

    async def _reconcile(self, key: Key) -> float | None:
        daemon_set = self._cache.get(key)
        if daemon_set is None or is_deleting(daemon_set):
            return None
        pods = await self._own_pods(daemon_set)
        history = list(self._revisions.objects(uid_of(daemon_set)))
        history = await settle_history(self._client, DAEMON_SETS, daemon_set, history)
        here = DaemonSituation(
            daemon_set, self._daemon_nodes(daemon_set), pods, hash_of(history[-1]), self._runtime.now()
        )
        failure = None
        waits = [next_availability(pods, min_ready_seconds(daemon_set), here.now)]
        if self._writes.are_seen(daemon_set):
            plan, pause = self._held_back(here, plan_daemonset(here))
            waits.append(pause)
            failure = await self._carry_out(here, plan)
        else:
            waits.append(_UNSEEN_SECONDS)
        await write_status(self._client, DAEMON_SETS, daemon_set, daemonset_status(here))
        if failure is not None:
            raise failure
        await self._forget_history(daemon_set, history, pods)
        return min((max(wait, SHORTEST_WAIT_SECONDS) for wait in waits if wait is not None), default=None)

    def _daemon_nodes(self, daemon_set: Obj) -> list[DaemonNode]:
        return [daemon_node(daemon_set, node) for node in self._nodes.objects()]

    async def _own_pods(self, daemon_set: Obj) -> list[PodFacts]:
        """Return the pods that are the set's, after taking over and letting go of what its selector says."""
        selector = selector_of(daemon_set)
        kept = []
        for pod in self._pods.owned_by(uid_of(daemon_set)):
            if selector.matches(pod.labels):
                kept.append(pod)
            elif not pod.deleting:
                await self._writes.release(daemon_set, pod)
        for pod in self._pods.orphans(namespace_of(daemon_set)):
            if pod.active and selector.matches(pod.labels):
                await self._writes.adopt(daemon_set, pod)
                kept.append(pod)
        return kept

    def _held_back(self, here: DaemonSituation, plan: DaemonSetPlan) -> tuple[DaemonSetPlan, float | None]:
        """Leave failed pods of which the last failed a moment ago for later; returns the seconds until the first."""
        now = self._runtime.monotonic()
        waits = []
        delete = []
        for pod in plan.delete:
            if pod.phase == "Failed":
                key = (uid_of(here.daemon_set), target_of(pod))
                pause, until = self._pauses.get(key, (0.0, 0.0))
                if now < until:
                    waits.append(until - now)
                    continue
                pause = min(max(_FIRST_PAUSE_SECONDS, pause * 2), _LAST_PAUSE_SECONDS)
                self._pauses[key] = (pause, now + pause)
            delete.append(pod)
        return DaemonSetPlan(plan.create, tuple(delete)), min(waits, default=None)

    async def _carry_out(self, here: DaemonSituation, plan: DaemonSetPlan) -> ApiError | Unreachable | None:
        for pod in plan.delete:
            if pod.finished:
                await self._tell_finished(here.daemon_set, pod)
        pods = [daemon_pod(here.daemon_set, node, here.revision_hash) for node in plan.create]
        failure = await self._writes.create_all(here.daemon_set, pods)
        return failure or await self._writes.delete_all(here.daemon_set, plan.delete)

    async def _tell_finished(self, daemon_set: Obj, pod: PodFacts) -> None:
        failed = pod.phase == "Failed"
        what, verb = ("failed", "kill") if failed else ("succeeded", "delete")
        message = f"Found {what} daemon pod {pod.key} on node {target_of(pod)}, will try to {verb} it"
        reason = "FailedDaemonPod" if failed else "SucceededDaemonPod"
        await self._events.record(daemon_set, reason, message, warning=failed)

    async def _forget_history(self, daemon_set: Obj, history: list[Obj], pods: list[PodFacts]) -> None:
        limit = dig(daemon_set, "spec", "revisionHistoryLimit")
        if limit is not None:
            live = {pod.labels.get(POD_REVISION) for pod in pods}
            past = [entry for entry in history[:-1] if hash_of(entry) not in live]
            await forget_revisions(self._client, past[: max(0, len(history) - 1 - limit)])


def _matters(node: Obj | None) -> tuple[object, object] | None:
    """Return what of a node a DaemonSet decides on; heartbeats are not among it."""
    if node is None:
        return None
    return node["metadata"].get("labels"), dig(node, "spec", "taints")
