"""`Work` and `Agent` of hanse.dev/v1alpha1: how the federation and a cluster that fetches its work talk to each other.

Every such cluster has a namespace of its own on the host, so that its agent needs no right outside of it. A Work says
what the cluster shall have of one source object, and its status what it has; the Agent says which kinds are to be
followed, and its status which are, and how the cluster is. A Work holds all that its object holds: one of a Secret is
as secret as that.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import CLUSTER_STATUS, record, text
from hanse.api.definitions import column, definition
from hanse.api.names import AGENT_NAMESPACE_PREFIX
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

WORKS = Resource("hanse.dev", "v1alpha1", "works", "Work")
AGENTS = Resource("hanse.dev", "v1alpha1", "agents", "Agent")

# What a Work can ask for; "" asks for nothing, and leaves what is there alone.
PRESENT, KEPT, ABSENT, RELEASED, NOTHING = "Present", "Kept", "Absent", "Released", ""

_BOOLEAN = {"type": "boolean"}
_ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PATH = {"type": "array", "items": text()}
_KIND = {"group": text(), "version": text(), "plural": text(), "kind": text(), "namespaced": _BOOLEAN}
_KIND_FIELDS = ["group", "version", "plural", "kind", "namespaced"]

_WORK_SPEC = record(
    {
        "resource": record(_KIND, "The kind of the object", required=_KIND_FIELDS),
        "namespace": text("Where the object is; empty for one without a namespace"),
        "name": text("What it is called"),
        "want": text("What shall become of the copy", enum=[PRESENT, KEPT, ABSENT, RELEASED, NOTHING]),
        "sourceUID": text("The uid of the federation's object; nobody else's copy is touched"),
        "inherits": {"type": "array", "items": text(), "description": "Uids of sources whose copies are taken over"},
        "manifest": {**_ANYTHING, "description": "What the cluster shall have"},
        "shared": {**_BOOLEAN, "description": "One that the cluster has already is used as it is"},
        "mend": {**_BOOLEAN, "description": "What somebody changes in the cluster is put back"},
        "adopt": {**_BOOLEAN, "description": "One that is nobody's copy is taken over"},
        "retain": {"type": "array", "items": _PATH, "description": "Fields in which the cluster keeps what it has"},
        "numbers": {
            "type": "array",
            "items": record({"path": _PATH, "value": {"type": "integer"}}, required=["path", "value"]),
            "description": "What changes in a copy that is kept",
        },
        "propagationPolicy": text(
            "What becomes of what a removed copy owns", enum=["Background", "Foreground", "Orphan"]
        ),
        "gracePeriodSeconds": {"type": "integer", "description": "How long a removed copy has to end"},
    },
    required=["resource", "name", "want"],
)

_WORK_STATUS = record(
    {
        "observedGeneration": {"type": "integer", "description": "The version of the wish that this is about"},
        "trouble": text("What stands in the way, in one sentence"),
        "reason": text("What stands in the way, in one word"),
        "confirmed": {**_BOOLEAN, "description": "The cluster was asked and has no copy any more"},
        "copy": {**_ANYTHING, "description": "The copy as it is, without its data"},
    }
)

WORK_CRD = definition(
    WORKS,
    record(
        {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}, "spec": _WORK_SPEC}
        | {"status": _WORK_STATUS},
        "What one cluster that fetches its work shall have of one object, and what it has.",
    ),
    [
        column("Resource", "string", ".spec.resource.plural"),
        column("In", "string", ".spec.namespace"),
        column("Object", "string", ".spec.name"),
        column("Want", "string", ".spec.want"),
        column("Trouble", "string", ".status.trouble"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    status=True,
)

AGENT_CRD = definition(
    AGENTS,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "kinds": {
                        "type": "array",
                        "items": record(_KIND, required=_KIND_FIELDS),
                        "description": "The kinds whose copies it shall follow",
                    }
                }
            ),
            "status": record(
                {
                    "session": text("Which run of the agent tells this: the holder of its Lease"),
                    "kinds": {
                        "type": "array",
                        "items": record(
                            _KIND
                            | {"seen": _BOOLEAN, "refusal": text("Why it cannot be followed")}
                            | {"unserved": {**_BOOLEAN, "description": "The cluster does not know the kind"}},
                            required=_KIND_FIELDS,
                        ),
                        "description": "The kinds of which every copy is told, or why it is not",
                    },
                    "cluster": {**CLUSTER_STATUS, "description": "How the cluster is, as its Cluster shall say"},
                }
            ),
        },
        "The agent of a cluster that fetches its work: what it is asked to follow, and what it tells.",
    ),
    [
        column("Session", "string", ".status.session"),
        column("Ready", "string", '.status.cluster.conditions[?(@.type=="Ready")].status'),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    status=True,
)


def agent_namespace(cluster: str) -> str:
    """Return the host's namespace in which a cluster finds its work."""
    return f"{AGENT_NAMESPACE_PREFIX}{cluster}"


def agent_manifest(cluster: str) -> Obj:
    """Write the Agent of a cluster, which is called as the cluster is."""
    return {
        "apiVersion": AGENTS.api_version,
        "kind": AGENTS.kind,
        "metadata": {"name": cluster, "namespace": agent_namespace(cluster)},
        "spec": {"kinds": []},
    }


def kind_entry(resource: Resource) -> Obj:
    """Write a kind as Works and Agents name it."""
    return {
        "group": resource.group,
        "version": resource.version,
        "plural": resource.plural,
        "kind": resource.kind,
        "namespaced": resource.namespaced,
    }


def kind_of(entry: Obj) -> Resource:
    """Read a kind as Works and Agents name it."""
    return Resource(
        str(entry.get("group") or ""),
        str(entry["version"]),
        str(entry["plural"]),
        str(entry["kind"]),
        namespaced=bool(entry.get("namespaced")),
    )
