"""How an API server is told of Admiralty's kinds: schemas, columns, and what is refused.

What Admiralty would log and pass over is refused when it is written, with the field and a sentence: a target that leads
nowhere or to two places, a source that is nobody, a pattern that does not compile, a second summary.
"""

from __future__ import annotations

from typing import Any

from hanse.api.admiralty.keys import PREFIX
from hanse.api.admiralty.kinds import (
    CLUSTER_SOURCES,
    CLUSTER_SUMMARIES,
    CLUSTER_TARGETS,
    POD_CHAPERONS,
    SOURCES,
    SUMMARY_NAME,
    TARGETS,
)
from hanse.api.cluster_kind import CLUSTER_NAME_LENGTH, CLUSTER_NAME_PATTERN, CONDITION, record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

ONE_PLACE = "exactly one of self: true, kubeconfigSecret and clusterName must say where the target is"
ONE_SENDER = "exactly one of userName and serviceAccountName must say who may send pods"
ONE_CLUSTER_SENDER = "exactly one of userName and serviceAccount must say who may send pods"
ONE_SUMMARY = f"a cluster has one summary, and its name is {SUMMARY_NAME}"
A_PATTERN = "must be a regular expression as RE2 has them"
FORWARD_ONLY = "fence.attempt must not go back: an earlier attempt may have been given to another cluster since"

# Long enough for any list of labels, and what the cost of trying a pattern is reckoned with.
_LONGEST_PATTERN = 1024
_LONGEST_NAME = 253
_ADMIRALTY = ("admiralty",)
_AGE = column("Age", "date", ".metadata.creationTimestamp")
# Each is of one writer, who always writes all of it: an API server that keeps account of every field in it does so for
# nobody, and takes a third longer.
_WHOLE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}
_QUANTITIES = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
}


def _rules(*rules: tuple[str, str]) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]}


def _name(description: str) -> dict[str, Any]:
    return text(description, minLength=1, maxLength=_LONGEST_NAME)


def _kind(
    resource: Resource,
    short: str,
    description: str,
    fields: dict[str, Any],
    columns: list[dict[str, Any]],
    *,
    required: tuple[str, ...] = (),
    rules: dict[str, Any] | None = None,
) -> Obj:
    properties = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, **fields}
    needed = {"required": list(required)} if required else {}
    schema = record(properties, description, **needed, **(rules or {}))
    return definition(resource, schema, columns, short=(short,), categories=_ADMIRALTY, status=True)


_OBSERVED = {"type": "integer", "format": "int64", "description": "The generation of the spec that this is about"}
_CONDITION = {**CONDITION, "properties": {**CONDITION["properties"], "observedGeneration": _OBSERVED}}
_CONDITIONS = record(
    {"conditions": {"type": "array", "items": _CONDITION, "description": "Ready, and why not"}},
    "What is the case; written by Hanse",
)
_PLACE = {"type": "array", "items": text(), "description": "By what the cluster is known in which pods may be"}
_TARGET_STATUS = {**_CONDITIONS, "properties": {**_CONDITIONS["properties"], "place": _PLACE}}

_PLACES = (
    "[has(self.self) && self.self, has(self.kubeconfigSecret), has(self.clusterName)].filter(said, said).size() == 1",
    ONE_PLACE,
)


def _target_spec(secret: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    key = text("The key that holds the kubeconfig; config where none is named", maxLength=_LONGEST_NAME)
    context = text("Which context of it; its current one where none is named", maxLength=_LONGEST_NAME)
    # The pattern is tried on nothing, for what is wrong with it.
    pattern = text(
        "Labels of the target's nodes, as KEY=VALUE, that the virtual node does not show",
        maxLength=_LONGEST_PATTERN,
        **_rules(("''.matches(self) in [true, false]", A_PATTERN)),
    )
    return record(
        {
            "self": {"type": "boolean", "description": "The cluster that this is written in is the target"},
            "kubeconfigSecret": record(
                {**secret, "key": key, "context": context},
                "The Secret with the kubeconfig that leads to the target",
                required=needed,
            ),
            "clusterName": text(
                "A registered cluster of the federation is the target",
                pattern=CLUSTER_NAME_PATTERN,
                maxLength=CLUSTER_NAME_LENGTH,
            ),
            "excludedLabelsRegexp": pattern,
        },
        "Where pods may go",
        **_rules(_PLACES),
    )


_TARGET_COLUMNS = [
    column("Cluster", "string", ".spec.clusterName"),
    column("Self", "boolean", ".spec.self"),
    column("Secret", "string", ".spec.kubeconfigSecret.name"),
    column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    column("Why", "string", '.status.conditions[?(@.type=="Ready")].message', priority=1),
    _AGE,
]

TARGET_CRD = _kind(
    TARGETS,
    "tg",
    "A cluster in which elected pods of this namespace may run.",
    {"spec": _target_spec({"name": _name("In this namespace")}, ["name"]), "status": _TARGET_STATUS},
    _TARGET_COLUMNS,
    required=("spec",),
)

CLUSTER_TARGET_CRD = _kind(
    CLUSTER_TARGETS,
    "ctg",
    "A cluster in which elected pods of every namespace may run.",
    {
        "spec": _target_spec(
            {"namespace": _name("Where the Secret is"), "name": _name("What it is called")}, ["namespace", "name"]
        ),
        "status": _TARGET_STATUS,
    },
    _TARGET_COLUMNS,
    required=("spec",),
)

_USER = text("A user, as this cluster knows them", maxLength=_LONGEST_NAME)
# An empty name is none.
_SAID_USER = "(has(self.userName) && self.userName != '')"
_SAID_ACCOUNT = "(has(self.serviceAccountName) && self.serviceAccountName != '')"

SOURCE_CRD = _kind(
    SOURCES,
    "src",
    "Who may send pods into this namespace.",
    {
        "spec": record(
            {
                "userName": _USER,
                "serviceAccountName": text("A service account of this namespace", maxLength=_LONGEST_NAME),
            },
            "Who it is",
            **_rules((f"{_SAID_USER} != {_SAID_ACCOUNT}", ONE_SENDER)),
        ),
        "status": _CONDITIONS,
    },
    [
        column("User", "string", ".spec.userName"),
        column("Service Account", "string", ".spec.serviceAccountName"),
        _AGE,
    ],
    required=("spec",),
)

CLUSTER_SOURCE_CRD = _kind(
    CLUSTER_SOURCES,
    "csrc",
    "Who may send pods into every namespace.",
    {
        "spec": record(
            {
                "userName": _USER,
                "serviceAccount": record(
                    {"name": _name("What it is called"), "namespace": _name("Where it is")},
                    "A service account of any namespace",
                    required=["name", "namespace"],
                ),
            },
            "Who it is",
            **_rules((f"{_SAID_USER} != has(self.serviceAccount)", ONE_CLUSTER_SENDER)),
        ),
        "status": _CONDITIONS,
    },
    [
        column("User", "string", ".spec.userName"),
        column("Service Account", "string", ".spec.serviceAccount.name"),
        column("Namespace", "string", ".spec.serviceAccount.namespace"),
        _AGE,
    ],
    required=("spec",),
)

CLUSTER_SUMMARY_CRD = _kind(
    CLUSTER_SUMMARIES,
    "mcsum",
    "What all nodes of this cluster have together; labels on which they agree are its own.",
    {"capacity": _QUANTITIES, "allocatable": _QUANTITIES, "status": record({}, "Nothing")},
    [
        column("CPU", "string", ".allocatable.cpu"),
        column("Memory", "string", ".allocatable.memory"),
        column("Pods", "string", ".allocatable.pods"),
        _AGE,
    ],
    rules=_rules((f"self.metadata.name == '{SUMMARY_NAME}'", ONE_SUMMARY)),
)

_FENCE = record(
    {
        "attempt": {
            "type": "integer",
            "format": "int32",
            "minimum": 1,
            "description": "Which attempt to place the pod this is",
        },
        "expirySeconds": {
            "type": "integer",
            "format": "int32",
            "minimum": 1,
            "description": "How long the source may be silent before the pod is stopped",
        },
    },
    "What keeps a pod from running in two clusters",
    required=["attempt"],
)


def _told(mark: str) -> str:
    escaped = f"{PREFIX}{mark}".replace(".", "\\.")
    return f".metadata.annotations.{escaped}"


POD_CHAPERON_CRD = _kind(
    POD_CHAPERONS,
    "chap",
    "The parent of one pod that was sent here from another cluster.",
    {"spec": _WHOLE, "fence": _FENCE, "status": _WHOLE},
    [
        column("Phase", "string", ".status.fence.phase"),
        column("Node", "string", ".status.fence.nodeName"),
        column("Attempt", "integer", ".fence.attempt"),
        column("Reserved", "string", _told("is-reserved"), priority=1),
        column("Allowed", "string", _told("is-allowed"), priority=1),
        _AGE,
    ],
    required=("spec",),
    rules=_rules(
        (
            "!has(oldSelf.fence) || (has(self.fence) && self.fence.attempt >= oldSelf.fence.attempt)",
            FORWARD_ONLY,
        )
    ),
)

ADMIRALTY_CRDS: tuple[Obj, ...] = (
    SOURCE_CRD,
    CLUSTER_SOURCE_CRD,
    TARGET_CRD,
    CLUSTER_TARGET_CRD,
    CLUSTER_SUMMARY_CRD,
    POD_CHAPERON_CRD,
)
