"""The small kinds of core/v1: namespaces, configuration, secrets, nodes, endpoints, limits."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import Any

import orjson

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.pod_spec import default_template, template_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required_value,
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
    if key in (".", ".."):
        return [invalid_value(f"{field}[{key}]", key, f"must not be '{key}'")]
    return [invalid_value(f"{field}[{key}]", key, "must not start with '..'")] if key.startswith("..") else []


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
    problems += _known_shapes(str(obj.get("type")), data)
    account = "kubernetes.io/service-account.name"
    if obj.get("type") == "kubernetes.io/service-account-token" and not annotations_of(obj).get(account):
        problems.append(required_value(f"metadata.annotations[{account}]"))
    if old is not None and obj.get("type") != old.get("type"):
        problems.append(invalid_value("type", obj.get("type"), "field is immutable"))
    return problems + _frozen_problems(obj, old, ("data",))


def _known_shapes(kind: str, data: Obj) -> list[FieldProblem]:
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        return [required_value("data[username]"), required_value("data[password]")]
    for key in (".dockerconfigjson", ".dockercfg"):
        if kind == f"kubernetes.io/{key[1:]}" and key in data:
            return _json_problems(key, str(data[key] or ""))
    return []


def _json_problems(key: str, encoded: str) -> list[FieldProblem]:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
        orjson.loads(text)
    except orjson.JSONDecodeError:
        first = text.lstrip()[:1]
        told = (
            f"invalid character '{first}' looking for beginning of value" if first else "unexpected end of JSON input"
        )
        return [invalid_value(f"data[{key}]", "<secret contents redacted>", told)]
    except ValueError:
        return []  # told of as bad base64
    return []


def _default_node(obj: Obj) -> None:
    node_status = obj.setdefault("status", {})
    if isinstance(node_status.get("capacity"), dict):
        node_status.setdefault("allocatable", dict(node_status["capacity"]))


def _default_endpoints(obj: Obj) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate_endpoints(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    problems = []
    for place, subset in enumerate(obj.get("subsets") or ()):
        field = f"subsets[{place}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            problems.append(required_value(field, "must specify `addresses` or `notReadyAddresses`"))
        for listed in ("addresses", "notReadyAddresses"):
            for at, one in enumerate(subset.get(listed) or ()):
                problems += _endpoint_problems(f"{field}.{listed}[{at}].ip", one.get("ip") or "")
        for at, port in enumerate(subset.get("ports") or ()):
            problems += field_rules.port(f"{field}.ports[{at}].port", port.get("port"))
    return problems


def _endpoint_problems(field: str, address: str) -> list[FieldProblem]:
    wrong = field_rules.address(field, address)
    # Upstream asks twice, in two ways.
    return [*wrong, invalid_value(field, address, "must be a valid IP address")] if wrong else []


def _validate_node(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    problems = []
    seen: set[tuple[str, str]] = set()
    for place, taint in enumerate(dig(obj, "spec", "taints", default=None) or ()):
        # Upstream speaks of metadata here.
        field, key = f"metadata.taints[{place}]", (str(taint.get("key") or ""), str(taint.get("effect") or ""))
        problems += field_rules.qualified(f"{field}.key", key[0])
        problems += field_rules.one_of(f"{field}.effect", key[1], ("NoSchedule", "PreferNoSchedule", "NoExecute"))
        if key in seen:
            shown = {"Key": key[0], "Value": taint.get("value") or "", "Effect": key[1], "TimeAdded": None}
            told = duplicate_value(field, shown)
            problems.append(replace(told, message=f"{told.message}: taints must be unique by key and effect pair"))
        seen.add(key)
    return problems


def _validate_pod_template(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    return template_problems(obj.get("template") or {}, "template", restart=None)


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
    _default_node,
    _validate_node,
    selectable={"spec.unschedulable": lambda obj: str(bool(dig(obj, "spec", "unschedulable"))).lower()},
)
ENDPOINTS = Strategy(_default_endpoints, _validate_endpoints, create_on_update=True)
POD_TEMPLATE = Strategy(_default_pod_template, _validate_pod_template, counts_generation=True)
SERVICE_ACCOUNT = Strategy()
