"""Deployments as an API server gives them back: 4 KB of JSON with managed fields, no two alike."""

from __future__ import annotations

import random

import orjson

from bench.harness.rest import Manifest
from bench.harness.workload import deployment

_NAME, _UID, _VERSION, _TEAM, _DIGEST = "@name@", "@uid@", "@version@", "@team@", "@digest@"
_HOLES = (_NAME, _UID, _VERSION, _TEAM, _DIGEST)
_SEED = 20_260_801
_CONTAINER_FIELDS = (
    "args",
    "env",
    "image",
    "imagePullPolicy",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
)
_STATUS_FIELDS = ("availableReplicas", "conditions", "observedGeneration", "readyReplicas", "replicas")


def _live() -> Manifest:
    obj = deployment("live", "cached", "default", _NAME)
    obj["metadata"] |= {
        "uid": _UID,
        "resourceVersion": _VERSION,
        "generation": 3,
        "creationTimestamp": "2026-08-01T06:02:11Z",
        "managedFields": [_entry("hanse", "Apply", ""), _entry("kube-controller-manager", "Update", "status")],
    }
    obj["metadata"]["labels"] |= {"team": _TEAM, "federation.hanse.dev/managed": "true"}
    # One container, so that the whole is 4 KB together with what the server adds.
    containers = obj["spec"]["template"]["spec"]["containers"]
    del containers[1:]
    containers[0]["image"] = f"registry.example.com/shop/storefront@sha256:{_DIGEST}"
    obj["status"] = {"observedGeneration": 3, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2}
    return obj


def _entry(manager: str, operation: str, subresource: str) -> Manifest:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": "2026-08-01T06:02:11Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": _owned(_STATUS_FIELDS)} if subresource else {"f:spec": _owned_spec()},
        **({"subresource": subresource} if subresource else {}),
    }


def _owned_spec() -> Manifest:
    container: Manifest = {'k:{"name":"app"}': {".": {}} | _owned(_CONTAINER_FIELDS)}
    volumes: Manifest = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}} for name in ("config", "scratch")}
    pod = {"f:containers": container, "f:volumes": volumes, "f:terminationGracePeriodSeconds": {}}
    return {"f:replicas": {}, "f:selector": {}, "f:strategy": {}, "f:template": {"f:metadata": {}, "f:spec": pod}}


def _owned(fields: tuple[str, ...]) -> Manifest:
    return {f"f:{field}": {} for field in fields}


def _template() -> bytes:
    text = orjson.dumps(_live()).replace(b"%", b"%%")
    for hole in _HOLES:
        text = text.replace(hole.encode(), b"%%(%b)b" % hole.encode())
    return text


_TEMPLATE = _template()


def name_of_number(number: int) -> str:
    """Return the name of the object with a number; names sort as numbers do."""
    return f"storefront-{number:06}"


def live_deployment(number: int, version: int) -> bytes:
    """Return the JSON of one object of the fleet at one resourceVersion; the same arguments give the same bytes."""
    chance = random.Random(_SEED + number)
    return _TEMPLATE % {
        _NAME.encode(): name_of_number(number).encode(),
        _UID.encode(): b"%032x" % chance.getrandbits(128),
        _VERSION.encode(): b"%d" % version,
        _TEAM.encode(): b"team-%04x" % chance.getrandbits(16),
        # What is rolled out changes with the version, and never compresses.
        _DIGEST.encode(): b"%064x" % random.Random(_SEED + number + version).getrandbits(256),
    }
