"""What people do with every front door, in a namespace of its own: they create, and then they change and delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import yaml

from hanse.api.kubefed.forms import FORM_D
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.api.shipper.kinds import APPLICATIONS
from hanse.kube.client import Client
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, PODS, SERVICES, Resource
from tests.behaviour.children_elsewhere import CONTROLLER, LIGHTHOUSES
from tests.simulation.composite.stage import parent_crd
from tests.simulation.rollouts.applications import FULL_ON, application, manifests, packed
from tests.simulation.vitess.federated.world import shop

FEDERATED_CONFIGMAPS = Resource(FORM_D.group, FORM_D.version, "federatedconfigmaps", "FederatedConfigMap")
REGION = "local"


async def prepare(host: Client) -> None:
    """Have the host serve what the scenario needs besides Hanse's own kinds."""
    await host.apply(CRDS, parent_crd(LIGHTHOUSES))
    await host.apply(COMPOSITE_CONTROLLERS, CONTROLLER)


def written(lockserver: str, namespace: str) -> list[tuple[Resource, Obj]]:
    """Return what people write on the federation, something by each door."""
    service, workload = manifests("web", "web:1", 2)
    objects = (
        (SERVICES, service),
        (DEPLOYMENTS, workload),
        (FEDERATED_CONFIGMAPS, _federated({"color": "blue"})),
        (CONFIGMAPS, packed("v1", name="app", replicas=1)),
        (APPLICATIONS, application("v1", name="app", steps=[FULL_ON], clusters=2)),
        (LIGHTHOUSES, _lighthouse("green")),
        (VITESS_CLUSTERS, _vitess(lockserver, namespace, "v21")),
    )
    return [(kind, _within(namespace, obj)) for kind, obj in objects]


async def create(
    host: Client, home: Client, namespace: str, lockserver: str, until_there: Callable[[], Awaitable[None]]
) -> None:
    """Write one object by each door; the pod is made in the source, once the namespace is there."""
    labels = {"multicluster-scheduler": "enabled"}
    meta = {"name": namespace, "labels": labels}
    await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    for kind, obj in written(lockserver, namespace):
        await host.create(kind, obj)
    await until_there()
    await home.create(PODS, _within(namespace, _elected()))


async def change(host: Client, home: Client, namespace: str) -> None:
    """Change what is there by each door, and delete some of it."""
    # An even number: to which of the clusters one more would go depends on the name of the namespace.
    workload = manifests("web", "web:2", 4)[1]
    await host.patch(DEPLOYMENTS, "web", {"spec": workload["spec"]}, namespace)
    await host.patch(FEDERATED_CONFIGMAPS, "settings", {"spec": _federated({"color": "red"})["spec"]}, namespace)
    await host.patch(LIGHTHOUSES, "hansa", {"spec": {"colour": "red"}}, namespace)
    image = {"spec": {"images": {"vttablet": "vitess/lite:v22"}}}
    await host.patch(VITESS_CLUSTERS, "shop", image, namespace)
    await host.delete(SERVICES, "web", namespace)
    await home.delete(PODS, "errand", namespace)


def _federated(data: dict[str, str]) -> Obj:
    spec = {"template": {"data": data}, "placement": {"clusterSelector": {}}}
    return {
        "apiVersion": FEDERATED_CONFIGMAPS.api_version,
        "kind": FEDERATED_CONFIGMAPS.kind,
        "metadata": {"name": "settings"},
        "spec": spec,
    }


def _lighthouse(colour: str) -> Obj:
    spec = {"colour": colour, "selector": {"matchLabels": {"light": "on"}}}
    kind = LIGHTHOUSES
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "hansa"}, "spec": spec}


def _vitess(lockserver: str, namespace: str, version: str) -> Obj:
    made = shop({"useast1a": "home", "uswest2a": "away"}, east=1, images={"vttablet": f"vitess/lite:{version}"})
    root = f"/vitess/{namespace}/global"
    external = {"implementation": "etcd2", "address": lockserver, "rootPath": root}
    made["spec"]["globalLockserver"] = {"external": external}
    return made


def _elected() -> Obj:
    metadata = {"name": "errand", "annotations": {"multicluster.admiralty.io/elect": ""}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "errand:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _within(namespace: str, obj: Obj) -> Obj:
    """Return an object as of a namespace, with nothing shared between two points."""
    copied: Obj = yaml.safe_load(yaml.safe_dump(obj))
    copied["metadata"]["namespace"] = namespace
    return copied
