"""Small federated objects for tests, in every form."""

from hanse.api.kubefed.forms import FORM_A, FORM_D
from hanse.kube.manifest import Key

UID = "11111111-2222-3333-4444-555555555555"
KEY = Key("shop", "web")
DEPLOYMENT = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx", "args": ["a", "b", "c"]}]},
        },
    },
}


def federated(kind="Deployment", *, template=DEPLOYMENT, form=FORM_D, name="web", namespace="shop", **spec):
    """A federated object of a form that says everything itself."""
    metadata = {"name": name, "namespace": namespace, "uid": UID, "generation": 1, "resourceVersion": "5"}
    return {
        "apiVersion": f"{form.group}/{form.version}",
        "kind": f"Federated{kind}",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def in_clusters(*names):
    return {"clusters": [{"name": name} for name in names]}


def override(cluster, *changes):
    return {"clusterName": cluster, "clusterOverrides": list(changes)}


def part(kind, part, spec, *, form=FORM_A, name="web", namespace="shop"):
    """A placement or override object of a form that has them."""
    metadata = {"name": name, "namespace": namespace, "uid": f"{part}-uid", "generation": 1}
    return {
        "apiVersion": f"{form.group}/{form.version}",
        "kind": f"Federated{kind}{part}",
        "metadata": metadata,
        "spec": spec,
    }


def preference(total=9, clusters=None, *, kind="FederatedDeployment", name="web", namespace="shop", **spec):
    return {
        "apiVersion": "scheduling.kubefed.io/v1alpha1",
        "kind": "ReplicaSchedulingPreference",
        "metadata": {"name": name, "namespace": namespace, "uid": "rsp-uid", "generation": 1},
        "spec": {"targetKind": kind, "totalReplicas": total, "clusters": clusters or {}, **spec},
    }
