"""What a namespace holds in every cluster, without what two runs never share: uids, versions, times, addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.pieces import PIECES
from hanse.api.placed_children import PLACED_CHILDREN
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.api.shipper.kinds import APPLICATIONS, RELEASES
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, SECRETS, SERVICES, Resource
from tests.behaviour.children_elsewhere import LIGHTHOUSES
from tests.crash_points.scenario import FEDERATED_CONFIGMAPS

HOST = "federation"
_PLAIN = (CONFIGMAPS, DEPLOYMENTS, PODS, SECRETS, SERVICES)
_ON_THE_HOST = (
    *_PLAIN,
    APPLICATIONS,
    FEDERATED_CONFIGMAPS,
    LIGHTHOUSES,
    PIECES,
    PLACED_CHILDREN,
    RELEASES,
    SERVICE_ADDRESSES,
    VITESS_CLUSTERS,
)
_IN_MEMBERS = (*_PLAIN, POD_CHAPERONS, VITESS_CLUSTERS)
# How often something was written is no part of what it is; who wrote a field is told by the fields themselves.
_LEFT_OUT = ("resourceVersion", "managedFields", "generation", "observedGeneration", "creationTimestamp", "selfLink")
_RANDOM = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-SUFFIX"),
    (re.compile(r"\berrand-[a-z0-9]{5}\b"), "errand-SUFFIX"),
    # Digests of what has the name of the namespace in it.
    (re.compile(r"\b(\d{10}\.)?[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "DIGEST"),
    # Whoever decides again on what is there already says that it stays.
    (
        re.compile(r"replicas it (gets \d+ after 0: it goes where most room is|keeps the \d+ that it has)"),
        "replicas PART",
    ),
    (re.compile(r"\bconfigmap-lamp-[0-9a-f]{10}\b"), "configmap-lamp-DIGEST"),
)
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Ending = dict[str, Any]


async def ending(clients: Mapping[str, Client], namespace: str) -> Ending:
    """Return every object of a namespace by cluster, kind and name, in the form that two runs have in common."""
    found: dict[str, list[Obj]] = {}
    for cluster, client in clients.items():
        for kind in _ON_THE_HOST if cluster == HOST else _IN_MEMBERS:
            found[f"{cluster}/{kind.kind}"] = await _listed(client, kind, namespace)
        own = await client.find(NAMESPACES, namespace)
        found[f"{cluster}/Namespace"] = [own] if own is not None else []
    return common_form(found, namespace)


def common_form(found: Mapping[str, list[Obj]], namespace: str) -> Ending:
    """Return objects by place and name, in the form that two runs have in common."""
    uids = {
        uid_of(obj): f"uid of {place}/{_stem(obj)}"
        for place, objects in found.items()
        for obj in objects
        if uid_of(obj)
    }
    return dict(sorted(_forms(found, uids, namespace)))


async def _listed(client: Client, kind: Resource, namespace: str) -> list[Obj]:
    try:
        return (await client.list(kind, namespace)).items
    except NotFound:
        return []


def _forms(found: Mapping[str, list[Obj]], uids: Mapping[str, str], namespace: str) -> Iterator[tuple[str, Any]]:
    for place, objects in found.items():
        numbers: Counter[str] = Counter()
        for text in sorted(
            _common(orjson.dumps(_form(obj), option=orjson.OPT_SORT_KEYS).decode(), uids, namespace) for obj in objects
        ):
            form = orjson.loads(text)
            name = form["metadata"]["name"]
            numbers[name] += 1
            yield f"{place}/{name}" + (f", number {numbers[name]}" if numbers[name] > 1 else ""), form


def _common(text: str, uids: Mapping[str, str], namespace: str) -> str:
    text = _UID.sub(lambda match: uids.get(match[0], "another uid"), text).replace(namespace, "NAMESPACE")
    for pattern, instead in _RANDOM:
        text = pattern.sub(instead, text)
    return text


def _form(obj: Obj) -> Any:
    named = {**obj, "metadata": {**obj["metadata"], "name": _stem(obj)}}
    return _without(named)


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(each) for key, each in value.items() if key not in _LEFT_OUT}
    if isinstance(value, list):
        kept = [_without(each) for each in value]
        # In which order conditions came to be is nobody's promise.
        return sorted(kept, key=lambda each: str(each.get("type"))) if kept and _are_conditions(kept) else kept
    return value


def _are_conditions(values: list[Any]) -> bool:
    return all(isinstance(each, dict) and {"type", "status"} <= each.keys() for each in values)


def _stem(obj: Obj) -> str:
    """Return an object's name without what a controller of Kubernetes' own, or a uid, put at its end."""
    generated = obj["metadata"].get("generateName", "")
    return f"{generated}SUFFIX" if generated else name_of(obj)


def differences(wanted: Ending, found: Ending) -> list[str]:
    """Return in which ways an ending is another one, a sentence each."""
    said = [f"{key} is missing" for key in wanted if key not in found]
    said += [f"{key} is left over" for key in found if key not in wanted]
    for key in wanted.keys() & found.keys():
        said += [f"{key}: {each}" for each in _differing(wanted[key], found[key])]
    return sorted(said)


def _differing(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            yield from _differing(wanted.get(key), found.get(key), f"{path}.{key}")
    elif wanted != found:
        yield f"{path} is {found!r} and was {wanted!r}"
