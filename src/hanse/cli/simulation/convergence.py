"""Whether a federation is as it was asked to be: no replica lost, none left over, and everything said truly.

Pure: everything that was read goes in, the sentences about what is wrong come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hanse.api.names import MANAGED_LABEL
from hanse.federated.reporting import PROPAGATION
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Key, Obj, controller_of, dig, is_deleting, key_of, labels_of, name_of, uid_of


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one API server holds, of the kinds that are judged; `federated` objects stand for others in the members."""

    deployments: Sequence[Obj] = ()
    replica_sets: Sequence[Obj] = ()
    pods: Sequence[Obj] = ()
    nodes: Sequence[Obj] = ()
    federated: Sequence[Obj] = ()


def problems(host: Holdings, clusters: Sequence[Obj], members: Mapping[str, Holdings]) -> list[str]:
    """Return what is not as it should be, one sentence each; none when the federation has converged."""
    found = [f"cluster {name_of(one)} is not Ready" for one in clusters if not _condition(one, "Ready")]
    for name, held in members.items():
        found += [f"{name}: {problem}" for problem in cluster_problems(held)]
    return [*found, *_federation_problems(host, members)]


def cluster_problems(held: Holdings) -> Iterator[str]:
    """Yield what is wrong within one cluster."""
    yield from (f"node {name_of(node)} is not Ready" for node in held.nodes if not _condition(node, "Ready"))
    for deployment in held.deployments:
        yield from _deployment_problems(deployment)
    owners = {uid_of(one): one for one in held.replica_sets}
    alive = {uid_of(one) for one in held.deployments}
    owned: Counter[str] = Counter()
    for pod in held.pods:
        owner = controller_of(pod)
        if owner is not None and owner.get("kind") == "ReplicaSet":
            owned[str(owner["uid"])] += 1
            if owner["uid"] not in owners:
                yield f"pod {key_of(pod)} is left over: its ReplicaSet is gone"
        yield from _pod_problems(pod, held.nodes)
    for one in held.replica_sets:
        parent = controller_of(one)
        if parent is not None and parent.get("kind") == "Deployment" and parent["uid"] not in alive:
            yield f"ReplicaSet {key_of(one)} is left over: its Deployment is gone"
        wanted = dig(one, "spec", "replicas", default=0)
        if owned[uid_of(one)] != wanted:
            yield f"ReplicaSet {key_of(one)} has {owned[uid_of(one)]} pods and should have {wanted}"
    yield from _twice_used(held.pods)


def _deployment_problems(deployment: Obj) -> Iterator[str]:
    status = deployment.get("status") or {}
    wanted = dig(deployment, "spec", "replicas", default=0)
    counts = {name: status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
    wrong = [f"{name} is {count}" for name, count in counts.items() if count != wanted]
    if wrong:
        yield f"Deployment {key_of(deployment)} should have {wanted} replicas: {', '.join(wrong)}"
    if status.get("observedGeneration", 0) != deployment["metadata"].get("generation"):
        yield f"Deployment {key_of(deployment)}: its last change was not observed"


def _pod_problems(pod: Obj, nodes: Sequence[Obj]) -> Iterator[str]:
    if is_deleting(pod):
        yield f"pod {key_of(pod)} is still ending"
    elif not _condition(pod, "Ready"):
        yield f"pod {key_of(pod)} is not ready: {dig(pod, 'status', 'phase', default='no phase')}"
    elif dig(pod, "spec", "nodeName") not in {name_of(node) for node in nodes}:
        yield f"pod {key_of(pod)} is on a node that is not there"


def _twice_used(pods: Sequence[Obj]) -> Iterator[str]:
    used = Counter(str(dig(pod, "status", "podIP", default="")) for pod in pods)
    yield from (f"{count} pods have the address {address}" for address, count in used.items() if address and count > 1)


def _federation_problems(host: Holdings, members: Mapping[str, Holdings]) -> Iterator[str]:
    sources = {key_of(one): one for one in host.deployments}
    spoken = {key_of(one) for one in host.federated if one["kind"] == "FederatedDeployment"}
    copies: Counter[Key] = Counter()
    for name, held in members.items():
        for copy in _managed(held.deployments):
            copies[key_of(copy)] += dig(copy, "spec", "replicas", default=0)
            if key_of(copy) not in sources and key_of(copy) not in spoken:
                yield f"{name}: the copy of Deployment {key_of(copy)} is left over"
    yield from _federated_problems(host.federated)
    for key, source in sources.items():
        if key in spoken:
            continue
        wanted = dig(source, "spec", "replicas", default=0)
        if copies[key] != wanted:
            yield f"Deployment {key} should have {wanted} replicas over all clusters and has {copies[key]}"
        told = dig(source, "status", "availableReplicas", default=0)
        if told != wanted:
            yield f"Deployment {key} tells of {told} available replicas and should tell of {wanted}"


def _federated_problems(objects: Iterable[Obj]) -> Iterator[str]:
    """Yield what federated objects themselves say; how their copies do is judged where those are."""
    for one in objects:
        if str(one["kind"]).endswith("Placement"):
            # It is told nothing.
            continue
        told = find_condition(dig(one, "status", "conditions"), PROPAGATION) or {}
        if told.get("status") != "True":
            why = told.get("message") or told.get("reason") or "nothing is said of it"
            yield f"{one['kind']} {key_of(one)} is not propagated: {why}"
        elif dig(one, "status", "observedGeneration", default=0) != one["metadata"].get("generation"):
            yield f"{one['kind']} {key_of(one)}: its last change was not observed"


def _managed(objects: Iterable[Obj]) -> Iterator[Obj]:
    return (one for one in objects if labels_of(one).get(MANAGED_LABEL) == "true")


def _condition(obj: Obj, kind: str) -> bool:
    return is_true(dig(obj, "status", "conditions"), kind)
