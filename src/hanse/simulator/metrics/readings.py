"""PodMetrics and NodeMetrics of a simulated cluster, made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.admiralty.nodes import is_virtual
from hanse.kube.manifest import Key, Obj, labels_of, name_of, namespace_of
from hanse.kube.resources import NODES, SERVICES, Resource
from hanse.kube.runtime import timestamp
from hanse.simulator.metrics.usage import Use, container_uses, load_of, total_use
from hanse.simulator.networking.selection import ready_pods
from hanse.simulator.world import World

POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
_WINDOW = "15s"
# What the system of a node uses itself.
_SYSTEM = Use(80, 400 * 2**20)


class Readings:
    """Reads what a cluster's pods and nodes use off its caches."""

    def __init__(self, world: World) -> None:
        self._runtime = world.runtime
        self._pods = world.pods
        self._nodes = world.cache(NODES)
        self._services = world.cache(SERVICES)

    def pods(self, namespace: str) -> Iterator[Obj]:
        """Yield the PodMetrics of a namespace, or of all where it is "", in the order of their names."""
        loads = self._loads(namespace)
        elsewhere = {name_of(node) for node in self._nodes.objects() if is_virtual(node)}
        for key in self._pods.cache:
            if namespace and key.namespace != namespace:
                continue
            pod = self._pods.cache.get(key)
            if pod is None or pod["spec"].get("nodeName") in elsewhere:
                continue
            uses = container_uses(pod, loads.get(key, 0))
            if uses:
                containers = [{"name": name, "usage": _usage(use)} for name, use in uses.items()]
                yield {**self._head(POD_METRICS, pod), "containers": containers}

    def nodes(self, _namespace: str = "") -> Iterator[Obj]:
        """Yield the NodeMetrics of all nodes on which anything can run."""
        loads = self._loads("")
        for node in self._nodes.objects():
            if is_virtual(node):
                continue
            pods = [(facts.key, self._pods.cache.get(facts.key)) for facts in self._pods.on_node(name_of(node))]
            uses = [
                use for key, pod in pods if pod is not None for use in container_uses(pod, loads.get(key, 0)).values()
            ]
            yield {**self._head(NODE_METRICS, node), "usage": _usage(total_use((_SYSTEM, *uses)))}

    def _loads(self, namespace: str) -> dict[Key, int]:
        """Return each pod's share of the load on the Services before it."""
        found: dict[Key, int] = {}
        for service in self._services.objects(namespace):
            load = load_of(service)
            ready = ready_pods(service, self._pods) if load else []
            for facts in ready:
                found[facts.key] = found.get(facts.key, 0) + load // len(ready)
        return found

    def _head(self, resource: Resource, of: Obj) -> Obj:
        now = timestamp(self._runtime.now())
        metadata: Obj = {"name": name_of(of), "creationTimestamp": now, "labels": labels_of(of)}
        if resource.namespaced:
            metadata["namespace"] = namespace_of(of)
        head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return {**head, "timestamp": now, "window": _WINDOW}


def _usage(use: Use) -> Obj:
    return {"cpu": f"{use.millicores}m", "memory": f"{use.memory_bytes // 1024}Ki"}
