"""One object of each built-in kind: defaults, what the server adds, and how it is shown in a table."""

from __future__ import annotations

from typing import Any

from tests.contract.step import TABLE, Step, deployment, get, manifest, namespace, post, template

NAMESPACE = "kinds"
_SELECTOR = {"matchLabels": {"app": "x"}}
_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
_BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
_WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}],
}
_POLICY = {
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}
        ]
    },
    "validations": [{"expression": "true"}],
}

# group and version, plural, namespaced, manifest
KINDS: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("v1", "secrets", True, manifest("v1", "Secret", "x", stringData={"a": "1"}, data={"b": "Mg=="})),
    ("v1", "serviceaccounts", True, manifest("v1", "ServiceAccount", "x")),
    ("v1", "services", True, manifest("v1", "Service", "x", spec={"ports": [{"port": 80}], "selector": {"app": "x"}})),
    ("v1", "endpoints", True, manifest("v1", "Endpoints", "x")),
    (
        "v1",
        "limitranges",
        True,
        manifest(
            "v1", "LimitRange", "x", spec={"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}]}
        ),
    ),
    ("v1", "resourcequotas", True, manifest("v1", "ResourceQuota", "x", spec={"hard": {"pods": "1000"}})),
    ("v1", "podtemplates", True, manifest("v1", "PodTemplate", "x", template=template("x"))),
    ("v1", "persistentvolumeclaims", True, manifest("v1", "PersistentVolumeClaim", "x", spec=_CLAIM)),
    (
        "v1",
        "replicationcontrollers",
        True,
        manifest("v1", "ReplicationController", "x", spec={"selector": {"app": "x"}, "template": template("x")}),
    ),
    (
        "v1",
        "events",
        True,
        manifest(
            "v1",
            "Event",
            "x",
            involvedObject={"kind": "Pod", "name": "p", "namespace": NAMESPACE},
            reason="Tested",
            message="m",
            type="Normal",
            count=1,
        ),
    ),
    (
        "v1",
        "persistentvolumes",
        False,
        manifest(
            "v1",
            "PersistentVolume",
            "x",
            spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}},
        ),
    ),
    ("v1", "nodes", False, manifest("v1", "Node", "x")),
    ("apps/v1", "deployments", True, deployment("x")),
    (
        "apps/v1",
        "statefulsets",
        True,
        manifest(
            "apps/v1",
            "StatefulSet",
            "x",
            spec={
                "selector": _SELECTOR,
                "serviceName": "x",
                "template": template("x"),
                "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": _CLAIM}],
            },
        ),
    ),
    (
        "apps/v1",
        "daemonsets",
        True,
        manifest("apps/v1", "DaemonSet", "x", spec={"selector": _SELECTOR, "template": template("x")}),
    ),
    (
        "apps/v1",
        "replicasets",
        True,
        manifest("apps/v1", "ReplicaSet", "x", spec={"selector": _SELECTOR, "template": template("x")}),
    ),
    ("apps/v1", "controllerrevisions", True, manifest("apps/v1", "ControllerRevision", "x", revision=1, data={"a": 1})),
    (
        "batch/v1",
        "jobs",
        True,
        manifest(
            "batch/v1", "Job", "x", spec={"template": {"spec": {**template("x")["spec"], "restartPolicy": "Never"}}}
        ),
    ),
    (
        "batch/v1",
        "cronjobs",
        True,
        manifest(
            "batch/v1",
            "CronJob",
            "x",
            spec={
                "schedule": "0 1 * * *",
                "jobTemplate": {"spec": {"template": {"spec": {**template("x")["spec"], "restartPolicy": "Never"}}}},
            },
        ),
    ),
    (
        "autoscaling/v2",
        "horizontalpodautoscalers",
        True,
        manifest(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "x",
            spec={"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}},
        ),
    ),
    (
        "autoscaling/v1",
        "horizontalpodautoscalers",
        True,
        manifest(
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            "y",
            spec={
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 70,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            },
        ),
    ),
    (
        "networking.k8s.io/v1",
        "ingresses",
        True,
        manifest(
            "networking.k8s.io/v1",
            "Ingress",
            "x",
            spec={
                "rules": [
                    {
                        "host": "a.example.com",
                        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": _BACKEND}]},
                    }
                ]
            },
        ),
    ),
    (
        "networking.k8s.io/v1",
        "networkpolicies",
        True,
        manifest(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "x",
            spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]},
        ),
    ),
    (
        "networking.k8s.io/v1",
        "ingressclasses",
        False,
        manifest("networking.k8s.io/v1", "IngressClass", "x", spec={"controller": "example.com/c"}),
    ),
    (
        "policy/v1",
        "poddisruptionbudgets",
        True,
        manifest("policy/v1", "PodDisruptionBudget", "x", spec={"minAvailable": 1, "selector": _SELECTOR}),
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "roles",
        True,
        manifest("rbac.authorization.k8s.io/v1", "Role", "x", rules=_RULES),
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        True,
        manifest(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "x",
            subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
            roleRef={"kind": "Role", "name": "x", "apiGroup": "rbac.authorization.k8s.io"},
        ),
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "clusterroles",
        False,
        manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "x", rules=_RULES),
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        False,
        manifest(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "x",
            subjects=[{"kind": "Group", "name": "g"}],
            roleRef={"kind": "ClusterRole", "name": "x", "apiGroup": "rbac.authorization.k8s.io"},
        ),
    ),
    (
        "coordination.k8s.io/v1",
        "leases",
        True,
        manifest("coordination.k8s.io/v1", "Lease", "x", spec={"holderIdentity": "h", "leaseDurationSeconds": 15}),
    ),
    (
        "discovery.k8s.io/v1",
        "endpointslices",
        True,
        manifest(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "x",
            addressType="IPv4",
            endpoints=[{"addresses": ["10.0.0.1"]}],
            ports=[{"port": 80}],
        ),
    ),
    (
        "events.k8s.io/v1",
        "events",
        True,
        manifest(
            "events.k8s.io/v1",
            "Event",
            "y",
            eventTime="2026-01-01T00:00:00.000000Z",
            action="A",
            reason="R",
            reportingController="example.com/c",
            reportingInstance="i",
            type="Normal",
            regarding={"kind": "Pod", "name": "p", "namespace": NAMESPACE},
        ),
    ),
    (
        "storage.k8s.io/v1",
        "storageclasses",
        False,
        manifest("storage.k8s.io/v1", "StorageClass", "x", provisioner="example.com/p"),
    ),
    ("storage.k8s.io/v1", "csidrivers", False, manifest("storage.k8s.io/v1", "CSIDriver", "x.example.com", spec={})),
    ("storage.k8s.io/v1", "csinodes", False, manifest("storage.k8s.io/v1", "CSINode", "x", spec={"drivers": []})),
    (
        "storage.k8s.io/v1",
        "volumeattachments",
        False,
        manifest(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            "x",
            spec={"attacher": "a", "nodeName": "x", "source": {"persistentVolumeName": "x"}},
        ),
    ),
    (
        "storage.k8s.io/v1",
        "csistoragecapacities",
        True,
        manifest("storage.k8s.io/v1", "CSIStorageCapacity", "x", storageClassName="x", capacity="1024Mi"),
    ),
    (
        "storage.k8s.io/v1",
        "volumeattributesclasses",
        False,
        manifest(
            "storage.k8s.io/v1", "VolumeAttributesClass", "x", driverName="d.example.com", parameters={"iops": "100"}
        ),
    ),
    (
        "networking.k8s.io/v1",
        "ipaddresses",
        False,
        manifest(
            "networking.k8s.io/v1",
            "IPAddress",
            "192.168.4.4",
            spec={"parentRef": {"group": "", "resource": "services", "namespace": "n", "name": "s"}},
        ),
    ),
    (
        "networking.k8s.io/v1",
        "servicecidrs",
        False,
        manifest("networking.k8s.io/v1", "ServiceCIDR", "x", spec={"cidrs": ["fd00:55::/112"]}),
    ),
    ("scheduling.k8s.io/v1", "priorityclasses", False, manifest("scheduling.k8s.io/v1", "PriorityClass", "x", value=7)),
    (
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        False,
        manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "x", webhooks=[_WEBHOOK]),
    ),
    (
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        False,
        manifest("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "x", webhooks=[_WEBHOOK]),
    ),
    (
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        False,
        manifest("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "x", spec=_POLICY),
    ),
    (
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        False,
        manifest(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicyBinding",
            "x",
            spec={"policyName": "x", "validationActions": ["Deny"]},
        ),
    ),
    (
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicies",
        False,
        manifest(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicy",
            "x",
            spec={
                "matchConstraints": _POLICY["matchConstraints"],
                "reinvocationPolicy": "Never",
                "mutations": [
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
                ],
            },
        ),
    ),
    (
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicybindings",
        False,
        manifest("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", "x", spec={"policyName": "x"}),
    ),
)


def collection(group_version: str, plural: str, *, namespaced: bool) -> str:
    """Return the path of a kind's objects in this section's namespace."""
    root = "/api" if group_version == "v1" else "/apis"
    return f"{root}/{group_version}/{f'namespaces/{NAMESPACE}/' if namespaced else ''}{plural}"


def _steps() -> list[Step]:
    steps = namespace(NAMESPACE)
    for group_version, plural, namespaced, obj in KINDS:
        path = collection(group_version, plural, namespaced=namespaced)
        name = obj["metadata"]["name"]
        steps.append(post(f"kinds/create {plural} {group_version}", path, obj))
        steps.append(get(f"kinds/table {plural} {group_version}", f"{path}/{name}", accept=TABLE))
    return steps


STEPS: list[Step] = [
    *_steps(),
    get(
        "kinds/one autoscaler in the other version",
        f"/apis/autoscaling/v1/namespaces/{NAMESPACE}/horizontalpodautoscalers/x",
    ),
    get(
        "kinds/the other autoscaler in the newer version",
        f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers/y",
    ),
    get("kinds/a core event as events.k8s.io", f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events/x"),
    get("kinds/an events.k8s.io event as core", f"/api/v1/namespaces/{NAMESPACE}/events/y"),
    get("kinds/the namespace default", "/api/v1/namespaces/default"),
    get("kinds/the namespaces", "/api/v1/namespaces?fieldSelector=metadata.name%3Dkube-system"),
    get("kinds/the service network", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"),
    get("kinds/the address of kubernetes", "/apis/networking.k8s.io/v1/ipaddresses/10.96.0.1"),
    get("kinds/the service kubernetes", "/api/v1/namespaces/default/services/kubernetes"),
    get("kinds/the role cluster-admin", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin"),
    get("kinds/the role view", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view", until=200),
    get("kinds/the priority class of the system", "/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical"),
]
