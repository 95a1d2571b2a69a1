"""Custom kinds: accepted, served, checked, printed and withdrawn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SCHEMA: Obj = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 3},
                "mode": {"type": "string", "enum": ["A", "B"]},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "integer"}, "selector": {"type": "string"}}},
    },
}


def definition(group: str = "example.com", **annotations: str) -> Obj:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    older = {**version, "name": "v1beta1", "storage": False}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [version, older],
        },
    }


def widget(name: str = "w", **spec: Any) -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def widgets(api: Api) -> Api:
    assert (await api.create(DEFINITIONS, definition())).code == 201
    await api.until(WIDGETS, 200, seconds=0.1)
    return api


async def test_a_definition_is_established_with_its_names(widgets: Api) -> None:
    told = (await widgets.get(f"{DEFINITIONS}/widgets.example.com")).body["status"]
    assert {one["type"]: one["status"] for one in told["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert told["acceptedNames"]["kind"] == "Widget"
    listed = (await widgets.get("/apis/example.com/v1")).body["resources"]
    assert [one["name"] for one in listed] == ["widgets", "widgets/status", "widgets/scale"]


async def test_objects_are_defaulted_and_pruned(widgets: Api) -> None:
    created = await widgets.create(WIDGETS, widget(nonsense=1, free={"any": {"thing": 1}}, port="http"))
    assert created.body["spec"] == {"size": 3, "free": {"any": {"thing": 1}}, "port": "http"}
    assert created.warnings == '299 - "unknown field \\"spec.nonsense\\""'


INVALID = [
    ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
    ({"size": "x"}, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
    ({"mode": "C"}, 'spec.mode: Unsupported value: "C": supported values: "A", "B"'),
]


@pytest.mark.parametrize(("spec", "message"), INVALID)
async def test_objects_that_break_the_schema_are_refused(widgets: Api, spec: Obj, message: str) -> None:
    refused = await widgets.create(WIDGETS, widget(**spec))
    assert refused.code == 422
    assert message in refused.body["message"]


async def test_status_and_scale_are_apart(widgets: Api) -> None:
    await widgets.create(WIDGETS, {**widget(size=2), "status": {"ready": 9}})
    assert "status" not in (await widgets.get(f"{WIDGETS}/w")).body
    await widgets.patch(f"{WIDGETS}/w/status", {"status": {"ready": 1}, "spec": {"size": 9}})
    await widgets.patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}})
    found = (await widgets.get(f"{WIDGETS}/w")).body
    assert (found["spec"]["size"], found["status"], found["metadata"]["generation"]) == (4, {"ready": 1}, 2)


async def test_every_served_version_shows_the_same_object(widgets: Api) -> None:
    await widgets.create(WIDGETS, widget(size=2))
    older = (await widgets.get(WIDGETS.replace("/v1/", "/v1beta1/") + "/w")).body
    assert (older["apiVersion"], older["spec"]) == ("example.com/v1beta1", {"size": 2})


async def test_printer_columns_fill_the_table(widgets: Api) -> None:
    await widgets.create(WIDGETS, widget(size=2))
    table = (await widgets.get(WIDGETS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["w", 2]


async def test_objects_go_with_their_definition(widgets: Api) -> None:
    await widgets.create(WIDGETS, widget())
    marked = await widgets.delete(f"{DEFINITIONS}/widgets.example.com")
    assert marked.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await widgets.until_gone(f"{DEFINITIONS}/widgets.example.com")
    await widgets.until_gone(WIDGETS.removesuffix("/namespaces/default/widgets"))
    await widgets.create(DEFINITIONS, definition())
    found = await widgets.until(WIDGETS, 200)
    assert found.body["items"] == []


async def test_an_open_schema_change_reaches_new_objects(widgets: Api) -> None:
    changed = definition()
    changed["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    await widgets.patch(f"{DEFINITIONS}/widgets.example.com", {"spec": changed["spec"]})
    async with asyncio.timeout(1):
        name = 0
        while (await widgets.create(WIDGETS, widget(f"w{name}", anything=1))).body["spec"].get("anything") != 1:
            name += 1
    assert name >= 0


async def test_protected_groups_need_an_approval(api: Api) -> None:
    refused = await api.create(DEFINITIONS, definition("things.k8s.io"))
    assert refused.code == 422
    assert "protected groups must have approval annotation" in refused.body["message"]
    marked = definition("things.k8s.io", **{"api-approved.kubernetes.io": "unapproved, for a test"})
    assert (await api.create(DEFINITIONS, marked)).code == 201


async def test_a_group_that_yields_its_names_is_listed_after_all_others(api: Api) -> None:
    for group, marks in (("first.example", {"hanse.dev/yields-names": "true"}), ("second.example", {})):
        assert (await api.create(DEFINITIONS, definition(group, **marks))).code == 201
        await api.until(f"/apis/{group}/v1/namespaces/default/widgets", 200, seconds=0.1)
    groups = [group["name"] for group in (await api.get("/apis")).body["groups"]]

    assert groups[-2:] == ["second.example", "first.example"]
