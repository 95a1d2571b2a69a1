"""What Hanse may do in a cluster for pods that run elsewhere, beyond what `hanse join` gives it, rule by rule.

Each list is what the code does there and no more; its comments say which part does it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.admiralty.kinds import (
    CLUSTER_SOURCES,
    CLUSTER_SUMMARIES,
    CLUSTER_TARGETS,
    GROUP,
    POD_CHAPERONS,
    SOURCES,
    TARGETS,
)
from hanse.kube.manifest import Obj
from hanse.pods.senders.rights import SENDER_ROLE, VIEWER_ROLE

_READ = ("get", "list", "watch")
_CHANGE = (*_READ, "patch", "update")
_WRITE = ("create", "delete", *_CHANGE)
_RBAC = "rbac.authorization.k8s.io"
_CERTIFICATES = "certificates.k8s.io"
KUBELET_SIGNER = "kubernetes.io/kubelet-serving"


def rule(groups: Sequence[str], resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()) -> Obj:
    """Return one rule of RBAC."""
    written: Obj = {"apiGroups": list(groups), "resources": list(resources), "verbs": sorted(verbs)}
    return {**written, "resourceNames": list(names)} if names else written


# In a cluster whose pods run elsewhere, everywhere in it.
SOURCE_RULES: tuple[Obj, ...] = (
    # Placeholders: finalizers, the gate, status, annotations; bound once the pod has a place; deleted when it is lost.
    rule([""], ["pods"], ["delete", *_CHANGE]),
    rule([""], ["pods/status"], ["patch", "update"]),
    rule([""], ["pods/binding"], ["create"]),
    # Whole Jobs.
    rule(["batch"], ["jobs"], _CHANGE),
    rule(["batch"], ["jobs/status"], ["patch", "update"]),
    # Virtual nodes.
    rule([""], ["nodes"], ["create", "delete", *_CHANGE]),
    rule([""], ["nodes/status"], ["patch", "update"]),
    # Where pods may go, held until nothing is there any more, and what stands in the way.
    rule([GROUP], [TARGETS.plural, CLUSTER_TARGETS.plural], [*_READ, "patch"]),
    rule([GROUP], [f"{TARGETS.plural}/status", f"{CLUSTER_TARGETS.plural}/status"], ["patch", "update"]),
    # What goes with pods is held until its copies are gone, and Services are led to pods elsewhere.
    rule([""], ["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], _CHANGE),
    rule(["networking.k8s.io"], ["ingresses"], _CHANGE),
    # Those of pods that have it follow them.
    rule([""], ["namespaces"], _CHANGE),
    rule([""], ["events"], ["create", "patch"]),
    # The certificate by which the API server knows the kubelet of virtual nodes.
    rule([_CERTIFICATES], ["certificatesigningrequests"], ["create", "delete", *_READ]),
    rule([_CERTIFICATES], ["certificatesigningrequests/approval"], ["update"]),
    rule([_CERTIFICATES], ["signers"], ["approve"], [KUBELET_SIGNER]),
    # Whether whoever asks that kubelet for logs may.
    rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
)

# In its namespace kube-node-lease: virtual nodes are alive.
NODE_LEASE_RULES: tuple[Obj, ...] = (rule(["coordination.k8s.io"], ["leases"], _WRITE),)
# In its namespace kube-system: the authority of clients, by which the kubelet of virtual nodes knows the API server.
CLIENT_AUTHORITY_RULES: tuple[Obj, ...] = (rule([""], ["configmaps"], _READ, ["extension-apiserver-authentication"]),)

# In a cluster in which others' pods run, everywhere in it.
TARGET_RULES: tuple[Obj, ...] = (
    rule([GROUP], [POD_CHAPERONS.plural], _WRITE),
    rule([GROUP], [f"{POD_CHAPERONS.plural}/status"], ["patch", "update"]),
    # An owner that blocks its own deletion: OpenShift, and clusters with that admission switched on, ask for it.
    rule([GROUP], [f"{POD_CHAPERONS.plural}/finalizers"], ["update"]),
    # The pod of a chaperon, its logs, and shells in it.
    rule([""], ["pods"], _WRITE),
    rule([""], ["pods/log"], ["get"]),
    rule([""], ["pods/attach", "pods/exec", "pods/portforward"], ["create", "get"]),
    # What goes with pods.
    rule([""], ["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], _WRITE),
    rule(["networking.k8s.io"], ["ingresses"], _WRITE),
    rule(["batch"], ["jobs"], _WRITE),
    rule([""], ["namespaces"], ["create", *_CHANGE]),
    # What all nodes have together.
    rule([""], ["nodes"], _READ),
    rule([GROUP], [CLUSTER_SUMMARIES.plural], ["create", *_CHANGE]),
    # Who may send pods: accounts, and bindings of two roles and no others. Those are written along with these rights,
    # since whoever may write roles may have any right.
    rule([GROUP], [SOURCES.plural, CLUSTER_SOURCES.plural], _CHANGE),
    rule([GROUP], [f"{SOURCES.plural}/status", f"{CLUSTER_SOURCES.plural}/status"], ["patch", "update"]),
    rule([_RBAC], ["clusterrolebindings", "rolebindings"], _WRITE),
    rule([_RBAC], ["clusterroles"], ["bind", "get"], [SENDER_ROLE, VIEWER_ROLE]),
)

# In its namespace hanse-system: who keeps its pods, and which sources are alive.
TARGET_LEASE_RULES: tuple[Obj, ...] = (rule(["coordination.k8s.io"], ["leases"], _WRITE),)

# What the admission server of a source may do in it.
ADMISSION_RULES: tuple[Obj, ...] = (rule([GROUP], [TARGETS.plural, CLUSTER_TARGETS.plural], _READ),)
