"""YAML for KubeFed that any host must take as it is, and YAML that it must refuse with a field and a reason.

The same tables are tried on the embedded API server and on a real one. Numbers are lines of the fact sheet on KubeFed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import yaml

from hanse.api.kubefed.forms import FORMS, Form
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import AlreadyExists, ApiError
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import CRDS

PATIENCE_SECONDS = 60.0
STRICT = WriteOptions(field_validation="Strict")

_DEPLOYMENT = """
metadata: {labels: {app: nginx}, annotations: {a: b}, creationTimestamp: null}
spec:
  replicas: 3
  selector: {matchLabels: {app: nginx}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: nginx}, creationTimestamp: null}
    spec:
      containers:
      - name: nginx
        image: nginx
        ports: [{containerPort: 80}]
        livenessProbe: {httpGet: {path: /, port: http}}
        resources: {requests: {cpu: 0.5, memory: 64Mi}, limits: {cpu: 2}}
"""

SEED_002 = """
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedReplicaSet
metadata: {namespace: default, name: frontend}
spec:
  template:
    apiVersion: apps/v1
    kind: ReplicaSet
    metadata:
      name: nginx-deployment
      labels: {app: nginx}
    spec:
      replicas: 5
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec:
          containers:
          - {name: nginx, image: "nginx:1.7.9", ports: [{containerPort: 80}]}
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedReplicaSetPlacement
metadata: {namespace: default, name: frontend}
spec:
  clusterNames: [cluster1, cluster2]
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedReplicaSetOverride
metadata: {namespace: default, name: frontend}
spec:
  overrides:
  - clusterName: cluster2
    replicas: 10
"""

SEED_004 = """
apiVersion: types.federation.k8s.io/v1alpha1
kind: FederatedDeployment
metadata: {name: test-deployment, namespace: default}
spec:
  template:
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 3
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec:
          containers:
          - {image: nginx, name: nginx}
  placement:
    clusterNames: [cluster2, cluster1]
  overrides:
  - clusterName: cluster2
    clusterOverrides:
    - {path: spec.replicas, value: 5}
---
apiVersion: scheduling.federation.k8s.io/v1alpha1
kind: ReplicaSchedulingPreference
metadata: {name: test-deployment, namespace: default}
spec:
  targetKind: FederatedDeployment
  totalReplicas: 9
  clusters:
    A: {weight: 1}
    B: {weight: 2}
"""

_OTHERS = """
apiVersion: primitives.federation.k8s.io/v1alpha1
kind: FederatedDeploymentOverride
metadata: {name: b, namespace: default}
spec:
  overrides:
  - clusterName: cluster2
    clusterOverrides:
    - {path: spec.replicas, value: 5}
    - {path: spec.paused, value: null}
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedSecretOverride
metadata: {name: a, namespace: default}
spec:
  overrides:
  - clusterName: cluster2
    data: {A: null, B: YWJj}
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedSecretPlacement
metadata: {name: v0-0-1, namespace: default}
spec: {clusternames: [cluster2, cluster1]}
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedDeploymentOverride
metadata: {name: v0-0-1, namespace: default}
spec: {overrides: [{clustername: cluster2, replicas: 5}]}
---
apiVersion: types.kubefed.k8s.io/v1beta1
kind: FederatedConfigMap
metadata: {name: d0, namespace: default}
spec:
  template: {data: {A: ala ma kota}}
  placement: {clusters: [{name: cluster1}]}
  overrides:
  - clusterName: cluster1
    clusterOverrides: [{path: data, value: {foo: bar}}, {path: /metadata/labels, op: add, value: {}}]
---
apiVersion: types.kubefed.io/v1beta1
kind: FederatedNamespace
metadata: {name: default, namespace: default}
spec: {placement: {clusterSelector: {}}}
---
apiVersion: types.kubefed.io/v1beta1
kind: FederatedClusterRole
metadata: {name: reader}
spec:
  template: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
  placement: {clusters: null, clusterSelector: {matchExpressions: [{key: a, operator: Foo}]}}
---
apiVersion: core.kubefed.io/v1beta1
kind: FederatedTypeConfig
metadata: {name: deployments.apps, namespace: default}
spec:
  targetType: {group: apps, version: v1, kind: Deployment, pluralName: deployments, scope: Namespaced}
  federatedType: {group: types.kubefed.io, version: v1beta1, kind: FederatedDeployment, scope: Namespaced}
  propagation: Enabled
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedTypeConfig
metadata: {name: replicasets.apps, namespace: default}
spec:
  target: {group: apps, version: v1, kind: ReplicaSet}
  namespaced: true
  comparisonField: Generation
  propagationEnabled: true
  template: {group: core.federation.k8s.io, version: v1alpha1, kind: FederatedReplicaSet}
  placement: {kind: FederatedReplicaSetPlacement}
  override: {kind: FederatedReplicaSetOverride}
  overridePath: [spec, replicas]
---
apiVersion: core.federation.k8s.io/v1alpha1
kind: FederatedCluster
metadata: {name: cluster1, namespace: default}
spec: {clusterRef: {name: cluster1}, secretRef: {name: cluster1-secret}}
---
apiVersion: core.kubefed.io/v1alpha1
kind: PropagatedVersion
metadata: {name: deployment-web, namespace: default}
---
apiVersion: core.kubefed.io/v1alpha1
kind: FederatedServiceStatus
metadata: {name: web, namespace: default}
clusterStatus: [{clusterName: cluster1, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}]
---
apiVersion: multiclusterdns.kubefed.io/v1alpha1
kind: Domain
metadata: {name: test-domain, namespace: default}
domain: example.com
---
apiVersion: multiclusterdns.federation.k8s.io/v1alpha1
kind: ServiceDNSRecord
metadata: {name: test-service, namespace: default}
spec: {domainRef: test-domain, recordTTL: 300}
"""


def accepted() -> dict[str, Obj]:
    """Return manifests that are taken as they are, by what they show."""
    documents = [*yaml.safe_load_all(SEED_002), *yaml.safe_load_all(SEED_004), *yaml.safe_load_all(_OTHERS)]
    named = {f"{one['apiVersion']} {one['kind']} {one['metadata']['name']}": one for one in documents}
    return {**named, "49 the project's own sample": sample()}


def sample(**changes: object) -> Obj:
    """Return KubeFed's sample of a FederatedDeployment with some of the fields of its spec changed."""
    overrides = [
        {
            "clusterName": "cluster2",
            "clusterOverrides": [
                {"path": "/spec/replicas", "value": 5},
                {"path": "/spec/template/spec/containers/0/image", "value": "nginx:1.17.0-alpine"},
                {"path": "/metadata/annotations", "op": "add", "value": {"foo": "bar"}},
                {"path": "/metadata/annotations/foo", "op": "remove"},
            ],
        }
    ]
    spec = {
        "template": yaml.safe_load(_DEPLOYMENT),
        "placement": {"clusters": [{"name": "cluster2"}, {"name": "cluster1"}]},
        "overrides": overrides,
        "retainReplicas": True,
    }
    return federated("FederatedDeployment", spec | changes)


def federated(kind: str, spec: Obj, *, group: str = "types.kubefed.io/v1beta1") -> Obj:
    """Return a federated object of the name `test`."""
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "test", "namespace": "default"}, "spec": spec}


@dataclass(frozen=True, slots=True)
class Refused:
    """A manifest, and what the refusal says: where, and what is wrong there."""

    manifest: Obj
    field: str
    says: str


def _overriding(*changes: Obj, form: str = "types.kubefed.io/v1beta1") -> Obj:
    overrides = [{"clusterName": "cluster1", "clusterOverrides": list(changes)}]
    return federated("FederatedConfigMap", {"overrides": overrides}, group=form)


def _templated(kind: str, template: str) -> Obj:
    return federated(kind, {"template": yaml.safe_load(template)})


def _type_config(name: str, group: str = "types.kubefed.io") -> Obj:
    spec = {
        "targetType": {"group": "apps", "version": "v1", "kind": "Deployment", "scope": "Namespaced"},
        "federatedType": {"group": group, "version": "v1beta1", "kind": "FederatedDeployment"},
        "propagation": "Enabled",
    }
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "core.kubefed.io/v1beta1",
        "kind": "FederatedTypeConfig",
        "metadata": metadata,
        "spec": spec,
    }


def config(**spec: object) -> Obj:
    """Return a KubeFedConfig that sets these fields beside its scope."""
    return {
        "apiVersion": "core.kubefed.io/v1beta1",
        "kind": "KubeFedConfig",
        "metadata": {"name": "kubefed", "namespace": "default"},
        "spec": {"scope": "Cluster", **spec},
    }


def _preference(**spec: object) -> Obj:
    fields = {"targetKind": "FederatedDeployment", "totalReplicas": 9, **spec}
    return federated("ReplicaSchedulingPreference", fields, group="scheduling.kubefed.io/v1alpha1")


_PATH = "spec.overrides[0].clusterOverrides[0].path"
_KEPT = "must not change the kind, name or namespace"

REFUSED: dict[str, Refused] = {
    "36 an operation that there is not": Refused(
        _overriding({"op": "move", "path": "/data"}),
        "spec.overrides[0].clusterOverrides[0].op",
        'supported values: "", "add", "remove", "replace"',
    ),
    "37 the name": Refused(_overriding({"path": "/metadata/name", "value": "x"}), _PATH, _KEPT),
    "37 the namespace": Refused(_overriding({"path": "/metadata/namespace", "value": "x"}), _PATH, _KEPT),
    "37 the whole metadata": Refused(_overriding({"path": "/metadata", "value": {}}), _PATH, _KEPT),
    "37 the whole object": Refused(_overriding({"path": "", "value": {}}), _PATH, "must be a JSON pointer"),
    "38 the kind": Refused(_overriding({"path": "/kind", "value": "x"}), _PATH, _KEPT),
    "39 a cluster twice": Refused(
        federated("FederatedConfigMap", {"overrides": [{"clusterName": "cluster1"}, {"clusterName": "cluster1"}]}),
        "spec.overrides[1]",
        "Duplicate value",
    ),
    "40 a path twice": Refused(
        _overriding({"path": "/data/a", "value": "x"}, {"path": "/data/a", "value": "y"}),
        "spec.overrides[0].clusterOverrides[1]",
        "Duplicate value",
    ),
    "47 dots in form D": Refused(_overriding({"path": "spec.replicas", "value": 1}), _PATH, "must be a JSON pointer"),
    "47 a pointer in form C": Refused(
        _overriding({"path": "/spec/replicas", "value": 1}, form="types.federation.k8s.io/v1alpha1"),
        _PATH,
        "must be field names with dots between them, e.g. spec.replicas",
    ),
    "37 the dotted name": Refused(
        _overriding({"path": "metadata.name", "value": "x"}, form="types.federation.k8s.io/v1alpha1"), _PATH, _KEPT
    ),
    "83 no spec": Refused(
        {
            "apiVersion": "types.kubefed.io/v1beta1",
            "kind": "FederatedConfigMap",
            "metadata": {"name": "test", "namespace": "default"},
        },
        "spec",
        "Required value",
    ),
    "102 retainReplicas where there are none": Refused(
        federated("FederatedConfigMap", {"retainReplicas": True}), "spec.retainReplicas", "unknown field"
    ),
    "template of a wrong type": Refused(
        _templated("FederatedDeployment", "{spec: {replicas: three, selector: {}, template: {}}}"),
        "spec.template.spec.replicas",
        "must be of type integer",
    ),
    "template without a required field": Refused(
        _templated("FederatedDeployment", "{spec: {selector: {}, template: {spec: {containers: [{image: a}]}}}}"),
        "spec.template.spec.template.spec.containers[0].name",
        "Required value",
    ),
    "template with a wrong quantity": Refused(
        _templated(
            "FederatedJob",
            "{spec: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: many}}}]}}}}",
        ),
        "spec.template.spec.template.spec.containers[0].resources.limits.cpu",
        "should match",
    ),
    "template with a misspelt field": Refused(
        _templated("FederatedService", "{spec: {port: [{port: 80}]}}"), "spec.template.spec.port", "unknown field"
    ),
    "template with a number for a label": Refused(
        _templated("FederatedConfigMap", "{metadata: {labels: {a: 1}}}"),
        "spec.template.metadata.labels.a",
        "must be of type string",
    ),
    "96 a kind that is not federated": Refused(
        _preference(targetKind="Deployment"), "spec.targetKind", '"FederatedDeployment", "FederatedReplicaSet"'
    ),
    "97 fewer replicas than none": Refused(
        _preference(totalReplicas=-1), "spec.totalReplicas", "should be greater than or equal to 0"
    ),
    "97 a negative weight": Refused(
        _preference(clusters={"a": {"weight": -1}}), "spec.clusters.a.weight", "should be greater than or equal to 0"
    ),
    "107 a name that is not the target's": Refused(
        _type_config("deployments"), "<nil>", "metadata.name must be the target's plural and group"
    ),
    "108 no group": Refused(_type_config("deployments.apps", ""), "spec.federatedType.group", "a domain with a dot"),
    "108 a group without a dot": Refused(
        _type_config("deployments.apps", "nodomain"), "spec.federatedType.group", "a domain with a dot"
    ),
    "126 a lease as short as its deadline": Refused(
        config(leaderElect={"leaseDuration": "10s", "renewDeadline": "10s"}),
        "spec.leaderElect",
        "leaseDuration must be longer than renewDeadline",
    ),
    "126 a deadline too near to its retries": Refused(
        config(leaderElect={"renewDeadline": "12s", "retryPeriod": "10s"}),
        "spec.leaderElect",
        "renewDeadline must be longer than 1.2 times retryPeriod",
    ),
    "124 no time at all": Refused(
        config(clusterHealthCheck={"timeout": "0s"}), "spec.clusterHealthCheck.timeout", "must be longer than nothing"
    ),
    "124 no failures at all": Refused(
        config(clusterHealthCheck={"failureThreshold": 0}), "spec.clusterHealthCheck.failureThreshold", "greater than"
    ),
    "127 an unknown gate": Refused(
        config(featureGates=[{"name": "Magic", "configuration": "Enabled"}]),
        "spec.featureGates[0].name",
        '"PushReconciler"',
    ),
    "127 a gate twice": Refused(
        config(featureGates=[{"name": "PushReconciler", "configuration": "Enabled"}] * 2),
        "spec.featureGates[1]",
        "Duplicate value",
    ),
}

CONFIG_DEFAULTS: Obj = {
    "scope": "Cluster",
    "controllerDuration": {"availableDelay": "20s", "unavailableDelay": "60s", "cacheSyncTimeout": "5m"},
    "leaderElect": {
        "leaseDuration": "15s",
        "renewDeadline": "10s",
        "retryPeriod": "5s",
        "resourceLock": "configmaps",
    },
    "featureGates": [
        {"name": "PushReconciler", "configuration": "Enabled"},
        {"name": "RawResourceStatusCollection", "configuration": "Disabled"},
        {"name": "SchedulerPreferences", "configuration": "Enabled"},
    ],
    "clusterHealthCheck": {"period": "10s", "failureThreshold": 3, "successThreshold": 1, "timeout": "3s"},
    "syncController": {"maxConcurrentReconciles": 1, "adoptResources": "Enabled"},
    "statusController": {"maxConcurrentReconciles": 1},
}


async def serve_kubefed(host: Client, forms: tuple[Form, ...] = FORMS) -> None:
    """Give a host KubeFed's kinds, and wait until it serves them."""
    definitions = kubefed_definitions(forms=forms)
    for definition in definitions:
        try:
            await host.create(CRDS, definition, options=STRICT)
        except AlreadyExists:
            # The host has been prepared already.
            continue
    await until_listed(host, {name_of(definition) for definition in definitions})


async def until_listed(host: Client, names: set[str]) -> None:
    """Wait until a host says that it serves these kinds: a definition is established a moment before."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            host.discovery.forget()
            if names <= {resource.group_resource for resource in await host.discovery.resources()}:
                return
            await asyncio.sleep(0.05)


async def taken(host: Client, manifest: Obj) -> Obj:
    """Create an object as kubectl does, and return what the host made of it."""
    return await host.create(await host.resource_of(manifest), manifest, options=STRICT)


async def refusal(host: Client, manifest: Obj) -> str:
    """Return what a host says when an object is created that it must not take."""
    try:
        written = await taken(host, manifest)
    except ApiError as error:
        return str(error)
    raise AssertionError(f"taken: {written}")


def without_nulls(value: Any) -> Any:
    """Return a value as a server keeps it: null in a field that may not be null is as good as no field."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value
