"""What must never happen to pods that run elsewhere, judged at every change in every cluster.

The judge stands behind the API servers: it sees each change as it is stored, past every fault, and knows who made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from hanse.api.admiralty.keys import PARENT_UID, TARGET
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.plain_kinds import CRON_JOBS, JOBS
from hanse.apiserver.storage import Change
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig, is_deleting, key_of, labels_of, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES, Resource
from hanse.kube.transport import Request
from hanse.pods.placeholder.reading import is_placeholder
from hanse.simulator.faults.gate import CONTROL_PLANE_USER
from tests.simulation.random_judge import AUTHOR
from tests.simulation.random_truth import bucket_of

WRITES = ("POST", "PUT", "PATCH", "DELETE")
KEPT: dict[str, Resource] = {
    bucket_of(kind): kind
    for kind in (
        PODS,
        POD_CHAPERONS,
        DEPLOYMENTS,
        JOBS,
        CRON_JOBS,
        CONFIGMAPS,
        SECRETS,
        SERVICES,
        SERVICE_ACCOUNTS,
        NODES,
        TARGETS,
        CLUSTER_TARGETS,
    )
}
_ENDED = ("Succeeded", "Failed")


class PodJudge:
    """Keeps every object of interest as its API server holds it, and the sentences about what was wrong."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.found: list[str] = []
        self.writes: list[str] = []
        self.objects: dict[str, dict[tuple[str, str], Obj]] = {}
        # Placeholders whose pod, chaperon or target somebody else than Hanse took away; what they were when last seen.
        self.touched: set[str] = set()
        self.placeholders: dict[str, Obj] = {}
        # Hears of the next chaperon that is made, or is to go, in which cluster that is.
        self.ambush: Callable[[str, bool], None] = lambda _place, _going: None
        self._now = now
        self._born: dict[str, float] = {}
        # When somebody last took the target away that a cluster was, by cluster.
        self._abandoned: dict[str, float] = {}
        # Chaperons that are there, pods that may run now, and those that ran, by what they are for.
        self._permitted: dict[str, dict[str, str]] = {}
        self._running: dict[str, dict[str, str]] = {}
        self._ran: dict[tuple[str, str], dict[str, str]] = {}
        # The pods that were there for a placeholder when it was bound.
        self._bound: dict[str, set[str]] = {}

    def blame(self, sentence: str) -> None:
        """Keep a sentence."""
        if sentence not in self.found:
            self.found.append(sentence)

    def note_request(self, _identity: str, place: str, request: Request) -> None:
        """Keep what a control plane asks a server to change; Leases are its heartbeat."""
        if request.method in WRITES and not request.path.endswith("reviews") and "/leases" not in request.path:
            self.writes.append(f"{place}: {request.method} {request.path}")

    def hear(self, place: str, change: Change) -> None:
        """Judge one change."""
        if change.bucket not in KEPT:
            return
        held, where = self.objects.setdefault(place, {}), (change.bucket, change.path)
        before, after = held.get(where), None if change.deleted else orjson.loads(change.value)
        if after is None:
            held.pop(where, None)
        else:
            held[where] = after
        kind = KEPT[change.bucket]
        if kind is POD_CHAPERONS and after is not None and (before is None or is_deleting(after) > is_deleting(before)):
            self.ambush(place, is_deleting(after))
        if kind in (PODS, POD_CHAPERONS, JOBS) and PARENT_UID in labels_of(after or before or {}):
            self._note_touched(kind, before, after)
            if kind is PODS:
                self._judge_delegate(place, before, after)
            elif kind is POD_CHAPERONS:
                self._judge_chaperon(place, before, after)
        elif kind is PODS and is_placeholder(after or before or {}):
            self._judge_placeholder(before, after)

    def of(self, place: str, kind: Resource) -> Iterator[Obj]:
        """Yield what a cluster has of a kind."""
        bucket = bucket_of(kind)
        yield from [obj for (where, _path), obj in self.objects.get(place, {}).items() if where == bucket]

    def delegates(self, uid: str) -> list[tuple[str, Obj]]:
        """Return the pods that run for a placeholder, each with its cluster."""
        return [(place, pod) for place in self.objects for pod in self.of(place, PODS) if _parent(pod) == uid]

    def abandon(self, cluster: str) -> None:
        """Note that a cluster is no target any more: what it has of that time goes on there, known to nobody."""
        self._abandoned[cluster] = self._now()
        for held in (*self._permitted.values(), *self._running.values()):
            for uid in [uid for uid, where in held.items() if where.startswith(f"{cluster}/")]:
                del held[uid]

    # Never twice

    def _judge_chaperon(self, place: str, before: Obj | None, after: Obj | None) -> None:
        """A chaperon is the permission to run a pod, and stays until that has ended: there are never two of them."""
        chaperon = after or before or {}
        parent, uid = _parent(chaperon), uid_of(chaperon)
        permitted = self._permitted.setdefault(parent, {})
        if after is None and any(where == place and _may_run(pod) for where, pod in self.delegates(parent)):
            self.blame(f"never before its pod: {place}/{key_of(chaperon)} is gone and its pod may still run")
        if after is None or self._is_abandoned(place, parent):
            permitted.pop(uid, None)
        elif uid not in permitted:
            permitted[uid] = f"{place}/{key_of(after)}"
            if len(permitted) > 1:
                self.blame(f"never twice permitted: {' and '.join(permitted.values())} are for placeholder {parent}")

    def _judge_delegate(self, place: str, before: Obj | None, after: Obj | None) -> None:
        pod = after or before or {}
        parent, uid = _parent(pod), uid_of(pod)
        running = self._running.setdefault(parent, {})
        if after is None or not _may_run(after) or self._is_abandoned(place, parent):
            running.pop(uid, None)
        elif uid not in running:
            running[uid] = f"{place}/{key_of(after)}"
            if len(running) > 1:
                self.blame(f"never twice at once: {' and '.join(running.values())} run for placeholder {parent}")
        if after is not None and _has_run(after) and not self._is_abandoned(place, parent):
            self._judge_run(place, parent, after)

    def _is_abandoned(self, place: str, parent: str) -> bool:
        return self._abandoned.get(place, -1.0) >= self._born.get(parent, 0.0)

    def _judge_run(self, place: str, parent: str, pod: Obj) -> None:
        """What must not be started again runs once a permission, and not again once its placeholder is bound.

        Whoever takes the chaperon of an unbound placeholder away asks for another permission: as with a Job at home,
        what was begun may then be begun once more, but never while it runs.
        """
        if dig(pod, "spec", "restartPolicy") == "Always":
            return
        permission, where = str((controller_of(pod) or {}).get("uid", "")), f"{place}/{key_of(pod)}"
        ran = self._ran.setdefault((parent, permission), {})
        ran.setdefault(uid_of(pod), where)
        if len(ran) > 1:
            self.blame(f"never twice a permission: {' and '.join(ran.values())} ran by one permission of {parent}")
        if uid_of(pod) not in self._bound.get(parent, {uid_of(pod)}):
            self.blame(f"never again once bound: {where} runs for {parent}, which was bound before")

    # No pod is lost

    def _note_touched(self, kind: Resource, before: Obj | None, after: Obj | None) -> None:
        going = after is None or (is_deleting(after) and not is_deleting(before or {"metadata": {}}))
        if going and AUTHOR.get() != CONTROL_PLANE_USER and not is_deleting(before or {"metadata": {}}):
            self.touched.add(_parent(before or after or {}))

    def _judge_placeholder(self, before: Obj | None, after: Obj | None) -> None:
        if after is not None:
            self.placeholders[uid_of(after)] = after
            if TARGET in annotations_of(after) and uid_of(after) not in self._bound:
                self._bound[uid_of(after)] = {uid_of(pod) for _place, pod in self.delegates(uid_of(after))}
            self._born.setdefault(uid_of(after), self._now())
        pod = after or before or {}
        began = after is None or is_deleting(after)
        if not began or (before is not None and is_deleting(before)) or AUTHOR.get() != CONTROL_PLANE_USER:
            return
        if controller_of(pod) is None and uid_of(pod) not in self.touched:
            self.blame(f"no pod is lost: {key_of(pod)} was deleted and nobody had touched it")


def _parent(obj: Obj) -> str:
    return str(labels_of(obj).get(PARENT_UID, ""))


def _may_run(pod: Obj) -> bool:
    return bool(dig(pod, "spec", "nodeName")) and dig(pod, "status", "phase") not in _ENDED


def _has_run(pod: Obj) -> bool:
    states = [each.get("state") or {} for each in dig(pod, "status", "containerStatuses") or ()]
    return any("running" in state or "terminated" in state for state in states)
