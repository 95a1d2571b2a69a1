"""Small worlds for tests of the engine."""

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from hanse.placement import ClusterSelector, ClusterTerm, Placement
from hanse.propagation.intent import Intent
from hanse.propagation.rendering import render

UID = "11111111-2222-3333-4444-555555555555"


def fleet(*names, offline=()):
    return [Cluster(name, ready=name not in offline, offline=name in offline, why="no answer") for name in names]


def deployment_intent(replicas=9, selector=None, image="web:1"):
    template = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }
    placement = Placement(ClusterTerm(ClusterSelector.parse(selector)))
    return Intent(DEPLOYMENTS, Key("shop", "web"), UID, template, placement, replicas=replicas)


def config_intent():
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "shop"},
        "data": {"color": "blue"},
    }
    return Intent(CONFIGMAPS, Key("shop", "settings"), UID, template)


def copy(intent, replicas=None, available=None, **changes):
    """A member's object as it is after a rendering was applied and its controllers ran."""
    obj = render(intent, replicas)
    obj["metadata"] |= {"uid": "copy-uid", "resourceVersion": "7", "generation": 1, **changes}
    if replicas is not None:
        count = replicas if available is None else available
        obj["status"] = {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": count,
            "availableReplicas": count,
        }
    return obj
