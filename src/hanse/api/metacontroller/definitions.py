"""How an API server is told of Metacontroller's kinds: schemas, columns, and what is refused.

Whatever was written for Metacontroller is taken as it is; the fields that Hanse adds are optional. MapController, which
Metacontroller only proposed, is served too.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import CONDITION, record, text
from hanse.api.definitions import column, definition
from hanse.api.metacontroller.hook_schemas import ENDPOINT_CONFIGS, flag, hook, listed, number, rule
from hanse.api.metacontroller.kinds import (
    COMPOSITE_CONTROLLERS,
    CONTROLLER_REVISIONS,
    DECORATOR_CONTROLLERS,
    HOME_NAMESPACE,
    LONGEST_CONTROLLER_NAME,
    MAP_CONTROLLERS,
)
from hanse.kube.manifest import Obj
from hanse.kube.resources import NAMESPACES, Resource

SHORT_NAME = (
    f"metadata.name must have {LONGEST_CONTROLLER_NAME} characters at most: it becomes part of a finalizer's name"
)

_ADDED = "(Hanse's own, optional)"
_UNAPPROVED = {"api-approved.kubernetes.io": "unapproved, the group is Metacontroller's"}
_CATEGORIES = ("metacontroller",)
_METHODS = ["OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"]
_PARENT = column("Parent", "string", ".spec.parentResource.resource")
_AGE = column("Age", "date", ".metadata.creationTimestamp")

_CONDITION = {
    **CONDITION,
    "properties": {
        **CONDITION["properties"],
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_STATUS = record(
    {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "The generation of the spec that this is about",
        },
        "parents": number("How many objects it looks after"),
        "conditions": listed("Ready, and why not", _CONDITION),
    },
    "What is the case; written by Hanse",
)

_EXPRESSIONS = listed(
    "Conditions that must all hold",
    record(
        {
            "key": text("The key"),
            "operator": text("In, NotIn, Exists or DoesNotExist"),
            "values": listed("The values of In and NotIn", text(), **{"x-kubernetes-list-type": "atomic"}),
        },
        required=["key", "operator"],
    ),
    **{"x-kubernetes-list-type": "atomic"},
)


def _selector(description: str, exact: str = "matchLabels") -> dict[str, Any]:
    pairs = {"type": "object", "additionalProperties": text(), "description": "Keys and the values they must have"}
    return record({exact: pairs, "matchExpressions": _EXPRESSIONS}, description)


LABEL_SELECTOR = {**_selector("Those with these labels; all where absent"), "x-kubernetes-map-type": "atomic"}
_ANNOTATION_SELECTOR = _selector("Those with these annotations; all where absent", "matchAnnotations")

_IGNORE = {"ignoreStatusChanges": flag("Whether a change of nothing but the status is passed over")}


def _kind_rule(description: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
    named = {
        "apiVersion": text("The group and the version, such as apps/v1"),
        "resource": text("The plural in lower case, such as deployments"),
    }
    return record({**named, **(fields or {})}, description, required=["apiVersion", "resource"])


def _strategy(methods: list[str], more: dict[str, Any] | None = None) -> dict[str, Any]:
    method = text("What becomes of one that differs from what is wanted; OnDelete where absent", enum=methods)
    return record({"method": method, **(more or {})}, "How those that exist are changed")


_STATUS_CHECKS = record(
    {
        "conditions": listed(
            "Conditions that all must hold",
            record(
                {
                    "type": text("The condition"),
                    "status": text("Its status; any where absent"),
                    "reason": text("Its reason; any where absent"),
                },
                required=["type"],
            ),
        )
    },
    "What every child that was changed must fulfil before the next one is",
)
_ROLLOUT = record(
    {
        "maxUnavailable": number("How many may be in flight at once; 1 where absent", minimum=1),
        "partition": number("How many of the last stay as they are; 0 where absent", minimum=0),
        "paused": flag("Whether nothing moves for now"),
        "byCluster": flag("Whether all in one cluster move before the first in the next"),
        "failAfterSeconds": number("After how long with failing checks the rollout stops by itself", minimum=1),
    },
    f"How a rolling update goes on {_ADDED}",
)
_APPLY = text(
    "How children are written: merged with what was last applied, or by server-side apply; DynamicApply where absent "
    f"{_ADDED}",
    enum=["DynamicApply", "ServerSideApply"],
)
_SETTINGS: dict[str, Any] = {
    "resyncPeriodSeconds": number("How often everything is gone through again; below 1 means 1"),
    "endpointConfigs": ENDPOINT_CONFIGS,
    "applyStrategy": _APPLY,
}
_HOOKS: dict[str, Any] = {
    "sync": hook("Says what shall exist"),
    "finalize": hook("Says what shall still exist while an object is being deleted, and when all is done"),
    "customize": hook("Says which other objects the function wants to see"),
}

_COMPOSITE_SPEC = record(
    {
        "parentResource": _kind_rule(
            "The parents",
            {
                "labelSelector": LABEL_SELECTOR,
                "revisionHistory": record(
                    {"fieldPaths": listed("Dotted paths, such as spec.template; spec where absent", text())},
                    "Which fields of a parent start a rolling update when they change; others act at once",
                ),
                **_IGNORE,
            },
        ),
        "childResources": listed(
            "The kinds that the hook may return",
            _kind_rule(
                "",
                {"updateStrategy": _strategy(_METHODS, {"statusChecks": _STATUS_CHECKS, "rollout": _ROLLOUT})},
            ),
        ),
        "generateSelector": flag("Whether children are known by their parent's uid, and not by the parent's selector"),
        "hooks": record(
            {
                **_HOOKS,
                "preUpdateChild": hook("Asked before a child moves to a new revision, until it says ready"),
                "postUpdateChild": hook("Asked after a child has moved, until it says ready"),
            },
            "The functions",
        ),
        **_SETTINGS,
    },
    "From a parent to its children",
    required=["parentResource"],
)

_DECORATOR_SPEC = record(
    {
        "resources": listed(
            "What is decorated",
            _kind_rule("", {"labelSelector": LABEL_SELECTOR, "annotationSelector": _ANNOTATION_SELECTOR, **_IGNORE}),
        ),
        "attachments": listed(
            "The kinds that the hook may return", _kind_rule("", {"updateStrategy": _strategy(_METHODS)})
        ),
        "hooks": record(_HOOKS, "The functions"),
        **_SETTINGS,
    },
    "From an object of any kind to what is attached to it",
    required=["resources"],
)

_MAP_SPEC = record(
    {
        "parentResource": _kind_rule("The parents", {"labelSelector": LABEL_SELECTOR, **_IGNORE}),
        "inputResources": listed(
            "For each of these that a parent's spec.selector matches, in its namespace, the hook is called",
            _kind_rule(""),
            minItems=1,
        ),
        "outputResources": listed(
            "The kinds that the hook may return",
            _kind_rule("", {"updateStrategy": _strategy(["OnDelete", "Recreate", "InPlace"])}),
            minItems=1,
        ),
        "hooks": record(
            {
                "map": hook("Says what shall exist for one input"),
                "tombstone": hook("Says which outputs stay when their input is gone; none where absent"),
            },
            "The functions",
        ),
        **_SETTINGS,
    },
    "From each input to its outputs",
    required=["parentResource", "inputResources", "outputResources"],
)


def _controller(
    resource: Resource, short: tuple[str, ...], description: str, spec: dict[str, Any], *first: dict[str, Any]
) -> Obj:
    properties = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": spec, "status": _STATUS}
    short_name = rule(f"self.metadata.name.size() <= {LONGEST_CONTROLLER_NAME}", SHORT_NAME)
    columns = [
        *first,
        column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        column("Objects", "integer", ".status.parents"),
        column("Why", "string", '.status.conditions[?(@.type=="Ready")].message', priority=1),
        _AGE,
    ]
    return definition(
        resource,
        record(properties, description, required=["metadata", "spec"], **short_name),
        columns,
        short=short,
        categories=_CATEGORIES,
        status=True,
        annotations=_UNAPPROVED,
    )


COMPOSITE_CONTROLLER_CRD = _controller(
    COMPOSITE_CONTROLLERS,
    ("cc", "cctl"),
    "A function from a parent to the children that shall exist.",
    _COMPOSITE_SPEC,
    _PARENT,
)
DECORATOR_CONTROLLER_CRD = _controller(
    DECORATOR_CONTROLLERS,
    ("dec", "decorators"),
    "A function from an object to what is attached to it.",
    _DECORATOR_SPEC,
)
MAP_CONTROLLER_CRD = _controller(
    MAP_CONTROLLERS,
    ("mapc",),
    "A function from each of many inputs to its outputs.",
    _MAP_SPEC,
    _PARENT,
)

_REVISION_CHILDREN = record(
    {
        "apiGroup": text("The group of their kind"),
        "kind": text("Their kind"),
        "names": listed("Their names", text()),
    },
    required=["apiGroup", "kind", "names"],
)
CONTROLLER_REVISION_CRD = definition(
    CONTROLLER_REVISIONS,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "parentPatch": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "description": "What the parent was like, as far as rolling updates go by it",
            },
            "children": listed("The children that belong to this revision", _REVISION_CHILDREN),
        },
        "What a parent was like while some of its children were made.",
        required=["metadata", "parentPatch"],
    ),
    [column("Parent", "string", ".metadata.ownerReferences[0].name"), _AGE],
    categories=_CATEGORIES,
    status=True,
    annotations=_UNAPPROVED,
)

# Served along with the kinds: hooks are written before anything else is, so nobody else has made it by then.
HOME: Obj = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": HOME_NAMESPACE}}

METACONTROLLER_CRDS: tuple[Obj, ...] = (
    COMPOSITE_CONTROLLER_CRD,
    DECORATOR_CONTROLLER_CRD,
    MAP_CONTROLLER_CRD,
    CONTROLLER_REVISION_CRD,
)
