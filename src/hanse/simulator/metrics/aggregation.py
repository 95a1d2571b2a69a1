"""Has a real API server ask this machine for metrics.k8s.io: an APIService that leads to a loopback port."""

from __future__ import annotations

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import SERVICES, Resource
from hanse.simulator.metrics.readings import POD_METRICS

API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
_NAMESPACE = "kube-system"
_NAME = "hanse-simulated-metrics"


async def register_metrics(client: Client, port: int) -> None:
    """Lead metrics.k8s.io to a port of this machine; what an earlier run left is put right."""
    await _put(client, SERVICES, _service(port))
    await _put(client, API_SERVICES, _api_service(port))


async def _put(client: Client, resource: Resource, wanted: Obj) -> None:
    try:
        await client.create(resource, wanted)
    except AlreadyExists:
        await client.patch(resource, name_of(wanted), {"spec": wanted["spec"]}, namespace_of(wanted))


def _service(port: int) -> Obj:
    # An external name is the only kind of Service that may lead to loopback.
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port, "name": "https"}]}
    metadata = {"name": _NAME, "namespace": _NAMESPACE}
    return {"apiVersion": "v1", "kind": SERVICES.kind, "metadata": metadata, "spec": spec}


def _api_service(port: int) -> Obj:
    return {
        "apiVersion": API_SERVICES.api_version,
        "kind": API_SERVICES.kind,
        "metadata": {"name": f"{POD_METRICS.version}.{POD_METRICS.group}"},
        "spec": {
            "group": POD_METRICS.group,
            "version": POD_METRICS.version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": _NAME, "namespace": _NAMESPACE, "port": port},
            # The listener's certificate is made for one run; nothing secret passes, and only on loopback.
            "insecureSkipTLSVerify": True,
        },
    }
