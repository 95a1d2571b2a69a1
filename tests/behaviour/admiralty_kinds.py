"""YAML for Admiralty that any cluster must take as it is, and YAML that it must refuse with a field and a reason.

The same tables are tried on the embedded API server and on a real one. Numbers are lines of the fact sheet.
"""

from __future__ import annotations

from typing import Any

import yaml

from hanse.api.admiralty.definitions import (
    A_PATTERN,
    ADMIRALTY_CRDS,
    ONE_CLUSTER_SENDER,
    ONE_PLACE,
    ONE_SENDER,
    ONE_SUMMARY,
)
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import CRDS
from tests.behaviour.kubefed_forms import STRICT, Refused, until_listed

_MANUAL = """
apiVersion: multicluster.admiralty.io/v1alpha1
kind: Target
metadata: {name: c2, namespace: default}
spec: {kubeconfigSecret: {name: c2}}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: Target
metadata: {name: named, namespace: default}
spec: {self: false, kubeconfigSecret: {name: c2, key: value, context: admin}, excludedLabelsRegexp: "^n\\\\.(a|b)=.*"}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterTarget
metadata: {name: us}
spec: {self: true}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterTarget
metadata: {name: eu-west}
spec: {kubeconfigSecret: {namespace: admiralty, name: eu-west}}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterTarget
metadata: {name: registered}
spec: {clusterName: eu-west-1}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: Source
metadata: {name: cd, namespace: default}
spec: {serviceAccountName: cd}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: Source
metadata: {name: by-user, namespace: default}
spec: {userName: "spiffe://source/ns/default/id/default", serviceAccountName: ""}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterSource
metadata: {name: cd}
spec: {serviceAccount: {name: cd, namespace: ops}}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterSource
metadata: {name: by-user}
spec: {userName: cd}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: ClusterSummary
metadata: {name: singleton, labels: {topology.kubernetes.io/region: eu}}
capacity: {cpu: "12", memory: 64Gi, pods: 110}
allocatable: {cpu: 11500m, memory: 60Gi, pods: "110"}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: PodChaperon
metadata: {name: web-x2x4z, namespace: default}
spec: {containers: [{name: c, image: busybox, resources: {requests: {cpu: 1}}}], notYetInvented: {a: [1]}}
---
apiVersion: multicluster.admiralty.io/v1alpha1
kind: PodChaperon
metadata: {name: fenced, namespace: default}
spec: {containers: [{name: c, image: busybox}]}
fence: {attempt: 2, expirySeconds: 60}
"""


def accepted() -> dict[str, Obj]:
    """Return manifests that are taken as they are, by what they are."""
    return {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(_MANUAL)}


def _written(kind: str, **fields: Any) -> Obj:
    namespaced = {} if kind.startswith("Cluster") else {"namespace": "default"}
    api = {"apiVersion": "multicluster.admiralty.io/v1alpha1", "kind": kind}
    return {**api, "metadata": {"name": "refused", **namespaced}, **fields}


_SECRET = {"name": "s", "namespace": "n"}

REFUSED: dict[str, Refused] = {
    "53 self and a Secret": Refused(
        _written("Target", spec={"self": True, "kubeconfigSecret": {"name": "s"}}), "spec", ONE_PLACE
    ),
    "53 nothing at all": Refused(_written("Target", spec={}), "spec", ONE_PLACE),
    "53 no spec": Refused(_written("Target"), "spec", "Required value"),
    "53 not itself either": Refused(_written("Target", spec={"self": False}), "spec", ONE_PLACE),
    "53 a Secret and a registered cluster": Refused(
        _written("ClusterTarget", spec={"kubeconfigSecret": _SECRET, "clusterName": "eu"}), "spec", ONE_PLACE
    ),
    "53 all three": Refused(
        _written("ClusterTarget", spec={"self": True, "kubeconfigSecret": _SECRET, "clusterName": "eu"}),
        "spec",
        ONE_PLACE,
    ),
    "a Secret without a name": Refused(
        _written("Target", spec={"kubeconfigSecret": {"key": "config"}}), "spec.kubeconfigSecret.name", "Required value"
    ),
    "a Secret with an empty name": Refused(
        _written("Target", spec={"kubeconfigSecret": {"name": ""}}),
        "spec.kubeconfigSecret.name",
        "should be at least 1 chars long",
    ),
    "a Secret without a namespace": Refused(
        _written("ClusterTarget", spec={"kubeconfigSecret": {"name": "s"}}),
        "spec.kubeconfigSecret.namespace",
        "Required value",
    ),
    "a name that no cluster has": Refused(
        _written("ClusterTarget", spec={"clusterName": "Eu West"}), "spec.clusterName", "should match"
    ),
    "59 a pattern that does not compile": Refused(
        _written("Target", spec={"self": True, "excludedLabelsRegexp": "a(b"}), "spec.excludedLabelsRegexp", A_PATTERN
    ),
    "59 a pattern that only others have": Refused(
        _written("ClusterTarget", spec={"self": True, "excludedLabelsRegexp": "(?!a)"}),
        "spec.excludedLabelsRegexp",
        A_PATTERN,
    ),
    "59 a pattern without end": Refused(
        _written("Target", spec={"self": True, "excludedLabelsRegexp": "a" * 1025}),
        "spec.excludedLabelsRegexp",
        "Too long",
    ),
    "a source that is nobody": Refused(_written("Source", spec={}), "spec", ONE_SENDER),
    "a source with empty names": Refused(
        _written("Source", spec={"userName": "", "serviceAccountName": ""}), "spec", ONE_SENDER
    ),
    "a source that is two": Refused(
        _written("Source", spec={"userName": "u", "serviceAccountName": "s"}), "spec", ONE_SENDER
    ),
    "a source without a spec": Refused(_written("Source"), "spec", "Required value"),
    "a cluster's source that is nobody": Refused(_written("ClusterSource", spec={}), "spec", ONE_CLUSTER_SENDER),
    "a cluster's source that is two": Refused(
        _written("ClusterSource", spec={"userName": "u", "serviceAccount": _SECRET}), "spec", ONE_CLUSTER_SENDER
    ),
    "D3 an account without a namespace": Refused(
        _written("ClusterSource", spec={"serviceAccount": {"name": "s"}}),
        "spec.serviceAccount.namespace",
        "Required value",
    ),
    "a second summary": Refused(_written("ClusterSummary"), "ClusterSummary", ONE_SUMMARY),
    "a chaperon of nothing": Refused(_written("PodChaperon"), "spec", "Required value"),
    "an attempt before the first": Refused(
        _written("PodChaperon", spec={"containers": []}, fence={"attempt": 0}),
        "fence.attempt",
        "should be greater than or equal to 1",
    ),
}


async def serve_admiralty(client: Client) -> None:
    """Give a cluster Admiralty's kinds, and wait until it serves them."""
    for definition in ADMIRALTY_CRDS:
        await client.create(CRDS, definition, options=STRICT)
    await until_listed(client, {name_of(definition) for definition in ADMIRALTY_CRDS})
