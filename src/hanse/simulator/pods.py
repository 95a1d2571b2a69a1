"""What the behaviours of a cluster need to know of its pods, decoded once for each change.

`PodFacts` is the small value on which scheduling, scaling down, endpoints and status counts decide; `PodIndex` keeps
one for every pod, by owner, node and namespace, so that no decision has to read five hundred manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hanse.kube.cache import Cache, Change
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, is_deleting, key_of, labels_of, uid_of
from hanse.kube.quantities import millicores, whole_units
from hanse.kube.runtime import parse_timestamp

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod, as far as others decide on it."""

    key: Key
    uid: str
    labels: Mapping[str, str]
    owner_uid: str = ""
    owner_kind: str = ""
    owner_name: str = ""
    node: str = ""
    # The only node that it may run on, where its affinity names one, as a DaemonSet's does.
    bound_for: str = ""
    phase: str = "Pending"
    ip: str = ""
    ready: bool = False
    ready_since: float = 0.0
    created: float = 0.0
    deleting: bool = False
    restarts: int = 0
    deletion_cost: int = 0
    cpu_millicores: int = 0
    memory_bytes: int = 0

    @property
    def finished(self) -> bool:
        """Whether its containers have ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        """Whether it counts as a replica: neither finished nor on its way out."""
        return not self.finished and not self.deleting


def pod_facts(pod: Obj) -> PodFacts:
    """Read the facts of a pod's manifest."""
    status = pod.get("status") or {}
    ready = find_condition(status.get("conditions"), "Ready") or {}
    owner = controller_of(pod) or {}
    cpu, memory = requests_of(pod.get("spec") or {})
    return PodFacts(
        key=key_of(pod),
        uid=uid_of(pod),
        labels=labels_of(pod),
        owner_uid=owner.get("uid", ""),
        owner_kind=owner.get("kind", ""),
        owner_name=owner.get("name", ""),
        node=dig(pod, "spec", "nodeName", default=""),
        bound_for=_named_node(pod),
        phase=status.get("phase") or "Pending",
        ip=status.get("podIP") or "",
        ready=ready.get("status") == "True",
        ready_since=_seconds(ready.get("lastTransitionTime")),
        created=_seconds(pod["metadata"].get("creationTimestamp")),
        deleting=is_deleting(pod),
        restarts=max((entry.get("restartCount", 0) for entry in status.get("containerStatuses") or ()), default=0),
        deletion_cost=_whole(annotations_of(pod).get(_DELETION_COST, "0")),
        cpu_millicores=cpu,
        memory_bytes=memory,
    )


def _named_node(pod: Obj) -> str:
    of_nodes = dig(pod, "spec", "affinity", "nodeAffinity")
    for term in dig(of_nodes, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", default=()):
        for field in term.get("matchFields") or ():
            values: list[str] = field.get("values") or []
            if field.get("key") == "metadata.name" and field.get("operator") == "In" and len(values) == 1:
                return values[0]
    return ""


def requests_of(spec: Obj) -> tuple[int, int]:
    """Return the millicores and bytes that a pod asks for, as the scheduler counts them."""
    containers = [_container_requests(container) for container in spec.get("containers") or ()]
    first = [_container_requests(container) for container in spec.get("initContainers") or ()]
    overhead = spec.get("overhead") or {}
    cpu = max(sum(cpu for cpu, _ in containers), max((cpu for cpu, _ in first), default=0))
    memory = max(sum(memory for _, memory in containers), max((memory for _, memory in first), default=0))
    return cpu + millicores(overhead.get("cpu", 0)), memory + whole_units(overhead.get("memory", 0))


def _container_requests(container: Obj) -> tuple[int, int]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return millicores(wanted.get("cpu", 0)), whole_units(wanted.get("memory", 0))


def _seconds(text: str | None) -> float:
    return parse_timestamp(text) if text else 0.0


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


Listener = Callable[[PodFacts | None, PodFacts | None], None]


class PodIndex:
    """The facts of all pods of a cluster, as of a moment ago."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._facts: dict[Key, PodFacts] = {}
        self._groups: dict[tuple[str, str], dict[Key, PodFacts]] = {}
        self._listeners: list[Listener] = []
        cache.subscribe(self._changed)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with the facts before and after each change to come, None where there were none."""
        self._listeners.append(listener)

    def get(self, key: Key) -> PodFacts | None:
        """Return the facts of one pod."""
        return self._facts.get(key)

    def owned_by(self, uid: str) -> list[PodFacts]:
        """Return the pods that an owner controls."""
        return list(self._groups.get(("owner", uid), {}).values())

    def orphans(self, namespace: str) -> list[PodFacts]:
        """Return the pods of a namespace that nobody controls."""
        return list(self._groups.get(("orphan", namespace), {}).values())

    def on_node(self, node: str) -> list[PodFacts]:
        """Return the pods bound to a node."""
        return list(self._groups.get(("node", node), {}).values())

    def in_namespace(self, namespace: str) -> list[PodFacts]:
        """Return the pods of a namespace."""
        return list(self._groups.get(("namespace", namespace), {}).values())

    def _changed(self, change: Change) -> None:
        old = self._facts.pop(change.key, None)
        stored = change.new
        new = None if stored is None else pod_facts(stored)
        if old is not None:
            self._leave_groups(old)
        if new is not None:
            self._facts[change.key] = new
            for group in _groups_of(new):
                self._groups.setdefault(group, {})[change.key] = new
        for listener in self._listeners:
            listener(old, new)

    def _leave_groups(self, facts: PodFacts) -> None:
        for group in _groups_of(facts):
            members = self._groups[group]
            del members[facts.key]
            if not members:
                del self._groups[group]


def _groups_of(facts: PodFacts) -> Iterator[tuple[str, str]]:
    yield "namespace", facts.key.namespace
    if facts.owner_uid:
        yield "owner", facts.owner_uid
    else:
        yield "orphan", facts.key.namespace
    if facts.node:
        yield "node", facts.node
