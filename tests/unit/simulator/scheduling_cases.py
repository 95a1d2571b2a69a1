"""Pods that fit nowhere, each with the nodes and objects around it: the questions put to both schedulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hanse.kube.manifest import Obj

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Case:
    """One pod that waits, and what it waits beside."""

    name: str
    pod: Obj
    nodes: Sequence[Obj] = ()
    pods: Sequence[Obj] = ()
    objects: Sequence[Obj] = field(default=())


def node(name: str, *, labels: Mapping[str, str] | None = None, zone: str = "", **parts: Any) -> Obj:
    """Make a Node of four cores, 8Gi and ten pods; `spec` fields and amounts can be given."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "10Gi", **parts.pop("amounts", {})}
    own = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    status = {"capacity": amounts, "allocatable": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "spec": parts,
        "status": status,
    }


def nodes(count: int, **parts: Any) -> list[Obj]:
    """Make several alike."""
    return [node(f"n{position}", **parts) for position in range(1, count + 1)]


def pod(
    name: str = "wanting",
    *,
    asks: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Obj:
    """Make a pod of one container."""
    container: Obj = {"name": "main", "image": "busybox:1"}
    if asks:
        container["resources"] = {"requests": dict(asks), "limits": {key: asks[key] for key in asks if "/" in key}}
    if ports := spec.pop("hostPorts", ()):
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    metadata = {"name": name, "namespace": "default", "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def required_nodes(*terms: Obj) -> Obj:
    """Make the affinity that asks for one of these node selector terms."""
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}},
    }


def expression(key: str, operator: str, *values: str) -> Obj:
    """Make one match expression."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def near(kind: str, app: str, topology: str = HOSTNAME, **more: Any) -> Obj:
    """Make a required podAffinity or podAntiAffinity to pods of an app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology, **more}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str = ZONE, app: str = "web", **more: Any) -> list[Obj]:
    """Make one hard topology spread constraint."""
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**constraint, **more}]


def claiming(*claims: str) -> Obj:
    """Make the volumes of a pod that uses claims."""
    return {"volumes": [{"name": f"v-{claim}", "persistentVolumeClaim": {"claimName": claim}} for claim in claims]}


def claim(name: str, storage_class: str, *, volume: str = "", modes: Sequence[str] = ("ReadWriteOnce",)) -> Obj:
    """Make a PersistentVolumeClaim; naming its volume makes it a bound one."""
    spec = {
        "accessModes": list(modes),
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
        **({"volumeName": volume} if volume else {}),
    }
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    metadata = {"name": name, "namespace": "default", "annotations": bound}
    status = {"phase": "Bound" if volume else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def storage_class(name: str, mode: str, provisioner: str = "kubernetes.io/no-provisioner") -> Obj:
    """Make a StorageClass."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": provisioner, "volumeBindingMode": mode}


def volume(name: str, storage_class_name: str, *, on: Obj | None = None, **metadata: Any) -> Obj:
    """Make a PersistentVolume, reachable from the nodes of one selector term."""
    spec: Obj = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class_name,
        "hostPath": {"path": "/data"},
    }
    if on is not None:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [on]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, **metadata}, "spec": spec}


def priority(name: str, value: int, **more: Any) -> Obj:
    """Make a PriorityClass."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**head, "value": value, **more}


def on(node_name: str, name: str = "there", **parts: Any) -> Obj:
    """Make a pod that runs on a node already."""
    return pod(name, nodeName=node_name, **parts)


_ZONES = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="c")]
_FULL = [on(f"n{position}", f"there-{position}", asks={"cpu": "3500m"}) for position in (1, 2, 3)]
_LATE, _NOW = storage_class("late", "WaitForFirstConsumer"), storage_class("now", "Immediate")
_NO_LABEL = node("n3")

CASES: tuple[Case, ...] = (
    Case("there are no nodes", pod()),
    Case("no node has so much cpu", pod(asks={"cpu": "5"}), nodes(3)),
    Case("others have taken the cpu", pod(asks={"cpu": "1"}), nodes(3), _FULL),
    Case(
        "cpu is taken on some and too little on others",
        pod(asks={"cpu": "2"}),
        [node("n1"), node("n2", amounts={"cpu": "1"}), node("n3", amounts={"cpu": "1"})],
        [_FULL[0]],
    ),
    Case("neither cpu nor memory", pod(asks={"cpu": "5", "memory": "9Gi"}), nodes(2)),
    Case(
        "cpu here, memory there",
        pod(asks={"cpu": "2", "memory": "4Gi"}),
        [node("n1", amounts={"cpu": "1"}), node("n2", amounts={"memory": "1Gi"})],
    ),
    Case("no node has such a device", pod(asks={"example.com/gpu": "1"}), nodes(2)),
    Case(
        "the devices are taken",
        pod(asks={"example.com/gpu": "2"}),
        nodes(1, amounts={"example.com/gpu": "2"}),
        [on("n1", asks={"example.com/gpu": "1"})],
    ),
    Case("too little ephemeral storage", pod(asks={"ephemeral-storage": "11Gi"}), nodes(2)),
    Case("too many pods", pod(), nodes(1, amounts={"pods": "1"}), [on("n1")]),
    Case(
        "too many pods and too little cpu",
        pod(asks={"cpu": "3"}),
        nodes(1, amounts={"pods": "1"}),
        [on("n1", asks={"cpu": "2"})],
    ),
    Case("every node is cordoned", pod(), nodes(3, unschedulable=True)),
    Case("taints that are not tolerated", pod(), nodes(2, taints=[GPU])),
    Case(
        "a toleration of another value",
        pod(tolerations=[{"key": "gpu", "value": "no", "effect": "NoSchedule"}]),
        nodes(1, taints=[GPU]),
    ),
    Case("a taint that evicts", pod(), nodes(1, taints=[{"key": "broken", "effect": "NoExecute"}])),
    Case(
        "one cordoned, one tainted, one too small",
        pod(asks={"cpu": "5"}),
        [node("n1", unschedulable=True), node("n2", taints=[GPU]), node("n3")],
    ),
    Case(
        "counts are sorted as text",
        pod(asks={"cpu": "5"}),
        [*nodes(10), node("m1", taints=[GPU]), node("m2", taints=[GPU]), node("m3", unschedulable=True)],
    ),
    Case("a node selector that no node matches", pod(nodeSelector={"disk": "ssd"}), nodes(3)),
    Case(
        "a required zone that is not there",
        pod(affinity=required_nodes({"matchExpressions": [expression(ZONE, "In", "d", "e")]})),
        _ZONES,
    ),
    Case(
        "a number that no label exceeds",
        pod(affinity=required_nodes({"matchExpressions": [expression("generation", "Gt", "7")]})),
        nodes(2, labels={"generation": "7"}),
    ),
    Case(
        "selector and affinity must both match",
        pod(nodeSelector={ZONE: "a"}, affinity=required_nodes({"matchExpressions": [expression(ZONE, "In", "b")]})),
        _ZONES,
    ),
    Case(
        "a node of a name that is not there",
        pod(affinity=required_nodes({"matchFields": [expression("metadata.name", "In", "n9")]})),
        nodes(2),
    ),
    Case(
        "a node of a name that is full",
        pod(asks={"cpu": "1"}, affinity=required_nodes({"matchFields": [expression("metadata.name", "In", "n1")]})),
        nodes(3),
        _FULL,
    ),
    Case(
        "two names at once",
        pod(
            affinity=required_nodes(
                {"matchFields": [expression("metadata.name", "In", "n1"), expression("metadata.name", "In", "n2")]}
            )
        ),
        nodes(2),
    ),
    Case(
        "the host port is taken",
        pod(hostPorts=[8080]),
        nodes(2),
        [on(f"n{position}", f"there-{position}", hostPorts=[8080]) for position in (1, 2)],
    ),
    Case("nobody to be near to", pod(affinity=near("podAffinity", "db")), nodes(2)),
    Case(
        "the neighbour's zone is cordoned",
        pod(affinity=near("podAffinity", "db", ZONE)),
        [node("n1", zone="a", unschedulable=True), node("n2", zone="b")],
        [on("n1", labels={"app": "db"})],
    ),
    Case(
        "a neighbour of another namespace",
        pod(affinity=near("podAffinity", "db", namespaces=["elsewhere"])),
        nodes(1),
        [on("n1", labels={"app": "db"})],
    ),
    Case(
        "one of its kind everywhere",
        pod(labels={"app": "web"}, affinity=near("podAntiAffinity", "web")),
        nodes(2),
        [on(f"n{position}", f"there-{position}", labels={"app": "web"}) for position in (1, 2)],
    ),
    Case(
        "those that are there do not want it",
        pod(labels={"app": "web"}),
        nodes(1),
        [on("n1", affinity=near("podAntiAffinity", "web"))],
    ),
    Case(
        "unwanted by some, too small the others",
        pod(labels={"app": "web"}, asks={"cpu": "2"}),
        [node("n1"), node("n2", amounts={"cpu": "1"})],
        [on("n1", affinity=near("podAntiAffinity", "web"))],
    ),
    Case(
        "zones would be too uneven",
        pod(labels={"app": "web"}, topologySpreadConstraints=spread()),
        [node("n1", zone="a"), node("n2", zone="b", unschedulable=True)],
        [on("n1", labels={"app": "web"})],
    ),
    Case(
        "too few zones",
        pod(labels={"app": "web"}, topologySpreadConstraints=spread(minDomains=3)),
        [node("n1", zone="a"), node("n2", zone="b")],
        [on("n1", labels={"app": "web"}), on("n2", "there-2", labels={"app": "web"})],
    ),
    Case(
        "a node without the label to spread over",
        pod(labels={"app": "web"}, topologySpreadConstraints=spread()),
        [node("n1", zone="a", unschedulable=True), node("n2", zone="b"), _NO_LABEL],
        [on("n2", labels={"app": "web"})],
    ),
    Case("no such claim", pod(**claiming("data")), nodes(2)),
    Case("a claim that is not bound yet", pod(**claiming("data")), nodes(2), objects=[_NOW, claim("data", "now")]),
    Case("no volume for a claim that waits", pod(**claiming("data")), nodes(2), objects=[_LATE, claim("data", "late")]),
    Case(
        "the volume is elsewhere",
        pod(**claiming("data")),
        _ZONES,
        objects=[
            _LATE,
            volume("pv", "late", on={"matchExpressions": [expression(ZONE, "In", "z")]}),
            claim("data", "late", volume="pv"),
        ],
    ),
    Case("the volume is gone", pod(**claiming("data")), nodes(2), objects=[_LATE, claim("data", "late", volume="pv")]),
    Case(
        "the volume is in a zone that is full",
        pod(asks={"cpu": "1"}, **claiming("data")),
        _ZONES,
        _FULL[:1],
        [
            _LATE,
            volume("pv", "late", on={"matchExpressions": [expression(ZONE, "In", "a")]}),
            claim("data", "late", volume="pv"),
        ],
    ),
    Case(
        "the volume's own zone label",
        pod(**claiming("data")),
        _ZONES,
        objects=[_LATE, volume("pv", "late", labels={ZONE: "z"}), claim("data", "late", volume="pv")],
    ),
    Case(
        "a claim for one pod that has one",
        pod(**claiming("data")),
        nodes(1),
        [on("n1", **claiming("data"))],
        [_LATE, volume("pv", "late"), claim("data", "late", volume="pv", modes=["ReadWriteOncePod"])],
    ),
    Case(
        "a pod that must not push others out",
        pod(asks={"cpu": "1"}, priorityClassName="polite"),
        nodes(1),
        _FULL[:1],
        [priority("polite", 1000, preemptionPolicy="Never")],
    ),
    Case(
        "pushing the humble out is not enough",
        pod(asks={"cpu": "4"}, priorityClassName="high"),
        nodes(1),
        [on("n1", "humble", asks={"cpu": "1"}), on("n1", "proud", asks={"cpu": "1"}, priorityClassName="high")],
        [priority("high", 1000)],
    ),
    Case(
        "pushing out helps with nothing that is tainted",
        pod(asks={"cpu": "4"}, priorityClassName="high"),
        [node("n1"), node("n2", taints=[GPU])],
        [on("n1", "proud", asks={"cpu": "1"}, priorityClassName="high")],
        [priority("high", 1000)],
    ),
)
