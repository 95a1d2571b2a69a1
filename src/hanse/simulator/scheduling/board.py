"""The nodes of a cluster and the pods that stand on them, as the scheduler sees them at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hanse.kube.manifest import Key, Obj, controller_of, dig, is_deleting, key_of, labels_of, name_of, uid_of
from hanse.kube.runtime import parse_timestamp
from hanse.simulator.scheduling.amounts import PODS, Amounts, amounts_of, less, pod_requests, total
from hanse.simulator.scheduling.terms import Namespaces, PodTerm

HostPort = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """A node: what it is and what it has."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()
    cordoned: bool = False
    capacity: Amounts = field(default_factory=dict)

    @classmethod
    def of(cls, node: Obj) -> NodeOffer:
        """Read a node's manifest."""
        spec = node.get("spec") or {}
        capacity = amounts_of(dig(node, "status", "allocatable", default={}))
        taints = tuple(spec.get("taints") or ())
        return cls(name_of(node), labels_of(node), taints, bool(spec.get("unschedulable")), capacity)


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod on a node, as far as it matters to those that come after it."""

    key: Key
    uid: str
    labels: Mapping[str, str]
    node: str
    requests: Amounts
    priority: int = 0
    created: float = 0.0
    deleting: bool = False
    owner_uid: str = ""
    ports: frozenset[HostPort] = frozenset()
    claims: frozenset[str] = frozenset()
    keeps_away: tuple[PodTerm, ...] = ()

    @property
    def namespace(self) -> str:
        """The namespace it is in."""
        return self.key.namespace

    @classmethod
    def of(cls, pod: Obj, node: str) -> PlacedPod:
        """Read a pod's manifest as of being on a node."""
        spec, metadata = pod["spec"], pod["metadata"]
        bare = cls(key_of(pod), uid_of(pod), labels_of(pod), node, {})
        terms = dig(spec, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", default=[])
        created = metadata.get("creationTimestamp")
        return cls(
            key=bare.key,
            uid=bare.uid,
            labels=bare.labels,
            node=node,
            requests={**pod_requests(spec), PODS: 1},
            priority=int(spec.get("priority") or 0),
            created=parse_timestamp(created) if created else 0.0,
            deleting=is_deleting(pod),
            owner_uid=(controller_of(pod) or {}).get("uid", ""),
            ports=host_ports(spec),
            claims=frozenset(claims_of(spec)),
            keeps_away=tuple(PodTerm.of(term, bare) for term in terms),
        )


def host_ports(spec: Obj) -> frozenset[HostPort]:
    """Return the ports of its node that a pod wants, each with address and protocol."""
    ports = [port for container in spec.get("containers") or () for port in container.get("ports") or ()]
    return frozenset(
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", int(port["hostPort"]))
        for port in ports
        if port.get("hostPort")
    )


def claims_of(spec: Obj) -> list[str]:
    """Return the names of the PersistentVolumeClaims that a pod uses."""
    volumes: list[Obj] = spec.get("volumes") or []
    return [entry["persistentVolumeClaim"]["claimName"] for entry in volumes if entry.get("persistentVolumeClaim")]


class Board:
    """Nodes by name, and the pods on each."""

    def __init__(self, nodes: Iterable[NodeOffer] = (), pods: Iterable[PlacedPod] = ()) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.namespaces: Namespaces = {}
        self._pods: dict[Key, PlacedPod] = {}
        self._on: dict[str, dict[Key, PlacedPod]] = {}
        self._taken: dict[str, dict[str, int]] = {}
        self._keeping_away: dict[Key, PlacedPod] = {}
        self._siblings: Counter[tuple[str, str]] = Counter()
        for pod in pods:
            self.place(pod)

    def place(self, pod: PlacedPod) -> None:
        """Put a pod on its node; where it was known before it is there no more."""
        self.remove(pod.key)
        self._pods[pod.key] = pod
        self._on.setdefault(pod.node, {})[pod.key] = pod
        self._taken[pod.node] = total((self.taken(pod.node), pod.requests))
        self._siblings[pod.node, pod.owner_uid] += 1
        if pod.keeps_away:
            self._keeping_away[pod.key] = pod

    def remove(self, key: Key) -> PlacedPod | None:
        """Take a pod away; returns it."""
        pod = self._pods.pop(key, None)
        if pod is not None:
            del self._on[pod.node][key]
            self._taken[pod.node] = less(self._taken[pod.node], pod.requests)
            self._siblings[pod.node, pod.owner_uid] -= 1
            if not self._siblings[pod.node, pod.owner_uid]:
                del self._siblings[pod.node, pod.owner_uid]
            self._keeping_away.pop(key, None)
        return pod

    def get(self, key: Key) -> PlacedPod | None:
        """Return a pod that is on a node."""
        return self._pods.get(key)

    def on(self, node: str) -> Collection[PlacedPod]:
        """Return the pods of a node."""
        return self._on.get(node, {}).values()

    def siblings(self, node: str, owner_uid: str) -> int:
        """Return how many pods of an owner are on a node; of pods without one, none are siblings."""
        return self._siblings[node, owner_uid] if owner_uid else 0

    def taken(self, node: str) -> Amounts:
        """Return what the pods of a node ask for together."""
        return self._taken.get(node, {})

    def pods(self) -> Iterator[tuple[PlacedPod, NodeOffer]]:
        """Yield every pod with its node, where that is known."""
        return self._with_nodes(self._pods.values())

    def keeping_away(self) -> Iterator[tuple[PlacedPod, NodeOffer]]:
        """Yield the pods that want some others nowhere near."""
        return self._with_nodes(self._keeping_away.values())

    def _with_nodes(self, pods: Iterable[PlacedPod]) -> Iterator[tuple[PlacedPod, NodeOffer]]:
        for pod in pods:
            if (node := self.nodes.get(pod.node)) is not None:
                yield pod, node

    def without(self, pods: Iterable[PlacedPod]) -> Board:
        """Return the board as it would be if some pods were gone."""
        gone = {pod.key for pod in pods}
        board = Board(self.nodes.values(), (pod for pod in self._pods.values() if pod.key not in gone))
        board.namespaces = self.namespaces
        return board
