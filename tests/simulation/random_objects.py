"""Objects that users of a random world write: of many kinds, small, and with an essence that can be compared.

The essence of an object is what its user chose, without what servers add and without what others put into a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from hanse.api.names import (
    CLUSTER_SELECTOR_ANNOTATION,
    DELETION_ANNOTATION,
    DRIFT_ANNOTATION,
    SINGLETON_ANNOTATION,
)
from hanse.api.plain_kinds import DAEMON_SETS, INGRESSES, JOBS, NETWORK_POLICIES, STATEFUL_SETS
from hanse.kube.manifest import Obj, annotations_of, dig, labels_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, SERVICES, Resource
from hanse.native.kinds import DEFAULT_KINDS

T = TypeVar("T")
# What others put into a member's object begins with this word, wherever it stands.
THEIRS = "theirs"
# What somebody sets a rendered field to; it is theirs as soon as the source no longer has the field.
DRIFTED = "drifted"
TIERS = ("gold", "iron", "tin")
_COLORS = ("red", "green", "blue", "amber")
_MALFORMED = "{"


class Chance:
    """Choices that follow from a seed."""

    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self.between = uniform

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[min(int(self.between(0, len(choices))), len(choices) - 1)]

    def happens(self, share: float) -> bool:
        return self.between(0.0, 1.0) < share

    def count(self, least: int, most: int) -> int:
        return min(int(self.between(least, most + 1)), most)


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind is made up, and what of it counts; a `fixed` one cannot be changed once it is there."""

    resource: Resource
    body: Callable[[Chance, str], Obj]
    essence: Callable[[Obj], Any]
    weight: int = 1
    fixed: bool = False


def _data(chance: Chance, _name: str) -> Obj:
    return {"data": {color: str(chance.count(0, 99)) for color in _COLORS if chance.happens(0.5)}}


def _secret(chance: Chance, _name: str) -> Obj:
    return {"data": {color: "c2VjcmV0" for color in _COLORS if chance.happens(0.5)}, "type": "Opaque"}


def _service(chance: Chance, name: str) -> Obj:
    ports = [{"name": color, "port": 1000 + place} for place, color in enumerate(_COLORS) if chance.happens(0.4)]
    return {"spec": {"selector": {"app": name}, "ports": ports or [{"name": "red", "port": 80}]}}


def _template(chance: Chance, name: str) -> Obj:
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": f"web:{chance.count(1, 4)}"}]},
    }


def _workload(chance: Chance, name: str) -> Obj:
    replicas, selector = chance.count(1, 6), {"matchLabels": {"app": name}}
    return {"spec": {"replicas": replicas, "selector": selector, "template": _template(chance, name)}}


def _stateful_set(chance: Chance, name: str) -> Obj:
    body = _workload(chance, f"{name}-state")
    body["spec"] |= {"serviceName": name, "replicas": chance.count(1, 4)}
    return body


def _daemon_set(chance: Chance, name: str) -> Obj:
    app = f"{name}-daemon"
    return {"spec": {"selector": {"matchLabels": {"app": app}}, "template": _template(chance, app)}}


def _job(chance: Chance, name: str) -> Obj:
    template = _template(chance, f"{name}-job")
    template["spec"]["restartPolicy"] = "Never"
    return {"spec": {"parallelism": chance.count(1, 3), "completions": chance.count(1, 6), "template": template}}


def _network_policy(chance: Chance, name: str) -> Obj:
    return {"spec": {"podSelector": {"matchLabels": {"app": name, "color": chance.one_of(_COLORS)}}}}


def _ingress(chance: Chance, name: str) -> Obj:
    backend = {"service": {"name": name, "port": {"number": chance.count(80, 90)}}}
    return {"spec": {"defaultBackend": backend}}


def _own(mapping: Any) -> Any:
    return {name: value for name, value in (mapping or {}).items() if not name.startswith(THEIRS) and value != DRIFTED}


def _ports(obj: Obj) -> list[tuple[str, int]]:
    # Entries of a keyed list keep the order that they have in the member.
    return sorted((port["name"], port["port"]) for port in obj["spec"]["ports"])


def _image(obj: Obj) -> str:
    return str(dig(obj, "spec", "template", "spec", "containers")[0]["image"])


_ALL_KINDS: tuple[Kind, ...] = (
    Kind(CONFIGMAPS, _data, lambda obj: _own(obj.get("data")), weight=4),
    Kind(SECRETS, _secret, lambda obj: _own(obj.get("data")), weight=2),
    Kind(SERVICE_ACCOUNTS, lambda _chance, _name: {}, lambda _obj: None),
    Kind(SERVICES, _service, _ports, weight=2),
    Kind(DEPLOYMENTS, _workload, _image, weight=5),
    Kind(NETWORK_POLICIES, _network_policy, lambda obj: dig(obj, "spec", "podSelector")),
    Kind(INGRESSES, _ingress, lambda obj: dig(obj, "spec", "defaultBackend", "service", "port")),
    # Written only where a theme asks for them.
    Kind(STATEFUL_SETS, _stateful_set, _image, weight=0),
    Kind(DAEMON_SETS, _daemon_set, _image, weight=0),
    Kind(JOBS, _job, _image, weight=0, fixed=True),
)
KINDS = tuple(kind for kind in _ALL_KINDS if kind.resource in DEFAULT_KINDS)


def essence(kind: Kind, obj: Obj) -> Any:
    """Return what its user chose of an object, in the federation and in a member alike."""
    labels = _own({name: value for name, value in labels_of(obj).items() if name == "color"})
    notes = {name: value for name, value in annotations_of(obj).items() if name == "note"}
    return kind.essence(obj), labels, notes


def make_up(chance: Chance, kind: Kind, name: str, namespace: str) -> Obj:
    """Return an object of a kind with everything about it left to chance."""
    metadata: Obj = {"name": name, "namespace": namespace, "annotations": {}, "labels": {}}
    if chance.happens(0.5):
        metadata["labels"]["color"] = chance.one_of(_COLORS)
    if chance.happens(0.3):
        metadata["annotations"]["note"] = chance.one_of(_COLORS)
    if chance.happens(0.35):
        metadata["annotations"][CLUSTER_SELECTOR_ANNOTATION] = selector(chance)
    if chance.happens(0.15):
        metadata["annotations"][DELETION_ANNOTATION] = "orphan"
    if chance.happens(0.1):
        metadata["annotations"][DRIFT_ANNOTATION] = "report"
    if kind.resource == DEPLOYMENTS and chance.happens(0.15):
        metadata["annotations"][SINGLETON_ANNOTATION] = "true"
    resource = kind.resource
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **kind.body(chance, name)}


def selector(chance: Chance) -> str:
    """Return a cluster selector by tier, now and then one that cannot be read."""
    if chance.happens(0.15):
        return _MALFORMED
    wanted = [tier for tier in TIERS if chance.happens(0.6)] or ["gold"]
    return orjson.dumps([{"key": "tier", "operator": "In", "values": wanted}]).decode()


def selects(source: Obj, cluster: Obj) -> bool | None:
    """Tell whether a source goes into a cluster; None where its selector cannot be read."""
    text = annotations_of(source).get(CLUSTER_SELECTOR_ANNOTATION)
    if text is None:
        return True
    if text == _MALFORMED:
        return None
    (requirement,) = orjson.loads(text)
    return labels_of(cluster).get("tier") in requirement["values"]


def namespace(name: str) -> Obj:
    """Return a Namespace."""
    return {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
