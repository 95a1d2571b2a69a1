"""On which nodes a DaemonSet runs, and the pod that it makes for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, annotations_of, dig, labels_of, name_of
from hanse.simulator.scheduling.terms import NODE_NAME, NodeTerm
from hanse.simulator.scheduling.wishes import tolerated
from hanse.simulator.workloads.controller_revisions import POD_REVISION
from hanse.simulator.workloads.pod_writes import new_pod

TEMPLATE_GENERATION = "pod-template-generation"

_GENERATION = "deprecated.daemonset.template.generation"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# A daemon stays on a node that is in trouble: it may be what will help.
_TROUBLES = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class DaemonNode:
    """A node, and whether a daemon shall start there or, if it runs there, may stay."""

    name: str
    starts: bool
    stays: bool


def daemon_node(daemon_set: Obj, node: Obj) -> DaemonNode:
    """Judge a node for a DaemonSet; a taint that only keeps new pods out lets a running one stay."""
    spec: Obj = dig(daemon_set, "spec", "template", "spec", default={})
    name = name_of(node)
    if spec.get("nodeName") not in (None, "", name) or not _selected(spec, name, labels_of(node)):
        return DaemonNode(name, starts=False, stays=False)
    tolerations = _tolerations(spec)
    untolerated = {
        taint.get("effect") for taint in dig(node, "spec", "taints", default=[]) if not tolerated(taint, tolerations)
    }
    starts = not untolerated & {"NoSchedule", "NoExecute"}
    return DaemonNode(name, starts=starts, stays="NoExecute" not in untolerated)


def _selected(spec: Obj, name: str, labels: Mapping[str, str]) -> bool:
    selector: Mapping[str, str] = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    required = dig(spec, "affinity", "nodeAffinity", _REQUIRED)
    if required is None:
        return True
    return any(NodeTerm.of(term).matches(name, labels) for term in required.get("nodeSelectorTerms") or ())


def _tolerations(spec: Obj) -> list[Obj]:
    troubles = (*_TROUBLES, _NO_NETWORK) if spec.get("hostNetwork") else _TROUBLES
    added: list[Obj] = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in troubles]
    identities = [_identity(toleration) for toleration in added]
    kept = [entry for entry in spec.get("tolerations") or () if _identity(entry) not in identities]
    return [*kept, *added]


def _identity(toleration: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(toleration.get(field) or "" for field in ("key", "operator", "effect", "value"))


def daemon_pod(daemon_set: Obj, node: str, revision_hash: str) -> Obj:
    """Return the pod for a node; its affinity leads the scheduler there and nowhere else."""
    template = daemon_set["spec"]["template"]
    pod = new_pod(daemon_set, template)
    labels = {**dig(template, "metadata", "labels", default={}), POD_REVISION: revision_hash}
    if generation := template_generation(daemon_set):
        labels[TEMPLATE_GENERATION] = generation
    spec = template["spec"]
    affinity = spec.get("affinity") or {}
    named = {"matchFields": [{"key": NODE_NAME, "operator": "In", "values": [node]}]}
    of_nodes = {**(affinity.get("nodeAffinity") or {}), _REQUIRED: {"nodeSelectorTerms": [named]}}
    return {
        **pod,
        "metadata": {**pod["metadata"], "labels": labels},
        "spec": {**spec, "tolerations": _tolerations(spec), "affinity": {**affinity, "nodeAffinity": of_nodes}},
    }


def template_generation(daemon_set: Obj) -> str:
    """Return the number of the DaemonSet's template, as old clients count it; "" where it has none."""
    return annotations_of(daemon_set).get(_GENERATION, "")
