"""A management cluster and its clusters as Shipper leaves them: its definitions, its objects, and what it installed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from hanse.api.cluster_forms import FORM_CRDS, SHIPPER_CLUSTERS
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    INSTALLATION_TARGETS,
    RELEASES,
    TRAFFIC_TARGETS,
)
from hanse.clusters.credentials import encoded
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES, Resource
from hanse.rollouts.applications.hashing import environment_hash
from tests.unit.cli.rollout_cases import STEPS, condition

APP, SHOP, SHIPPER = "web", "shop", "shipper-system"
REPLICAS = 2
READY = [condition("Operational", "True"), condition("Ready", "True")]


def environment(version: str) -> Obj:
    return {
        "chart": {"name": "nginx", "version": version, "repoUrl": "https://charts.example.com"},
        "values": {"replicaCount": REPLICAS},
        "clusterRequirements": {"regions": [{"name": "local"}]},
        "strategy": {"steps": STEPS},
    }


VERSIONS = ("0.0.1", "0.0.2")
NAMES = tuple(f"{APP}-{environment_hash(environment(version))}-0" for version in VERSIONS)


def definitions() -> list[Obj]:
    """Shipper's definitions: anything goes, and a status is no subresource."""
    found = []
    for crd in (*SHIPPER_CRDS, *(each for each in FORM_CRDS if dig(each, "spec", "group") == SHIPPER_CLUSTERS.group)):
        old = copy.deepcopy(crd)
        old["metadata"] = {"name": name_of(crd)}
        for version in old["spec"]["versions"]:
            version.pop("subresources", None)
            version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        found.append(old)
    return found


async def install(host: Client, members: Mapping[str, Client], endpoints: Mapping[str, Endpoint]) -> None:
    """Leave everything behind that Shipper does when two releases of one application were rolled out."""
    for crd in definitions():
        present = await host.find(CRDS, name_of(crd))
        await (host.create(CRDS, crd) if present is None else host.update(CRDS, {**present, "spec": crd["spec"]}))
    for name in (SHIPPER, SHOP):
        await host.create(NAMESPACES, _namespace(name))
    for name, endpoint in endpoints.items():
        await _register(host, name, endpoint)
    application = await host.create(APPLICATIONS, _application())
    for generation, name in enumerate(NAMES):
        last = generation == len(NAMES) - 1
        release = await host.create(RELEASES, _release(application, name, generation, sorted(members)))
        for resource, spec, rows in _targets(sorted(members), 100 if last else 0):
            await host.create(resource, _target(resource, release, spec, rows))
    for client in members.values():
        await client.create(NAMESPACES, _namespace(SHOP))
        for generation, name in enumerate(NAMES):
            await install_release(client, name, REPLICAS if generation == len(NAMES) - 1 else 0)


async def _register(host: Client, name: str, endpoint: Endpoint) -> None:
    metadata = {"name": name, "namespace": SHIPPER}
    if endpoint.client_certificate:
        data = {"tls.crt": encoded(endpoint.client_certificate), "tls.key": encoded(endpoint.client_key or "")}
        data["tls.ca"] = encoded(endpoint.ca or "")
    else:
        data = {"token": encoded(endpoint.token or "x"), "ca.crt": encoded(endpoint.ca or "x")}
    await host.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    form = {"apiVersion": SHIPPER_CLUSTERS.api_version, "kind": SHIPPER_CLUSTERS.kind, "metadata": {"name": name}}
    await host.create(SHIPPER_CLUSTERS, {**form, "spec": {"apiMaster": endpoint.server, "region": "local"}})


async def install_release(client: Client, name: str, replicas: int) -> None:
    """Write into a cluster what Shipper's installer writes: the anchor, and what the anchor owns."""
    metadata = {"name": f"{name}-anchor", "namespace": SHOP}
    data = {"InstallationTargetUID": "f5c1b3a0-0000-4000-8000-000000000000"}
    made = await client.create(
        CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    )
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name_of(made), "uid": uid_of(made)}
    await client.create(DEPLOYMENTS, _deployment(name, replicas, owner))
    service = _service(name, owner)
    present = await client.find(SERVICES, "web", SHOP)
    if present is None:
        await client.create(SERVICES, service)
    else:
        taken = {**present["metadata"], "labels": service["metadata"]["labels"], "ownerReferences": [owner]}
        await client.update(SERVICES, {**present, "metadata": taken})


def labels_for(name: str) -> dict[str, str]:
    return {"shipper-app": APP, "shipper-release": name, "shipper-release-hash": name.split("-")[1]}


def _namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _application() -> Obj:
    annotations = {
        "shipper.booking.com/app.highestObservedGeneration": "1",
        "shipper.booking.com/app.chart.name": "nginx",
        "shipper.booking.com/app.chart.version.raw": VERSIONS[1],
        "shipper.booking.com/app.chart.version.resolved": VERSIONS[1],
    }
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": APP, "namespace": SHOP, "annotations": annotations},
        "spec": {"revisionHistoryLimit": 3, "template": environment(VERSIONS[1])},
        "status": {
            "conditions": [condition("RollingOut", "False", "", f'Release "{NAMES[1]}" is active')],
            "history": list(NAMES),
        },
    }


def _owner(obj: Obj) -> Obj:
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": name_of(obj), "uid": uid_of(obj)}


def _release(application: Obj, name: str, generation: int, clusters: list[str]) -> Obj:
    annotations = {
        "shipper.booking.com/release.generation": str(generation),
        "shipper.booking.com/release.template.iteration": "0",
        "shipper.booking.com/release.clusters": ",".join(clusters),
    }
    metadata = {
        "name": name,
        "namespace": SHOP,
        "labels": labels_for(name),
        "annotations": annotations,
        "ownerReferences": [_owner(application)],
    }
    conditions = [condition(kind, "False" if kind == "Blocked" else "True") for kind in _RELEASE_CONDITIONS]
    return {
        "apiVersion": RELEASES.api_version,
        "kind": RELEASES.kind,
        "metadata": metadata,
        "spec": {"targetStep": 1, "environment": environment(VERSIONS[generation])},
        "status": {"achievedStep": {"step": 1, "name": "full on"}, "conditions": conditions},
    }


_RELEASE_CONDITIONS = ("Blocked", "Complete", "Scheduled", "StrategyExecuted")


def _targets(clusters: list[str], share: int) -> list[tuple[Resource, Obj, Obj]]:
    capacity = [{"name": name, "percent": share, "totalReplicaCount": REPLICAS} for name in clusters]
    traffic = [{"name": name, "weight": share} for name in clusters]
    installed = {"clusters": clusters, "canOverride": False, "chart": environment(VERSIONS[0])["chart"]}
    return [
        (INSTALLATION_TARGETS, installed, {}),
        (CAPACITY_TARGETS, {"clusters": capacity}, {"achievedPercent": share}),
        (TRAFFIC_TARGETS, {"clusters": traffic}, {"achievedTraffic": share}),
    ]


def _target(resource: Resource, release: Obj, spec: Obj, row: Obj) -> Obj:
    metadata = {
        "name": name_of(release),
        "namespace": SHOP,
        "labels": release["metadata"]["labels"],
        "ownerReferences": [_owner(release)],
    }
    names = [each if isinstance(each, str) else each["name"] for each in spec["clusters"]]
    status: dict[str, Any] = {"conditions": READY, "observedGeneration": 1}
    status["clusters"] = [{"name": name, "conditions": READY, **row} for name in names]
    made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return {**made, "spec": spec, "status": status}


def _deployment(name: str, replicas: int, owner: Obj) -> Obj:
    labels = {**labels_for(name), "shipper-owned-by": name, "app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "nginx:1"}]}}
    metadata = {"name": f"{name}-nginx", "namespace": SHOP, "labels": labels, "ownerReferences": [owner]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _service(name: str, owner: Obj) -> Obj:
    labels = {**labels_for(name), "shipper-owned-by": name, "shipper-lb": "production"}
    selector = {"app": "web", "shipper-app": APP, "shipper-traffic-status": "enabled"}
    metadata = {"name": "web", "namespace": SHOP, "labels": labels, "ownerReferences": [owner]}
    spec = {"selector": selector, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
