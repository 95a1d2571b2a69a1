"""Turns a Service and its pods into the Endpoints and EndpointSlices that a cluster shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hanse.kube.manifest import Obj, dig, labels_of, name_of, namespace_of, owner_reference
from hanse.kube.resources import ENDPOINT_SLICES, ENDPOINTS
from hanse.simulator.pods import PodFacts

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_HEADLESS = "service.kubernetes.io/headless"
# What one EndpointSlice can hold.
_MOST_ENDPOINTS = 1000


@dataclass(frozen=True, slots=True)
class Backends:
    """Pods of a Service that have the same numbers for the names of its ports."""

    named: Mapping[str, int]
    pods: Sequence[PodFacts]


def endpoints_of(service: Obj, backends: Sequence[Backends]) -> Obj:
    """Return a Service's Endpoints: subsets with the pods that are ready and those that are not."""
    subsets = [subset for part in backends if (subset := _subset(service, part))]
    return {
        "apiVersion": ENDPOINTS.api_version,
        "kind": ENDPOINTS.kind,
        "metadata": {
            "name": name_of(service),
            "namespace": namespace_of(service),
            "labels": {**labels_of(service), "endpoints.kubernetes.io/managed-by": "endpoint-controller"},
        },
        **({"subsets": subsets} if subsets else {}),
    }


def _subset(service: Obj, part: Backends) -> Obj:
    kept = [pod for pod in part.pods if not pod.deleting][:_MOST_ENDPOINTS]
    ready = [_address(pod) for pod in kept if pod.ready]
    unready = [_address(pod) for pod in kept if not pod.ready]
    subset: Obj = {}
    if ready:
        subset["addresses"] = ready
    if unready:
        subset["notReadyAddresses"] = unready
    if subset and (ports := _ports(service, part.named)):
        subset["ports"] = ports
    return subset


def slices_of(service: Obj, backends: Sequence[Backends], zones: Mapping[str, str]) -> list[Obj]:
    """Return a Service's EndpointSlices; the first is there even while there are no pods."""
    parts = [
        (_ports(service, part.named), part.pods[start : start + _MOST_ENDPOINTS])
        for part in backends
        for start in range(0, len(part.pods), _MOST_ENDPOINTS)
    ] or [(_ports(service, {}), ())]
    labels = {
        **labels_of(service),
        SERVICE_NAME: name_of(service),
        MANAGED_BY: "endpointslice-controller.k8s.io",
    }
    if dig(service, "spec", "clusterIP") == "None":
        labels[_HEADLESS] = ""
    return [
        {
            "apiVersion": ENDPOINT_SLICES.api_version,
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {
                "name": f"{name_of(service)}-{position}",
                "namespace": namespace_of(service),
                "labels": labels,
                "ownerReferences": [owner_reference(service)],
            },
            "addressType": "IPv4",
            "endpoints": [_endpoint(pod, zones.get(pod.node, "")) for pod in pods],
            "ports": ports,
        }
        for position, (ports, pods) in enumerate(parts)
    ]


def _ports(service: Obj, named: Mapping[str, int]) -> list[Obj]:
    found = []
    for port in dig(service, "spec", "ports", default=[]):
        number = _target(port.get("targetPort", port["port"]), named)
        if number is not None:
            entry = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
            if port.get("appProtocol"):
                entry["appProtocol"] = port["appProtocol"]
            found.append(entry)
    return found


def _target(target: Any, named: Mapping[str, int]) -> int | None:
    return target if isinstance(target, int) else named.get(str(target))


def _reference(pod: PodFacts) -> Obj:
    return {"kind": "Pod", "name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid}


def _address(pod: PodFacts) -> Obj:
    node = {"nodeName": pod.node} if pod.node else {}
    return {"ip": pod.ip, **node, "targetRef": _reference(pod)}


def _endpoint(pod: PodFacts, zone: str) -> Obj:
    made: Obj = {
        "addresses": [pod.ip],
        "conditions": {
            "ready": pod.ready and not pod.deleting,
            "serving": pod.ready,
            "terminating": pod.deleting,
        },
        "targetRef": _reference(pod),
    }
    if pod.node:
        made["nodeName"] = pod.node
    if zone:
        made["zone"] = zone
    return made
