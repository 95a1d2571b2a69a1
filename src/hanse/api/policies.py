"""`PlacementPolicy` and `ClusterPlacementPolicy` of hanse.dev/v1alpha1: placement for plain objects, as an object.

Both have the same spec. The first speaks for objects of its own namespace, the second for those of every namespace and
for cluster-scoped ones.
"""

from __future__ import annotations

from typing import Any

from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

PLACEMENT_POLICIES = Resource("hanse.dev", "v1alpha1", "placementpolicies", "PlacementPolicy")
CLUSTER_PLACEMENT_POLICIES = Resource(
    "hanse.dev", "v1alpha1", "clusterplacementpolicies", "ClusterPlacementPolicy", namespaced=False
)

# Real API servers refuse rules whose worst case is too dear; these bounds keep them cheap, and are far from any use.
_FEW, _MANY = 16, 256

_LABEL_VALUE = {"type": "string", "maxLength": 63}


def _object(description: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties, **more}


def _list(description: str, items: dict[str, Any], /, *, most: int = _FEW, **more: Any) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items, "maxItems": most, **more}


def _number(description: str, least: int = 0) -> dict[str, Any]:
    return {"type": "integer", "format": "int64", "minimum": least, "maximum": 2**31 - 1, "description": description}


def _text(description: str, most: int = 253, **more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": most, "description": description, **more}


def _rule(rule: str, message: str) -> dict[str, str]:
    return {"rule": rule, "message": message}


_LABEL_SELECTOR = _object(
    "Labels that must match; all of them",
    {
        "matchLabels": {"type": "object", "additionalProperties": _LABEL_VALUE, "maxProperties": _FEW},
        "matchExpressions": _list(
            "Conditions on labels",
            _object(
                "One condition",
                {
                    "key": _text("The label's key", 317),
                    "operator": _text(
                        "How the label is compared", enum=["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
                    ),
                    "values": _list("What it is compared with", _LABEL_VALUE, most=64),
                },
                required=["key", "operator"],
            ),
        ),
    },
)

_CLUSTERS = _object(
    "A set of clusters; without any field, all of them",
    {
        "names": _list("Only these", _text("A cluster's name"), most=_MANY, minItems=1),
        "exclude": _list("None of these", _text("A cluster's name"), most=_MANY),
        "selector": _LABEL_SELECTOR,
    },
)

_SELECTS = _list(
    "The objects that this policy speaks for: those that any entry names",
    _object(
        "Objects of one kind, all of them or by name or label",
        {
            "apiVersion": _text("The group and version, e.g. apps/v1; without it any", 317),
            "kind": _text("The kind, e.g. Deployment; * is every federated kind", 63, minLength=1),
            "name": _text("Only the object of this name"),
            "labelSelector": _LABEL_SELECTOR,
        },
        required=["kind"],
    ),
    minItems=1,
)

_TOLERATIONS = _list(
    "Taints of clusters that the work puts up with",
    _object(
        "As in a pod",
        {
            "key": _text("The taint's key; without it every key", 317),
            "operator": _text("Equal (the default) or Exists", enum=["Equal", "Exists"]),
            "value": _LABEL_VALUE,
            "effect": _text("Without it every effect", enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]),
            "tolerationSeconds": _number("How long work stays where a NoExecute taint appeared; without it for ever"),
        },
        **{
            "x-kubernetes-validations": [
                _rule(
                    "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
                    "operator must be Exists when key is empty",
                )
            ]
        },
    ),
)

_SPREAD = _list(
    "Over how many parts of the fleet the work goes; the coarsest first",
    _object(
        "One constraint",
        {
            "by": _text("cluster, provider, region, zone, or the key of a label of clusters", 317, minLength=1),
            "minGroups": _number("At least so many parts, or nothing is moved"),
            "maxGroups": _number("At most so many parts", 1),
            "maxSkew": _number("No two parts differ by more replicas than this"),
        },
        required=["by"],
        **{
            "x-kubernetes-validations": [
                _rule(
                    "!has(self.minGroups) || !has(self.maxGroups) || self.minGroups <= self.maxGroups",
                    "minGroups must not exceed maxGroups",
                )
            ]
        },
    ),
)
_SPREAD["x-kubernetes-validations"] = [
    _rule("self.filter(s, has(s.maxSkew)).size() <= 1", "only one constraint may have a maxSkew")
]

_PREFERENCE = _object(
    "What one cluster should hold",
    {
        "weight": _number("Its part of what is left after the minima"),
        "minReplicas": _number("What it gets first"),
        "maxReplicas": _number("What it gets at most"),
    },
    **{
        "x-kubernetes-validations": [
            _rule(
                "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
                "minReplicas must not exceed maxReplicas",
            )
        ]
    },
)

DIVISIONS = ("Equal", "Duplicated", "Preferences", "Weighted", "Capacity", "FreeCapacity", "Aggregated")

_DIVISION = _object(
    "How replicas are divided over the chosen clusters",
    {
        "type": _text("Equal is the default", enum=list(DIVISIONS)),
        "clusters": {
            "type": "object",
            "description": "For Preferences: by cluster, or * for those without an entry of their own",
            "additionalProperties": _PREFERENCE,
            "maxProperties": _MANY,
        },
        "rebalance": {"type": "boolean", "description": "For Preferences: move what runs to where it should be"},
        "weights": _list(
            "For Weighted: a cluster has the greatest weight of the entries that name it",
            _object("One weight", {"clusters": _CLUSTERS, "weight": _number("The weight")}, required=["weight"]),
            most=64,
        ),
    },
    **{
        "x-kubernetes-validations": [
            _rule(
                "!has(self.weights) || (has(self.type) && self.type == 'Weighted')", "weights belong to type Weighted"
            ),
            _rule(
                "!has(self.clusters) || (has(self.type) && self.type == 'Preferences')",
                "clusters belong to type Preferences",
            ),
            _rule("!has(self.type) || self.type != 'Weighted' || has(self.weights)", "type Weighted needs weights"),
            _rule(
                "!has(self.type) || self.type != 'Preferences' || has(self.clusters)", "type Preferences needs clusters"
            ),
        ]
    },
)

_FAILOVER = _object(
    "What the loss of a cluster means",
    {
        "afterSeconds": _number("How long a lost cluster is waited for before others get its share; 0 is the default"),
        "never": {"type": "boolean", "description": "Never start elsewhere what may still run in a lost cluster"},
        "always": {
            "type": "boolean",
            "description": "Start elsewhere even what must not run twice: StatefulSets, and what is a singleton",
        },
        "failBack": {"type": "boolean", "description": "Go back to an earlier group once it can be used; the default"},
        "failBackAfterSeconds": _number(
            "For how long a cluster that was lost must be well again before it gets its share back; 10 is the default"
        ),
        "spareClusters": _number("So many clusters may be lost without replicas becoming fewer than were asked for"),
    },
    **{
        "x-kubernetes-validations": [
            _rule(
                "!has(self.never) || !self.never || !has(self.afterSeconds)",
                "afterSeconds means nothing where failover never happens",
            ),
            _rule(
                "!has(self.never) || !has(self.always) || !(self.never && self.always)",
                "never and always exclude each other",
            ),
        ]
    },
)

_ROLLOUT = _object(
    "How a changed template spreads over the clusters; without it, to all at once",
    {
        "order": _list("Groups of clusters, one after the other; clusters in none of them come last", _CLUSTERS),
        "maxClusters": _number("So many clusters change at a time; without a limit a whole group, or one by one", 1),
        "maxPercent": _number("So many of a hundred clusters change at a time, at least one", 1) | {"maximum": 100},
        "gate": _text("Ready (the default) goes on by itself, Manual asks before a group", enum=["Ready", "Manual"]),
        "pauseSeconds": _number("For how long those that have changed must be well before the next do"),
    },
    **{
        "x-kubernetes-validations": [
            _rule(
                "!has(self.gate) || self.gate != 'Manual' || (has(self.order) && size(self.order) > 0)",
                "gate Manual needs an order",
            )
        ]
    },
)

_OVERRIDES = _list(
    "What some clusters get differently, in order",
    _object(
        "A JSON patch (RFC 6902) for a set of clusters",
        {
            "clusters": _CLUSTERS,
            "patches": _list(
                "The operations, in order",
                _object(
                    "One operation",
                    {
                        "op": _text("replace is the default", enum=["add", "remove", "replace"]),
                        "path": _text(
                            "A JSON pointer, e.g. /spec/template/spec/containers/0/image", 1024, pattern="^/"
                        ),
                        "value": {"x-kubernetes-preserve-unknown-fields": True},
                    },
                    required=["path"],
                    **{
                        "x-kubernetes-validations": [
                            _rule(
                                "!(self.path in ['/metadata', '/metadata/name', '/metadata/namespace', '/kind', "
                                "'/apiVersion', '/metadata/generateName'])",
                                "what an object is called cannot be overridden",
                            )
                        ]
                    },
                ),
                most=64,
                minItems=1,
            ),
        },
        required=["patches"],
    ),
    most=64,
)

_SPEC = _object(
    "What is selected and where it goes",
    {
        "selects": _SELECTS,
        "priority": {
            "type": "integer",
            "format": "int32",
            "description": "Of several policies that select an object the one with the highest priority counts",
        },
        "clusters": _CLUSTERS,
        "groups": _list(
            "Sets of clusters that are tried in order: the first that can take the work has it",
            _object(
                "One set", {"name": _text("How it is called", 63), "clusters": _CLUSTERS}, required=["name", "clusters"]
            ),
        )
        | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "tolerations": _TOLERATIONS,
        "spread": _SPREAD,
        "division": _DIVISION,
        "respectCapacity": {
            "type": "boolean",
            "description": "Give no cluster more replicas than fit into what it has free",
        },
        "dependencies": _text("Follow has what the workloads' pods name go where they go", enum=["Follow"]),
        "failover": _FAILOVER,
        "rollout": _ROLLOUT,
        "overrides": _OVERRIDES,
    },
    required=["selects"],
)


def _crd(resource: Resource, short: str, description: str) -> Obj:
    columns = [
        column("Kinds", "string", ".spec.selects[*].kind"),
        column("Division", "string", ".spec.division.type"),
        column("Spread", "string", ".spec.spread[*].by"),
        column("Priority", "integer", ".spec.priority"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]
    fields = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": _SPEC,
    }
    schema = _object(description, fields, required=["spec"])
    return definition(resource, schema, columns, short=(short,), categories=("hanse",))


PLACEMENT_POLICY_CRD = _crd(
    PLACEMENT_POLICIES, "pp", "Says for objects of its namespace which clusters get them, and how many replicas each."
)
CLUSTER_PLACEMENT_POLICY_CRD = _crd(
    CLUSTER_PLACEMENT_POLICIES,
    "cpp",
    "Says for objects of every namespace which clusters get them; a namespace's own counts more.",
)
