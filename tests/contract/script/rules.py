"""What the rules of built-in kinds refuse, each with one wrong field, and fields that may not change."""

from __future__ import annotations

from typing import Any

from tests.contract.step import Step, deployment, get, manifest, merge, namespace, post, put, template

NS = "/namespaces/rules"
PODS, SERVICES, SECRETS = f"/api/v1{NS}/pods", f"/api/v1{NS}/services", f"/api/v1{NS}/secrets"
DEPLOYMENTS, SETS = f"/apis/apps/v1{NS}/deployments", f"/apis/apps/v1{NS}/statefulsets"
JOBS, CRONJOBS = f"/apis/batch/v1{NS}/jobs", f"/apis/batch/v1{NS}/cronjobs"
_ONCE = {"spec": {**template("x")["spec"], "restartPolicy": "Never"}}


def _service(**spec: Any) -> dict[str, Any]:
    return manifest("v1", "Service", "bad", spec=spec)


def _pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("v1", "Pod", "bad", spec={"containers": list(containers), **spec})


def _workload(container: dict[str, Any], **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "app", "image": "x", **container}], **pod}
    return deployment("bad", template={"metadata": {"labels": {"app": "bad"}}, "spec": spec})


_BAD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("deployment without anything", DEPLOYMENTS, manifest("apps/v1", "Deployment", "bad")),
    ("deployment with an empty spec", DEPLOYMENTS, manifest("apps/v1", "Deployment", "bad", spec={})),
    ("deployment whose selector misses", DEPLOYMENTS, deployment("bad", selector={"matchLabels": {"app": "other"}})),
    ("deployment with negative replicas", DEPLOYMENTS, deployment("bad", replicas=-1)),
    ("deployment with fractional replicas", DEPLOYMENTS, deployment("bad", replicas=1.5)),
    ("deployment with replicas as text", DEPLOYMENTS, deployment("bad", replicas="3")),
    ("deployment with huge replicas", DEPLOYMENTS, deployment("bad", replicas=2**40)),
    ("deployment with an unknown strategy", DEPLOYMENTS, deployment("bad", strategy={"type": "Leap"})),
    (
        "deployment with rolling parameters for Recreate",
        DEPLOYMENTS,
        deployment("bad", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
    ),
    (
        "deployment that cannot roll",
        DEPLOYMENTS,
        deployment("bad", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
    ),
    (
        "deployment with an impatient deadline",
        DEPLOYMENTS,
        deployment("bad", minReadySeconds=600, progressDeadlineSeconds=600),
    ),
    ("deployment that restarts never", DEPLOYMENTS, _workload({}, restartPolicy="Never")),
    (
        "deployment without containers",
        DEPLOYMENTS,
        deployment("bad", template={"metadata": {"labels": {"app": "bad"}}, "spec": {"containers": []}}),
    ),
    ("container without a name", DEPLOYMENTS, _workload({"name": ""})),
    ("container without an image", DEPLOYMENTS, _workload({"image": ""})),
    ("container with a bad name", DEPLOYMENTS, _workload({"name": "Bad_Name"})),
    ("container with a bad pull policy", DEPLOYMENTS, _workload({"imagePullPolicy": "Sometimes"})),
    ("container with a bad port", DEPLOYMENTS, _workload({"ports": [{"containerPort": 70000}]})),
    ("container with a bad protocol", DEPLOYMENTS, _workload({"ports": [{"containerPort": 80, "protocol": "IPX"}]})),
    (
        "container with a port name twice",
        DEPLOYMENTS,
        _workload({"ports": [{"name": "a", "containerPort": 80}, {"name": "a", "containerPort": 81}]}),
    ),
    ("container with a bad variable", DEPLOYMENTS, _workload({"env": [{"name": "a=b", "value": "1"}]})),
    ("container with a bad quantity", DEPLOYMENTS, _workload({"resources": {"limits": {"cpu": "lots"}}})),
    (
        "container that requests over its limit",
        DEPLOYMENTS,
        _workload({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}),
    ),
    ("container with a negative request", DEPLOYMENTS, _workload({"resources": {"requests": {"cpu": "-1"}}})),
    (
        "container that mounts nothing",
        DEPLOYMENTS,
        _workload({"volumeMounts": [{"name": "absent", "mountPath": "/x"}]}),
    ),
    ("container with an empty probe", DEPLOYMENTS, _workload({"livenessProbe": {}})),
    (
        "volume with two sources",
        DEPLOYMENTS,
        _workload({}, volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
    ),
    ("volume without a name", DEPLOYMENTS, _workload({}, volumes=[{"emptyDir": {}}])),
    ("bad restart policy", DEPLOYMENTS, _workload({}, restartPolicy="Perhaps")),
    ("bad dns policy", DEPLOYMENTS, _workload({}, dnsPolicy="Guess")),
    ("pod with the same container twice", PODS, _pod({"name": "a", "image": "x"}, {"name": "a", "image": "x"})),
    ("pod without containers", PODS, _pod()),
    ("pod with a bad toleration", PODS, _pod({"name": "a", "image": "x"}, tolerations=[{"operator": "Maybe"}])),
    ("pod with an absent service account", PODS, _pod({"name": "a", "image": "x"}, serviceAccountName="absent")),
    ("pod with an absent priority class", PODS, _pod({"name": "a", "image": "x"}, priorityClassName="absent")),
    ("service without ports", SERVICES, _service(selector={"a": "b"})),
    ("service with a port twice", SERVICES, _service(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 80}])),
    ("service with unnamed ports", SERVICES, _service(ports=[{"port": 80}, {"port": 81}])),
    ("service with a bad port", SERVICES, _service(ports=[{"port": 0}])),
    ("service with a bad type", SERVICES, _service(type="Mesh", ports=[{"port": 80}])),
    ("service with a bad cluster ip", SERVICES, _service(clusterIP="999.1.1.1", ports=[{"port": 80}])),
    ("service with an ip of another network", SERVICES, _service(clusterIP="192.168.1.1", ports=[{"port": 80}])),
    ("service with a bad node port", SERVICES, _service(type="NodePort", ports=[{"port": 80, "nodePort": 1}])),
    ("service with a bad affinity", SERVICES, _service(sessionAffinity="Loose", ports=[{"port": 80}])),
    ("external name without a name", SERVICES, _service(type="ExternalName")),
    (
        "service with a name that starts with a digit",
        SERVICES,
        manifest("v1", "Service", "1bad", spec={"ports": [{"port": 80}]}),
    ),
    ("secret of an unknown shape", SECRETS, manifest("v1", "Secret", "bad", type="kubernetes.io/tls", data={})),
    (
        "secret for docker without its key",
        SECRETS,
        manifest("v1", "Secret", "bad", type="kubernetes.io/dockerconfigjson"),
    ),
    ("secret with data that is not base64", SECRETS, manifest("v1", "Secret", "bad", data={"a": "%%"})),
    ("job that restarts always", JOBS, manifest("batch/v1", "Job", "bad", spec={"template": template("x")})),
    (
        "job with negative parallelism",
        JOBS,
        manifest("batch/v1", "Job", "bad", spec={"parallelism": -1, "template": _ONCE}),
    ),
    (
        "job with its own selector",
        JOBS,
        manifest("batch/v1", "Job", "bad", spec={"selector": {"matchLabels": {"a": "b"}}, "template": _ONCE}),
    ),
    (
        "cron job with a bad schedule",
        CRONJOBS,
        manifest(
            "batch/v1", "CronJob", "bad", spec={"schedule": "often", "jobTemplate": {"spec": {"template": _ONCE}}}
        ),
    ),
    (
        "cron job with a bad concurrency",
        CRONJOBS,
        manifest(
            "batch/v1",
            "CronJob",
            "bad",
            spec={"schedule": "* * * * *", "concurrencyPolicy": "X", "jobTemplate": {"spec": {"template": _ONCE}}},
        ),
    ),
    (
        "cron job with a bad time zone",
        CRONJOBS,
        manifest(
            "batch/v1",
            "CronJob",
            "bad",
            spec={"schedule": "* * * * *", "timeZone": "Mars/Base", "jobTemplate": {"spec": {"template": _ONCE}}},
        ),
    ),
    (
        "stateful set with a bad policy",
        SETS,
        manifest(
            "apps/v1",
            "StatefulSet",
            "bad",
            spec={"selector": {"matchLabels": {"app": "x"}}, "template": template("x"), "podManagementPolicy": "Chaos"},
        ),
    ),
    (
        "autoscaler without a maximum",
        f"/apis/autoscaling/v2{NS}/horizontalpodautoscalers",
        manifest(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "bad",
            spec={"scaleTargetRef": {"kind": "Deployment", "name": "x"}},
        ),
    ),
    (
        "autoscaler upside down",
        f"/apis/autoscaling/v2{NS}/horizontalpodautoscalers",
        manifest(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "bad",
            spec={"minReplicas": 5, "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "x"}},
        ),
    ),
    (
        "ingress without anything",
        f"/apis/networking.k8s.io/v1{NS}/ingresses",
        manifest("networking.k8s.io/v1", "Ingress", "bad", spec={}),
    ),
    (
        "ingress without a path type",
        f"/apis/networking.k8s.io/v1{NS}/ingresses",
        manifest(
            "networking.k8s.io/v1",
            "Ingress",
            "bad",
            spec={
                "rules": [
                    {"http": {"paths": [{"path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}
                ]
            },
        ),
    ),
    (
        "budget with both bounds",
        f"/apis/policy/v1{NS}/poddisruptionbudgets",
        manifest("policy/v1", "PodDisruptionBudget", "bad", spec={"minAvailable": 1, "maxUnavailable": 1}),
    ),
    (
        "binding without a role",
        f"/apis/rbac.authorization.k8s.io/v1{NS}/rolebindings",
        manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "bad"),
    ),
    (
        "role without verbs",
        f"/apis/rbac.authorization.k8s.io/v1{NS}/roles",
        manifest("rbac.authorization.k8s.io/v1", "Role", "bad", rules=[{"apiGroups": [""], "resources": ["pods"]}]),
    ),
    (
        "lease with a negative duration",
        f"/apis/coordination.k8s.io/v1{NS}/leases",
        manifest("coordination.k8s.io/v1", "Lease", "bad", spec={"leaseDurationSeconds": -1}),
    ),
    (
        "claim without a size",
        f"/api/v1{NS}/persistentvolumeclaims",
        manifest("v1", "PersistentVolumeClaim", "bad", spec={"accessModes": ["ReadWriteOnce"]}),
    ),
    (
        "claim without a mode",
        f"/api/v1{NS}/persistentvolumeclaims",
        manifest("v1", "PersistentVolumeClaim", "bad", spec={"resources": {"requests": {"storage": "1Gi"}}}),
    ),
    (
        "event in another namespace",
        f"/api/v1{NS}/events",
        manifest("v1", "Event", "bad", involvedObject={"namespace": "other"}),
    ),
    ("namespace with a bad name", "/api/v1/namespaces", manifest("v1", "Namespace", "bad.name")),
    (
        "priority class above the limit",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        manifest("scheduling.k8s.io/v1", "PriorityClass", "bad", value=2_000_000_001),
    ),
    (
        "quota with a bad quantity",
        f"/api/v1{NS}/resourcequotas",
        manifest("v1", "ResourceQuota", "bad", spec={"hard": {"pods": "-1"}}),
    ),
    (
        "network policy with a bad type",
        f"/apis/networking.k8s.io/v1{NS}/networkpolicies",
        manifest("networking.k8s.io/v1", "NetworkPolicy", "bad", spec={"podSelector": {}, "policyTypes": ["Sideways"]}),
    ),
)

STEPS: list[Step] = [
    *namespace("rules"),
    # Tried out only: what is wrongly accepted must not stand in the way of the next.
    *(post(f"rules/{name}", f"{path}?dryRun=All", obj) for name, path, obj in _BAD),
    post("rules/a good deployment", DEPLOYMENTS, deployment("good", replicas=3)),
    merge("rules/its selector is fixed", f"{DEPLOYMENTS}/good", {"spec": {"selector": {"matchLabels": {"app": "z"}}}}),
    merge("rules/its generation counts", f"{DEPLOYMENTS}/good", {"spec": {"replicas": 4}}),
    merge("rules/labels do not count", f"{DEPLOYMENTS}/good", {"metadata": {"labels": {"a": "b"}}}),
    merge("rules/status is ignored", f"{DEPLOYMENTS}/good", {"status": {"replicas": 9}}),
    merge(
        "rules/status by its own path",
        f"{DEPLOYMENTS}/good/status",
        {"status": {"replicas": 4, "readyReplicas": 4, "updatedReplicas": 4, "availableReplicas": 4}},
    ),
    merge("rules/spec is ignored there", f"{DEPLOYMENTS}/good/status", {"spec": {"replicas": 9}}),
    merge("rules/impossible status", f"{DEPLOYMENTS}/good/status?dryRun=All", {"status": {"replicas": -1}}),
    get("rules/get status", f"{DEPLOYMENTS}/good/status"),
    get("rules/get scale", f"{DEPLOYMENTS}/good/scale"),
    merge("rules/patch scale", f"{DEPLOYMENTS}/good/scale", {"spec": {"replicas": 6}}),
    put(
        "rules/update scale",
        f"{DEPLOYMENTS}/good/scale",
        manifest("autoscaling/v1", "Scale", "good", metadata={"namespace": "rules"}, spec={"replicas": 7}),
    ),
    put(
        "rules/update scale below zero",
        f"{DEPLOYMENTS}/good/scale",
        manifest("autoscaling/v1", "Scale", "good", metadata={"namespace": "rules"}, spec={"replicas": -7}),
    ),
    get("rules/scale of what is absent", f"{DEPLOYMENTS}/absent/scale"),
    post("rules/post to scale", f"{DEPLOYMENTS}/good/scale", {}),
    post(
        "rules/a good service",
        SERVICES,
        manifest(
            "v1",
            "Service",
            "good",
            spec={"type": "NodePort", "ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
        ),
    ),
    merge("rules/its address is fixed", f"{SERVICES}/good", {"spec": {"clusterIP": "10.96.99.99"}}),
    merge("rules/it becomes a load balancer", f"{SERVICES}/good", {"spec": {"type": "LoadBalancer"}}),
    merge(
        "rules/it becomes an external name",
        f"{SERVICES}/good",
        {"spec": {"type": "ExternalName", "externalName": "a.example.com", "clusterIP": None, "clusterIPs": None}},
    ),
    post(
        "rules/a headless service",
        SERVICES,
        manifest("v1", "Service", "headless", spec={"clusterIP": "None", "selector": {"a": "b"}}),
    ),
    post(
        "rules/an external name",
        SERVICES,
        manifest("v1", "Service", "outside", spec={"type": "ExternalName", "externalName": "a.example.com"}),
    ),
    post("rules/a good secret", SECRETS, manifest("v1", "Secret", "good", data={"a": "MQ=="})),
    merge("rules/its type is fixed", f"{SECRETS}/good", {"type": "other"}),
    post("rules/a good job", JOBS, manifest("batch/v1", "Job", "good", spec={"template": _ONCE})),
    merge(
        "rules/its template is fixed", f"{JOBS}/good", {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    ),
    merge("rules/its completions are fixed", f"{JOBS}/good", {"spec": {"completions": 5}}),
    post(
        "rules/a good role binding",
        f"/apis/rbac.authorization.k8s.io/v1{NS}/rolebindings",
        manifest(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "good",
            roleRef={"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
        ),
    ),
    merge(
        "rules/its role is fixed",
        f"/apis/rbac.authorization.k8s.io/v1{NS}/rolebindings/good",
        {"roleRef": {"name": "edit"}},
    ),
    post(
        "rules/a good stateful set",
        SETS,
        manifest(
            "apps/v1",
            "StatefulSet",
            "good",
            spec={"selector": {"matchLabels": {"app": "x"}}, "serviceName": "a", "template": template("x")},
        ),
    ),
    merge("rules/its service is fixed", f"{SETS}/good", {"spec": {"serviceName": "b"}}),
]
