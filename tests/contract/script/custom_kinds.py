"""CustomResourceDefinitions: schemas, defaults, pruning, rules, subresources, versions, columns."""

from __future__ import annotations

from typing import Any

from tests.contract.step import (
    PARTIAL,
    TABLE,
    Step,
    apply,
    delete,
    get,
    json_patch,
    manifest,
    merge,
    namespace,
    post,
    put,
    strategic,
    watch,
)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/custom/widgets"
OLDER = "/apis/example.com/v1beta1/namespaces/custom/widgets"


def _crd(plural: str, kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    entry = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [entry],
    }
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.example.com", spec=spec)


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


_SPEC = _object(
    {
        "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        "color": {"type": "string", "enum": ["red", "green"]},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2},
        "share": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "x-kubernetes-list-type": "set"},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": _object({"name": {"type": "string"}, "port": {"type": "integer"}}, required=["name"]),
        },
        "when": {"type": "string", "format": "date-time"},
        "maybe": {"type": "string", "nullable": True},
        "options": {"type": "object", "additionalProperties": {"type": "integer"}},
        "nested": _object({"on": {"type": "boolean", "default": True}}, default={}),
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "replicas": {"type": "integer"},
    },
    required=["color"],
)
_STATUS = _object({"ready": {"type": "integer"}, "replicas": {"type": "integer"}, "selector": {"type": "string"}})
_SCHEMA = _object({"spec": _SPEC, "status": _STATUS})


def _widgets() -> dict[str, Any]:
    crd = _crd(
        "widgets",
        "Widget",
        _SCHEMA,
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        additionalPrinterColumns=[
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "The paint."},
            {"name": "When", "type": "date", "jsonPath": ".spec.when", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        selectableFields=[{"jsonPath": ".spec.color"}],
    )
    crd["spec"]["names"] |= {
        "shortNames": ["wd"],
        "categories": ["all"],
        "singular": "widget",
        "listKind": "WidgetList",
    }
    # Upstream mistakes equal schemas of all versions for one schema above them, and refuses selectable fields then.
    schema = {**_SCHEMA, "description": "The older version."}
    older = {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    crd["spec"]["versions"].append(older | {"deprecated": True})
    return crd


def _widget(name: str, /, **spec: Any) -> dict[str, Any]:
    return manifest("example.com/v1", "Widget", name, spec={"color": "red", **spec})


_ONE = f"{WIDGETS}/one"
_GOOD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("defaults", {}),
    ("unknown fields pruned", {"extra": 1, "nested": {"more": 2}}),
    ("free part kept", {"free": {"a": {"b": [1]}}}),
    ("share as a number", {"share": 5}),
    ("share as text", {"share": "50%"}),
    ("nullable kept", {"maybe": None}),
    ("null for a default", {"size": None}),
    ("map of integers", {"options": {"a": 1}}),
    (
        "embedded object",
        {"embedded": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1"}}},
    ),
)
_BAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("size too small", {"size": 0}),
    ("size too large", {"size": 11}),
    ("size as text", {"size": "3"}),
    ("size as a fraction", {"size": 1.5}),
    ("unknown color", {"color": "blue"}),
    ("no color", {"color": None}),
    ("bad pattern", {"name": "A1"}),
    ("too long", {"name": "abcdef"}),
    ("too short", {"name": "a"}),
    ("share as a list", {"share": []}),
    ("too many tags", {"tags": ["a", "b", "c"]}),
    ("the same tag twice", {"tags": ["a", "a"]}),
    ("the same port twice", {"ports": [{"name": "a"}, {"name": "a"}]}),
    ("port without a name", {"ports": [{"port": 1}]}),
    ("bad time", {"when": "noon"}),
    ("option of a wrong type", {"options": {"a": "b"}}),
    ("spec of a wrong type inside", {"nested": 7}),
    ("embedded without kind", {"embedded": {"apiVersion": "v1", "metadata": {"name": "x"}}}),
)
_BAD_CRDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("name that does not fit", {**_crd("gadgets", "Gadget", _object({})), "metadata": {"name": "other.example.com"}}),
    (
        "no schema",
        manifest(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "gadgets.example.com",
            spec={
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": [{"name": "v1", "served": True, "storage": True}],
            },
        ),
    ),
    ("no storage version", _crd("gadgets", "Gadget", _object({}), storage=False)),
    ("no type", _crd("gadgets", "Gadget", {})),
    ("no type inside", _crd("gadgets", "Gadget", _object({"spec": {"properties": {"a": {"type": "string"}}}}))),
    ("a type that is none", _crd("gadgets", "Gadget", _object({"spec": {"type": "thing"}}))),
    ("a default of a wrong type", _crd("gadgets", "Gadget", _object({"a": {"type": "integer", "default": "x"}}))),
    (
        "a bad column",
        _crd(
            "gadgets",
            "Gadget",
            _object({}),
            additionalPrinterColumns=[{"name": "X", "type": "picture", "jsonPath": ".a"}],
        ),
    ),
    (
        "a bad scope",
        {
            **_crd("gadgets", "Gadget", _object({})),
            "spec": {**_crd("gadgets", "Gadget", _object({}))["spec"], "scope": "Galaxy"},
        },
    ),
    (
        "a protected group",
        manifest(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "gadgets.example.k8s.io",
            spec={**_crd("gadgets", "Gadget", _object({}))["spec"], "group": "example.k8s.io"},
        ),
    ),
)

STEPS: list[Step] = [
    *namespace("custom"),
    post("custom/define", CRDS, _widgets()),
    get("custom/established", f"{CRDS}/widgets.example.com", until=200, until_shows='"Established","status":"True"'),
    get("custom/served", WIDGETS, until=200),
    get("custom/discovered", "/apis/example.com/v1", until=200, until_shows="widgets/status"),
    get("custom/group discovered", "/apis/example.com", until=200),
    get("custom/definition as table", f"{CRDS}/widgets.example.com", accept=TABLE),
    *(post(f"custom/bad definition: {name}", f"{CRDS}?dryRun=All", crd) for name, crd in _BAD_CRDS),
    post("custom/create", WIDGETS, _widget("one", replicas=2)),
    get("custom/table", _ONE, accept=TABLE),
    get("custom/metadata only", _ONE, accept=PARTIAL),
    get("custom/list", WIDGETS),
    get("custom/by a selectable field", f"{WIDGETS}?fieldSelector=spec.color%3Dgreen"),
    get("custom/by another field", f"{WIDGETS}?fieldSelector=spec.size%3D3"),
    get("custom/in the older version", f"{OLDER}/one"),
    post("custom/create in the older version", OLDER, {**_widget("old"), "apiVersion": "example.com/v1beta1"}),
    get("custom/the same in the newer version", f"{WIDGETS}/old"),
    *(
        post(f"custom/good: {name}", WIDGETS, _widget(f"good-{place}", **spec))
        for place, (name, spec) in enumerate(_GOOD)
    ),
    *(post(f"custom/bad: {name}", f"{WIDGETS}?dryRun=All", _widget("bad", **spec)) for name, spec in _BAD),
    post("custom/bad: no spec is fine", WIDGETS, manifest("example.com/v1", "Widget", "empty")),
    post("custom/bad: without a version", WIDGETS, {"metadata": {"name": "x"}}),
    post("custom/bad: another kind", WIDGETS, manifest("example.com/v1", "Gadget", "x")),
    post("custom/bad: another version", WIDGETS, manifest("example.com/v2", "Widget", "x")),
    post("custom/bad: strict unknown field", f"{WIDGETS}?fieldValidation=Strict", _widget("x", extra=1)),
    put("custom/update without a version", _ONE, _widget("one")),
    merge("custom/patch", _ONE, {"spec": {"size": 5}}, save={"version": "metadata.resourceVersion"}),
    merge("custom/generation counts spec only", _ONE, {"metadata": {"labels": {"a": "b"}}}),
    put(
        "custom/update with a stale version",
        _ONE,
        _widget("one") | {"metadata": {"name": "one", "resourceVersion": "<<version>>"}},
    ),
    merge("custom/status through the main path", _ONE, {"status": {"ready": 9}}),
    merge("custom/status", f"{_ONE}/status", {"status": {"ready": 1, "replicas": 2, "selector": "a=b"}}),
    merge("custom/spec through status", f"{_ONE}/status", {"spec": {"size": 9}}),
    merge("custom/bad status", f"{_ONE}/status", {"status": {"ready": "x"}}),
    get("custom/scale", f"{_ONE}/scale"),
    merge("custom/patch scale", f"{_ONE}/scale", {"spec": {"replicas": 8}}),
    strategic("custom/strategic patch", _ONE, {"spec": {"size": 5}}),
    json_patch("custom/json patch", _ONE, [{"op": "replace", "path": "/spec/size", "value": 6}]),
    apply("custom/apply", f"{WIDGETS}/applied?fieldManager=one", _widget("applied", ports=[{"name": "a", "port": 1}])),
    apply(
        "custom/apply a second port",
        f"{WIDGETS}/applied?fieldManager=two",
        {**_widget("applied"), "spec": {"ports": [{"name": "b", "port": 2}]}},
    ),
    apply(
        "custom/apply in conflict",
        f"{WIDGETS}/applied?fieldManager=two",
        {**_widget("applied"), "spec": {"ports": [{"name": "a", "port": 9}]}},
    ),
    apply("custom/apply an unknown field", f"{WIDGETS}/applied?fieldManager=one", _widget("applied", extra=1)),
    apply("custom/apply a wrong type", f"{WIDGETS}/applied?fieldManager=one", _widget("applied", size="x")),
    get("custom/no such subresource", f"{_ONE}/gadget"),
    watch("custom/watch", f"{WIDGETS}?resourceVersion=<<version>>&fieldSelector=metadata.name%3Done", events=2),
    merge(
        "custom/a definition's schema may change",
        f"{CRDS}/widgets.example.com",
        {"spec": {"names": {"shortNames": ["wd", "wdg"]}}},
    ),
    merge("custom/a definition's scope may not", f"{CRDS}/widgets.example.com", {"spec": {"scope": "Cluster"}}),
    merge("custom/a definition's kind may not", f"{CRDS}/widgets.example.com", {"spec": {"names": {"kind": "Gizmo"}}}),
    delete("custom/delete", _ONE),
    delete("custom/delete the others", WIDGETS, accept=PARTIAL),
    post(
        "custom/define with a rule",
        CRDS,
        _crd(
            "ruled",
            "Ruled",
            _object(
                {
                    "spec": _object(
                        {"low": {"type": "integer"}, "high": {"type": "integer"}},
                        **{
                            "x-kubernetes-validations": [
                                {"rule": "self.low <= self.high", "message": "low must not pass high"}
                            ]
                        },
                    )
                }
            ),
        ),
    ),
    get("custom/the ruled kind is served", "/apis/example.com/v1/namespaces/custom/ruled", until=200),
    post(
        "custom/a rule that holds",
        "/apis/example.com/v1/namespaces/custom/ruled",
        manifest("example.com/v1", "Ruled", "a", spec={"low": 1, "high": 2}),
    ),
    post(
        "custom/a rule that is broken",
        "/apis/example.com/v1/namespaces/custom/ruled",
        manifest("example.com/v1", "Ruled", "b", spec={"low": 3, "high": 2}),
    ),
    delete("custom/delete the definition", f"{CRDS}/ruled.example.com"),
    get("custom/the definition is gone", f"{CRDS}/ruled.example.com", until=404),
    get("custom/its kind is gone", "/apis/example.com/v1/namespaces/custom/ruled", until=404),
]
