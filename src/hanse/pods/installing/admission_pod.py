"""What runs the admission server inside a source: its account, its two pods, and the Service by which it is called.

It asks nobody but the API server beside it, so that pods are made there whatever becomes of the federation's host.
"""

from __future__ import annotations

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.plain_kinds import DISRUPTION_BUDGETS
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import DEPLOYMENTS, SECRETS, SERVICE_ACCOUNTS, SERVICES, Resource
from hanse.pods.installing.rights import door_labels
from hanse.pods.installing.rules import ADMISSION_RULES, rule

# The server's account, Deployment, Service, and the Secret with its certificate and keys.
ADMISSION = Key(SYSTEM_NAMESPACE, "hanse-admission")
ADMISSION_PORT = 9443
_APP_LABEL = "app.kubernetes.io/name"


def admission_account(cluster: str, webhook: str, owner: Obj | None) -> list[Obj]:
    """Return the server's account: it reads targets, and renews its own certificate and what `webhook` says of it."""
    subject = {"kind": "ServiceAccount", "name": ADMISSION.name, "namespace": ADMISSION.namespace}
    role = f"hanse:{cluster}:admission"
    renewing = rule(["admissionregistration.k8s.io"], ["mutatingwebhookconfigurations"], ["get", "patch"], [webhook])
    keeping = rule([""], [SECRETS.plural], ["get", "patch"], [ADMISSION.name])

    def bound(kind: Resource) -> Obj:
        return {"roleRef": {"apiGroup": kind.group, "kind": kind.kind, "name": role}, "subjects": [subject]}

    here = ADMISSION.namespace
    return [
        _made(SERVICE_ACCOUNTS, ADMISSION.name, cluster, owner, here),
        _made(CLUSTER_ROLES, role, cluster, owner, rules=[*map(dict, ADMISSION_RULES), renewing]),
        _made(CLUSTER_ROLE_BINDINGS, role, cluster, owner, **bound(CLUSTER_ROLES)),
        _made(ROLES, role, cluster, owner, here, rules=[keeping]),
        _made(ROLE_BINDINGS, role, cluster, owner, here, **bound(ROLES)),
    ]


def admission_secret(cluster: str, data: dict[str, str], owner: Obj | None) -> Obj:
    """Return the Secret with what the server shows and signs by."""
    return _made(SECRETS, ADMISSION.name, cluster, owner, ADMISSION.namespace, type="Opaque", data=data)


def admission_pods(cluster: str, image: str, owner: Obj | None) -> list[Obj]:
    """Return what runs the server in the cluster: two pods, since no elected pod is made while none answers."""
    chosen = {_APP_LABEL: ADMISSION.name}
    here = ADMISSION.namespace
    port = {"name": "https", "port": 443, "targetPort": "https"}
    return [
        _made(SERVICES, ADMISSION.name, cluster, owner, here, spec={"selector": chosen, "ports": [port]}),
        _made(
            DISRUPTION_BUDGETS,
            ADMISSION.name,
            cluster,
            owner,
            here,
            spec={"minAvailable": 1, "selector": {"matchLabels": chosen}},
        ),
        _made(
            DEPLOYMENTS,
            ADMISSION.name,
            cluster,
            owner,
            here,
            spec={
                "replicas": 2,
                "selector": {"matchLabels": chosen},
                "template": {"metadata": {"labels": chosen}, "spec": _pod(cluster, image, chosen)},
            },
        ),
    ]


def _pod(cluster: str, image: str, chosen: dict[str, str]) -> Obj:
    arguments = ["--cluster", cluster, "--address", "0.0.0.0", "--port", str(ADMISSION_PORT), "--log-format", "json"]
    container = {
        "name": "admission",
        "image": image,
        "args": ["agent", "admission", *arguments],
        "ports": [{"name": "https", "containerPort": ADMISSION_PORT}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "https", "scheme": "HTTPS"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": chosen},
    }
    return {
        "serviceAccountName": ADMISSION.name,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [apart],
        "containers": [container],
    }


def _made(
    resource: Resource, name: str, cluster: str, owner: Obj | None, namespace: str = "", **content: object
) -> Obj:
    metadata: Obj = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": door_labels(cluster)}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}
