"""Manifests come back as a Go server would print them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hanse.kube.schemas.go_shape import without_zeros, write_as_go

SHAPES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("v1", "ConfigMap", {"data": {}, "immutable": None}, {}),
    ("v1", "ConfigMap", {"data": {"a": ""}}, {"data": {"a": ""}}),
    (
        "v1",
        "Service",
        {"spec": {"ports": [{"port": 80, "name": "", "targetPort": "http"}], "publishNotReadyAddresses": False}},
        {"spec": {"ports": [{"port": 80, "targetPort": "http"}]}, "status": {"loadBalancer": {}}},
    ),
    (
        "apps/v1",
        "Deployment",
        {"spec": {"replicas": 0, "minReadySeconds": 0, "paused": False}},
        {
            "spec": {
                "replicas": 0,
                "selector": None,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": None}},
            },
            "status": {},
        },
    ),
    (
        "v1",
        "ResourceQuota",
        {"spec": {"hard": {"cpu": "1000m", "memory": "1024Mi", "pods": 3}}},
        {"spec": {"hard": {"cpu": "1", "memory": "1Gi", "pods": "3"}}, "status": {}},
    ),
    ("rbac.authorization.k8s.io/v1", "Role", {}, {"rules": None}),
    ("example.com/v1", "Widget", {"anything": []}, {"anything": []}),
]


@pytest.mark.parametrize(("api_version", "kind", "given", "expected"), SHAPES)
def test_empty_optional_fields_vanish_and_the_others_show_their_zero(
    api_version: str, kind: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    obj = {"kind": kind, "metadata": {"name": "x"}, **copy.deepcopy(given)}
    write_as_go(api_version, obj)
    assert obj == {"kind": kind, "metadata": {"name": "x"}, **expected}
    again = copy.deepcopy(obj)
    write_as_go(api_version, again)
    assert again == obj


SILENT: list[tuple[str, str, dict[str, Any], dict[str, Any] | None]] = [
    ("v1", "Pod", {"spec": {"hostNetwork": False, "containers": []}}, {"spec": {"containers": []}}),
    (
        "v1",
        "Pod",
        {"spec": {"containers": [{"name": "a", "stdin": False, "env": [{"name": "E", "value": ""}], "ports": []}]}},
        {"spec": {"containers": [{"name": "a", "env": [{"name": "E"}]}]}},
    ),
    ("v1", "Service", {"spec": {"ports": [{"port": 80, "nodePort": 0}]}}, {"spec": {"ports": [{"port": 80}]}}),
    ("v1", "ConfigMap", {"data": {"a": ""}, "binaryData": {}}, {"data": {"a": ""}}),
    ("v1", "ConfigMap", {"immutable": False}, {"immutable": False}),
    ("apps/v1", "Deployment", {"spec": {"replicas": 0, "paused": False}}, {"spec": {"replicas": 0}}),
    ("v1", "PersistentVolume", {"spec": {"nfs": {"path": "/", "readOnly": False}}}, {"spec": {"nfs": {"path": "/"}}}),
    ("v1", "Pod", {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}, None),
    ("v1", "Pod", {"spec": {"securityContext": {}, "automountServiceAccountToken": False}}, None),
    ("v1", "ResourceQuota", {"spec": {"hard": {"cpu": "1000m", "pods": 0}}}, None),
    ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}, None),
    ("example.com/v1", "Widget", {"off": False, "none": [], "zero": 0}, None),
]


@pytest.mark.parametrize(("api_version", "kind", "given", "expected"), SILENT)
def test_what_a_server_cannot_tell_from_silence_is_left_out_and_nothing_else(
    api_version: str, kind: str, given: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    obj = {"apiVersion": api_version, "kind": kind, **copy.deepcopy(given)}
    before = copy.deepcopy(obj)

    assert without_zeros(obj) == {"apiVersion": api_version, "kind": kind, **(given if expected is None else expected)}
    assert obj == before
