"""The small kinds of core/v1: namespaces, configuration, secrets, nodes, volumes, endpoints."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from hanse.apiserver.builtin.pod_spec import default_template
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import (
    FieldProblem,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, annotations_of, dig

_SIZE_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


def _prepare_namespace(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    finalizers = spec.setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    obj["status"] = {"phase": "Active"}


def _default_namespace(obj: Obj) -> None:
    name = obj["metadata"].get("name")
    if name:
        labels = dict(obj["metadata"].get("labels") or {})
        labels.setdefault("kubernetes.io/metadata.name", name)
        obj["metadata"]["labels"] = labels


def _keep_namespace_finalizers(new: Obj, old: Obj) -> None:
    new["spec"] = {**(new.get("spec") or {}), "finalizers": dig(old, "spec", "finalizers", default=[])}
    if not new["spec"]["finalizers"]:
        del new["spec"]["finalizers"]
    new["status"] = old.get("status") or {}


def _validate_configmap(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = []
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in (*data, *binary):
        problems += _key_problems(key, "data" if key in data else "binaryData")
        if key in data and key in binary:
            problems.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
    size = sum(len(str(value).encode()) for value in (*data.values(), *binary.values()))
    if size > _SIZE_LIMIT:
        told = f"Too long: may not be more than {_SIZE_LIMIT} bytes"
        problems.append(FieldProblem("", "FieldValueTooLong", told))
    return problems + _frozen_problems(obj, old, ("data", "binaryData"))


def _key_problems(key: str, field: str) -> list[FieldProblem]:
    if not key or any(not (one.isascii() and (one.isalnum() or one in "-_.")) for one in key):
        told = (
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
        return [invalid_value(f"{field}[{key}]", key, told)]
    if len(key) > 253:
        return [invalid_value(f"{field}[{key}]", key, "must be no more than 253 characters")]
    return []


def _frozen_problems(obj: Obj, old: Obj | None, fields: tuple[str, ...]) -> list[FieldProblem]:
    if old is None or not old.get("immutable"):
        return []
    problems = []
    if not obj.get("immutable"):
        problems.append(forbidden_value("immutable", _FROZEN))
    return problems + [forbidden_value(name, _FROZEN) for name in fields if obj.get(name) != old.get(name)]


def _default_secret(obj: Obj) -> None:
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.setdefault("data", {})
        for key, value in plain.items():
            data[key] = base64.b64encode(str(value).encode()).decode()


_NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _validate_secret(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    data = obj.get("data") or {}
    problems = []
    size = 0
    for key, value in data.items():
        problems += _key_problems(key, "data")
        try:
            size += len(base64.b64decode(value or "", validate=True))
        except (binascii.Error, ValueError):
            problems.append(invalid_value(f"data[{key}]", value, "illegal base64 data"))
    if size > _SIZE_LIMIT:
        problems.append(
            FieldProblem("data", "FieldValueTooLong", f"Too long: may not be more than {_SIZE_LIMIT} bytes")
        )
    problems += [
        required_value(f"data[{key}]") for key in _NEEDED_KEYS.get(str(obj.get("type")), ()) if key not in data
    ]
    account = "kubernetes.io/service-account.name"
    if obj.get("type") == "kubernetes.io/service-account-token" and not annotations_of(obj).get(account):
        problems.append(required_value(f"metadata.annotations[{account}]"))
    if old is not None and obj.get("type") != old.get("type"):
        problems.append(invalid_value("type", obj.get("type"), "field is immutable"))
    return problems + _frozen_problems(obj, old, ("data",))


def _default_node(obj: Obj) -> None:
    node_status = obj.setdefault("status", {})
    if isinstance(node_status.get("capacity"), dict):
        node_status.setdefault("allocatable", dict(node_status["capacity"]))


def _default_claim(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")


def _validate_claim(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    problems = []
    if not spec.get("accessModes"):
        problems.append(required_value("spec.accessModes", "at least 1 access mode is required"))
    if not dig(spec, "resources", "requests", "storage"):
        problems.append(required_value("spec.resources[storage]"))
    if old is not None and _claim_core(spec) != _claim_core(old["spec"]):
        told = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        problems.append(forbidden_value("spec", told))
    return problems


def _claim_core(spec: Obj) -> Obj:
    skipped = ("resources", "volumeName", "volumeAttributesClassName")
    return {name: value for name, value in spec.items() if name not in skipped}


def _default_volume(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if isinstance(spec.get("hostPath"), dict):
        spec["hostPath"].setdefault("type", "")


def _validate_volume(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    problems = []
    if not spec.get("accessModes"):
        problems.append(required_value("spec.accessModes"))
    if not spec.get("capacity"):
        problems.append(required_value("spec.capacity"))
        problems.append(unsupported_value("spec.capacity", None, ("storage",)))
    if not set(spec) - _VOLUME_SETTINGS:
        problems.append(required_value("spec", "must specify a volume type"))
    return problems


_VOLUME_SETTINGS = {
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
}  # fmt: skip


def _default_endpoints(obj: Obj) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _default_limits(obj: Obj) -> None:
    for item in dig(obj, "spec", "limits", default=[]):
        if item.get("type") != "Container":
            continue
        limits = item.setdefault("default", {})
        for name, amount in (item.get("max") or {}).items():
            limits.setdefault(name, amount)
        requests = item.setdefault("defaultRequest", {})
        for given in (limits, item.get("min") or {}):
            for name, amount in given.items():
                requests.setdefault(name, amount)
        for name in ("default", "defaultRequest"):
            if not item[name]:
                del item[name]


def _default_pod_template(obj: Obj) -> None:
    default_template(obj.setdefault("template", {}))


def _field(*path: str) -> Any:
    return lambda obj: str(dig(obj, *path, default=""))


NAMESPACE = Strategy(
    _default_namespace,
    prepare_create=_prepare_namespace,
    prepare_update=_keep_namespace_finalizers,
    name_rule="label",
    selectable={"status.phase": _field("status", "phase"), "name": _field("metadata", "name")},
)
CONFIGMAP = Strategy(validate=_validate_configmap)
SECRET = Strategy(_default_secret, _validate_secret, selectable={"type": _field("type")})
NODE = Strategy(
    _default_node, selectable={"spec.unschedulable": lambda obj: str(bool(dig(obj, "spec", "unschedulable"))).lower()}
)
CLAIM = Strategy(_default_claim, _validate_claim, new_status={"phase": "Pending"})
VOLUME = Strategy(_default_volume, _validate_volume, new_status={"phase": "Pending"})
ENDPOINTS = Strategy(_default_endpoints, create_on_update=True)
QUOTA = Strategy(new_status={})
POD_TEMPLATE = Strategy(_default_pod_template, counts_generation=True)
SERVICE_ACCOUNT = Strategy()
LIMIT_RANGE = Strategy(_default_limits, create_on_update=True)
