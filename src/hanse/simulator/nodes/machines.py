"""What simulated nodes look like: names, labels, capacity, status."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import canonical_quantity
from hanse.kube.resources import NODES
from hanse.simulator.networking.addresses import node_address
from hanse.simulator.settings import ClusterSettings

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOSTNAME = "kubernetes.io/hostname"
KUBELET_VERSION = "v1.36.3"

# API servers from 1.36 on pass WebSockets through to a node that says this, and speak SPDY to others.
_FEATURES = ["ExtendWebSocketsToKubelet"]
_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


@dataclass(frozen=True, slots=True)
class Machine:
    """One simulated node."""

    name: str
    address: str
    labels: dict[str, str]
    capacity: dict[str, str]
    # Where on loopback its kubelet answers; 0 where nothing does.
    kubelet_port: int = 0


def machines_of(settings: ClusterSettings, kubelet_port: int = 0) -> dict[str, Machine]:
    """Return the nodes of a cluster by name; its zones take turns."""
    found = {}
    for position in range(settings.nodes):
        name = f"{settings.name}-node-{position + 1}"
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        if settings.region:
            labels[REGION] = settings.region
        if settings.zones:
            labels[ZONE] = settings.zones[position % len(settings.zones)]
        capacity = {
            "cpu": canonical_quantity(settings.cpu),
            "memory": canonical_quantity(settings.memory),
            "pods": str(settings.pods),
            "ephemeral-storage": "100Gi",
        }
        found[name] = Machine(name, node_address(settings.index, position), labels, capacity, kubelet_port)
    return found


def node_manifest(machine: Machine, now: str) -> Obj:
    """Return a machine's Node as its kubelet registers it."""
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {
            "name": machine.name,
            "labels": machine.labels,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {},
        # Said once, where somebody listens: an API server that does not know the field leaves it out.
        "status": node_status(machine, {}, now) | ({"declaredFeatures": _FEATURES} if machine.kubelet_port else {}),
    }


def node_status(machine: Machine, before: Obj, now: str) -> Obj:
    """Return a healthy machine's status; what is right already keeps its times, and others' fields stay."""
    known: list[Obj] = before.get("conditions") or []
    ours = {kind for kind, _, _, _ in _HEALTHY}
    conditions = [entry for entry in known if entry.get("type") not in ours]
    for kind, status, reason, message in _HEALTHY:
        entry = find_condition(known, kind)
        if entry is None or (entry.get("status"), entry.get("reason")) != (status, reason):
            since = entry["lastTransitionTime"] if entry and entry.get("status") == status else now
            entry = {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": now,
                "lastTransitionTime": since,
            }
        conditions.append(entry)
    return {
        **before,
        "capacity": machine.capacity,
        "allocatable": machine.capacity,
        "conditions": conditions,
        "addresses": _addresses(machine),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": machine.kubelet_port or 10250}},
        "nodeInfo": _node_info(machine, dig(before, "nodeInfo", default={})),
    }


def _addresses(machine: Machine) -> list[Obj]:
    if machine.kubelet_port:
        # A host name would be asked for first, and nobody could resolve it.
        return [{"type": "InternalIP", "address": "127.0.0.1"}]
    return [{"type": "InternalIP", "address": machine.address}, {"type": "Hostname", "address": machine.name}]


def _node_info(machine: Machine, before: Obj) -> Obj:
    return {
        **before,
        "architecture": "amd64",
        "bootID": machine.name,
        "containerRuntimeVersion": "hanse://simulated",
        "kernelVersion": "6.1.0",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET_VERSION,
        "machineID": machine.name,
        "operatingSystem": "linux",
        "osImage": "Hanse simulated node",
        "systemUUID": machine.name,
    }
