"""Fields that may not change once an object is there, kind by kind, and conflicts that follow from it."""

from __future__ import annotations

from typing import Any

from tests.contract.step import (
    Obj,
    Step,
    apply,
    config,
    deployment,
    json_patch,
    manifest,
    merge,
    namespace,
    post,
    put,
    strategic,
    template,
)

NS = "/namespaces/fixed"
_ONCE = {"metadata": {"labels": {"app": "x"}}, "spec": {**template("x")["spec"], "restartPolicy": "Never"}}
_SELECTOR = {"matchLabels": {"app": "x"}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
_ROLE = {"kind": "Role", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}
_PORT = {"ports": [{"port": 80}]}

# collection, object, what is asked to change and how
_KINDS: tuple[tuple[str, Obj, tuple[tuple[str, Any], ...]], ...] = (
    (
        f"/apis/apps/v1{NS}/deployments",
        deployment("x"),
        (
            ("selector", {"spec": {"selector": {"matchLabels": {"more": "1"}}}}),
            ("template label", {"spec": {"template": {"metadata": {"labels": {"app": "y"}}}}}),
            ("name", {"metadata": {"name": "y"}}),
            ("creation time", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}),
            ("namespace", {"metadata": {"namespace": "default"}}),
            ("kind", {"kind": "ReplicaSet"}),
            ("containers", {"spec": {"template": {"spec": {"containers": []}}}}),
            ("replicas to text", {"spec": {"replicas": "many"}}),
        ),
    ),
    (
        f"/apis/apps/v1{NS}/replicasets",
        manifest("apps/v1", "ReplicaSet", "x", spec={"selector": _SELECTOR, "template": template("x")}),
        (("selector", {"spec": {"selector": {"matchLabels": {"app": "y"}}}}),),
    ),
    (
        f"/apis/apps/v1{NS}/daemonsets",
        manifest("apps/v1", "DaemonSet", "x", spec={"selector": _SELECTOR, "template": template("x")}),
        (("selector", {"spec": {"selector": {"matchLabels": {"more": "1"}}}}),),
    ),
    (
        f"/apis/apps/v1{NS}/statefulsets",
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
        (
            ("selector", {"spec": {"selector": {"matchLabels": {"app": "y"}}}}),
            ("pod policy", {"spec": {"podManagementPolicy": "Parallel"}}),
            ("claims", {"spec": {"volumeClaimTemplates": []}}),
            ("replicas", {"spec": {"replicas": 2}}),
        ),
    ),
    (
        f"/apis/apps/v1{NS}/controllerrevisions",
        manifest("apps/v1", "ControllerRevision", "x", revision=1, data={"a": 1}),
        (("data", {"data": {"a": 2}}), ("revision", {"revision": 2})),
    ),
    (
        f"/apis/batch/v1{NS}/jobs",
        manifest("batch/v1", "Job", "x", spec={"template": _ONCE}),
        (
            ("selector", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}),
            ("mode", {"spec": {"completionMode": "Indexed"}}),
            ("image", {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "y"}]}}}}),
            ("limit", {"spec": {"backoffLimit": 2}}),
            ("parallelism", {"spec": {"parallelism": 2}}),
            ("deadline", {"spec": {"activeDeadlineSeconds": 20}}),
        ),
    ),
    (
        f"/api/v1{NS}/persistentvolumeclaims",
        manifest("v1", "PersistentVolumeClaim", "x", spec=_CLAIM),
        (
            ("mode", {"spec": {"accessModes": ["ReadOnlyMany"]}}),
            ("class", {"spec": {"storageClassName": "other"}}),
            ("size up", {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}),
            ("size down", {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}),
        ),
    ),
    (
        "/api/v1/persistentvolumes",
        manifest(
            "v1",
            "PersistentVolume",
            "fixed",
            spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}},
        ),
        (
            ("source", {"spec": {"hostPath": {"path": "/b"}}}),
            ("volume mode", {"spec": {"volumeMode": "Block"}}),
            ("policy", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
        ),
    ),
    (
        "/apis/storage.k8s.io/v1/storageclasses",
        manifest("storage.k8s.io/v1", "StorageClass", "fixed", provisioner="p", parameters={"a": "1"}),
        (
            ("provisioner", {"provisioner": "q"}),
            ("parameters", {"parameters": {"a": "2"}}),
            ("policy", {"reclaimPolicy": "Retain"}),
            ("binding", {"volumeBindingMode": "WaitForFirstConsumer"}),
            ("expansion", {"allowVolumeExpansion": True}),
        ),
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        manifest("scheduling.k8s.io/v1", "PriorityClass", "fixed", value=5),
        (
            ("value", {"value": 6}),
            ("preemption", {"preemptionPolicy": "Never"}),
            ("description", {"description": "d"}),
        ),
    ),
    (
        f"/api/v1{NS}/services",
        manifest("v1", "Service", "x", spec=_PORT),
        (
            ("address", {"spec": {"clusterIP": "10.96.88.88", "clusterIPs": ["10.96.88.88"]}}),
            ("address away", {"spec": {"clusterIP": "None"}}),
            ("family", {"spec": {"ipFamilies": ["IPv6"]}}),
            ("ports away", {"spec": {"ports": []}}),
        ),
    ),
    (
        f"/api/v1{NS}/secrets",
        manifest("v1", "Secret", "x", data={"a": "MQ=="}, immutable=True),
        (
            ("data", {"data": {"a": "Mg=="}}),
            ("immutability", {"immutable": False}),
            ("label", {"metadata": {"labels": {"a": "b"}}}),
        ),
    ),
    (
        f"/api/v1{NS}/configmaps",
        {**config("x"), "immutable": True},
        (("data", {"data": {"a": "2"}}), ("immutability", {"immutable": None})),
    ),
    (
        f"/apis/rbac.authorization.k8s.io/v1{NS}/rolebindings",
        manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "x", roleRef=_ROLE),
        (
            ("role kind", {"roleRef": {"kind": "ClusterRole"}}),
            ("subjects", {"subjects": [{"kind": "User", "name": "u"}]}),
        ),
    ),
    (
        f"/apis/discovery.k8s.io/v1{NS}/endpointslices",
        manifest("discovery.k8s.io/v1", "EndpointSlice", "x", addressType="IPv4", endpoints=[]),
        (("type", {"addressType": "IPv6"}),),
    ),
    (
        "/apis/networking.k8s.io/v1/ingressclasses",
        manifest("networking.k8s.io/v1", "IngressClass", "fixed", spec={"controller": "example.com/c"}),
        (("controller", {"spec": {"controller": "example.com/d"}}),),
    ),
    (
        "/apis/networking.k8s.io/v1/ipaddresses",
        manifest(
            "networking.k8s.io/v1",
            "IPAddress",
            "192.168.9.9",
            spec={"parentRef": {"resource": "services", "namespace": "n", "name": "s"}},
        ),
        (("parent", {"spec": {"parentRef": {"name": "t"}}}),),
    ),
    (
        "/apis/networking.k8s.io/v1/servicecidrs",
        manifest("networking.k8s.io/v1", "ServiceCIDR", "fixed", spec={"cidrs": ["fd00:77::/112"]}),
        (("networks", {"spec": {"cidrs": ["fd00:78::/112"]}}),),
    ),
    (
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        manifest(
            "storage.k8s.io/v1", "VolumeAttributesClass", "fixed", driverName="d.example.com", parameters={"a": "1"}
        ),
        (("driver", {"driverName": "e.example.com"}), ("parameters", {"parameters": {"a": "2"}})),
    ),
    (
        f"/api/v1{NS}/resourcequotas",
        manifest("v1", "ResourceQuota", "x", spec={"hard": {"pods": "1000"}}),
        (("scopes", {"spec": {"scopes": ["Terminating"]}}),),
    ),
    (
        f"/api/v1{NS}/pods",
        manifest("v1", "Pod", "x", spec=template("x")["spec"]),
        (
            ("deadline", {"spec": {"activeDeadlineSeconds": 20}}),
            ("grace period", {"spec": {"terminationGracePeriodSeconds": 5}}),
            ("account", {"spec": {"serviceAccountName": "other"}}),
            ("restart policy", {"spec": {"restartPolicy": "Never"}}),
        ),
    ),
)


def _of_kind(collection: str, obj: Obj, changes: tuple[tuple[str, Any], ...]) -> list[Step]:
    kind, path = obj["kind"], f"{collection}/{obj['metadata']['name']}"
    return [
        post(f"fixed/create {kind}", collection, obj),
        # Tried out only: each is asked of the object as it was made.
        *(merge(f"fixed/{kind} {name}", f"{path}?dryRun=All", change) for name, change in changes),
    ]


_DEPLOYED = f"/apis/apps/v1{NS}/deployments/x"
_CONFIG = f"/api/v1{NS}/configmaps/shared"
_APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
STEPS: list[Step] = [
    *namespace("fixed"),
    *(step for kind in _KINDS for step in _of_kind(*kind)),
    put("fixed/replaced by what has no selector", f"{_DEPLOYED}?dryRun=All", manifest("apps/v1", "Deployment", "x")),
    json_patch("fixed/json patch of an absent path", _DEPLOYED, [{"op": "remove", "path": "/spec/weather"}]),
    json_patch(
        "fixed/json patch of a container that is not there",
        _DEPLOYED,
        [{"op": "replace", "path": "/spec/template/spec/containers/3/image", "value": "y"}],
    ),
    strategic(
        "fixed/strategic patch of text for a list", _DEPLOYED, {"spec": {"template": {"spec": {"containers": "none"}}}}
    ),
    merge("fixed/merge patch of a list for a map", _DEPLOYED, {"metadata": {"labels": ["a"]}}),
    apply("fixed/applied by one", f"{_CONFIG}?fieldManager=one", {**_APPLIED, "data": {"a": "1", "b": "1"}}),
    apply(
        "fixed/in conflict with one",
        f"{_CONFIG}?fieldManager=two",
        {**_APPLIED, "data": {"a": "2", "b": "2", "c": "2"}},
    ),
    merge(
        "fixed/changed by a third",
        f"{_CONFIG}?fieldManager=three",
        {"data": {"a": "3"}, "metadata": {"labels": {"l": "3"}}},
    ),
    apply("fixed/in conflict with a third", f"{_CONFIG}?fieldManager=two", {**_APPLIED, "data": {"a": "2"}}),
    apply(
        "fixed/conflict on a label",
        f"{_CONFIG}?fieldManager=two",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared", "labels": {"l": "2"}}},
    ),
    apply(
        "fixed/applied to a path that is not the object's",
        f"/apis/apps/v1{NS}/deployments/y?fieldManager=one",
        deployment("x"),
    ),
    apply("fixed/applied to another kind's path", f"/api/v1{NS}/secrets/shared?fieldManager=one", _APPLIED),
]
