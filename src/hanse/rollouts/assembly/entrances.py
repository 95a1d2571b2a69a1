"""A Service for each release beside the one that all of them share, where clients outside are led by weights.

The shared one stays for clients inside of a cluster, and asks for no address outside any more: which release a client
outside reaches is decided by the address that it is told, so that each release needs its own.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping, Sequence

from hanse.api.service_addresses import BALANCER_ANNOTATION, FRONT_ANNOTATION
from hanse.api.shipper.kinds import APP_LABEL, BALANCED_LABEL, RELEASE_LABEL
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of
from hanse.rollouts.assembly.shapes import mapping_in
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem
from hanse.rollouts.weights.shares import ENTRANCE, ENTRANCE_LABEL, leads_by_weights

# What only a Service with an address outside may have.
_OUTSIDE = (
    "allocateLoadBalancerNodePorts",
    "externalTrafficPolicy",
    "healthCheckNodePort",
    "loadBalancerClass",
    "loadBalancerSourceRanges",
)
# What a cluster gives to one Service and to no other.
_ITS_OWN = ("clusterIP", "clusterIPs", "healthCheckNodePort")
# What would be the same address for every release.
_FIXED = ("externalIPs", "loadBalancerIP")
# What is asked for the name of the application, which is the shared Service's.
_FOR_THE_NAME = (FRONT_ANNOTATION, BALANCER_ANNOTATION)
_LONGEST_NAME = 63
_DIGEST = 10
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def own_entrances(objects: Sequence[Obj], shared: Obj, release: Obj) -> list[Obj]:
    """Return the Service of a release that is led to by weights, and take the address outside from the shared one.

    None is returned for other releases. The shared Service is changed in place; raises SourceProblem where it cannot
    be parted like that.
    """
    if not leads_by_weights(release):
        return []
    _demand_address(shared)
    own = copy.deepcopy(shared)
    own["metadata"]["name"] = entrance_name(release, shared)
    _refuse_twin(objects, own)
    _tie(own, release)
    _take_inside(shared)
    return [own]


def entrance_name(release: Obj, shared: Obj) -> str:
    """Return what the Service of a release is called, which has to be a label of DNS."""
    name = f"{name_of(release)}-{name_of(shared)}"
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    kept = re.sub(r"[^-a-z0-9]", "-", name.lower())
    kept = kept if kept[0].isalpha() else f"r-{kept}"
    return f"{kept[: _LONGEST_NAME - _DIGEST - 1].rstrip('-')}-{digest}"


def _demand_address(shared: Obj) -> None:
    label, spec = f'Service "{name_of(shared)}"', mapping_in(shared, "spec", of=f'Service "{name_of(shared)}"')
    if spec.get("type") != "LoadBalancer":
        raise SourceProblem(
            CHART_ERROR,
            f"{label}: spec.type is {spec.get('type') or 'ClusterIP'}, by which nobody outside is led; with "
            "strategy.trafficBy: Weights it must be LoadBalancer",
        )
    fixed = next((field for field in _FIXED if spec.get(field)), None)
    if fixed is not None:
        raise SourceProblem(
            CHART_ERROR,
            f"{label}: spec.{fixed} would be the address of every release, by which they cannot be told apart; with "
            "strategy.trafficBy: Weights leave it out, so that clusters give each release one of its own",
        )


def _refuse_twin(objects: Sequence[Obj], own: Obj) -> None:
    if any(obj.get("kind") == "Service" and name_of(obj) == name_of(own) for obj in objects):
        raise SourceProblem(
            CHART_ERROR,
            f'Service "{name_of(own)}" has the name of the Service by which clients outside are led to this release '
            "with strategy.trafficBy: Weights; give it another",
        )


def _tie(own: Obj, release: Obj) -> None:
    """Have a release's Service select its pods alone, and ask for nothing that another has."""
    metadata, spec = own["metadata"], own["spec"]
    metadata["labels"] = {name: each for name, each in labels_of(own).items() if name != BALANCED_LABEL}
    metadata["labels"][ENTRANCE_LABEL] = ENTRANCE
    kept = {name: each for name, each in annotations_of(own).items() if name not in _FOR_THE_NAME}
    metadata["annotations"] = kept
    selector: Mapping[str, str] = mapping_in(spec, "selector", of=f'Service "{name_of(own)}"')
    tied = {APP_LABEL: labels_of(release)[APP_LABEL], RELEASE_LABEL: name_of(release)}
    spec["selector"] = {**selector, **tied}
    _drop(spec, _ITS_OWN)


def _take_inside(shared: Obj) -> None:
    spec = shared["spec"]
    spec["type"] = "ClusterIP"
    _drop(spec, _OUTSIDE)


def _drop(spec: Obj, fields: Sequence[str]) -> None:
    for field in fields:
        spec.pop(field, None)
    for port in spec.get("ports") or ():
        if isinstance(port, dict):
            port.pop("nodePort", None)
