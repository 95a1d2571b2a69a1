"""A namespace of some cluster in which a scenario plays: ways to ask, to wait, and to end pods as a kubelet would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from hanse.kube import Client, Obj, Resource
from hanse.kube.conditions import is_true
from hanse.kube.manifest import is_deleting, name_of
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Request

PATIENCE_SECONDS = 120.0
NOW = {"terminationGracePeriodSeconds": 0}


class Stage:
    """One namespace of one cluster."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def create(self, resource: Resource, name: str, spec: Obj, **metadata: Any) -> Obj:
        """Create an object of a kind."""
        return await self.client.create(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": self.namespace, **metadata},
                "spec": spec,
            },
        )

    async def get(self, resource: Resource, name: str) -> Obj:
        """Read an object."""
        return await self.client.get(resource, name, self.namespace)

    async def all(self, resource: Resource) -> list[Obj]:
        """Return the objects of a kind, in the order of their names."""
        return sorted((await self.client.list(resource, self.namespace)).items, key=name_of)

    async def change(self, resource: Resource, name: str, patch: Obj) -> Obj:
        """Merge a patch into an object."""
        return await self.client.patch(resource, name, patch, self.namespace)

    async def set_image(self, resource: Resource, name: str, image: str) -> Obj:
        """Give a workload's only container another image."""
        containers = [{"name": "main", "image": image}]
        return await self.change(resource, name, {"spec": {"template": {"spec": {"containers": containers}}}})

    async def scale(self, resource: Resource, name: str, replicas: int) -> None:
        """Ask for another number of replicas by the scale subresource, as kubectl does."""
        patch = {"spec": {"replicas": replicas}}
        await self.client.patch(resource, name, patch, self.namespace, subresource="scale")

    async def pods(self, **labels: str) -> list[Obj]:
        """Return the pods that stay, with these labels."""
        found = await self.all(PODS)
        return [pod for pod in found if not is_deleting(pod) and labels.items() <= pod["metadata"]["labels"].items()]

    async def until(self, resource: Resource, name: str, holds: Callable[[Obj], Any]) -> Obj:
        """Wait until an object is there and something holds of it; return it."""

        def found(objects: Mapping[str, Obj]) -> Obj | None:
            obj = objects.get(name)
            return obj if obj is not None and holds(obj) else None

        met: Obj = await self.until_all(resource, found)
        return met

    async def until_all(self, resource: Resource, holds: Callable[[Mapping[str, Obj]], Any]) -> Any:
        """Wait until something holds of all objects of a kind by name; return what it returned."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            listed = await self.client.list(resource, self.namespace)
            objects = {name_of(obj): obj for obj in listed.items}
            if met := holds(objects):
                return met
            events = self.client.watch(resource, self.namespace, version=listed.resource_version, timeout_seconds=120)
            async with aclosing(events):
                async for event in events:
                    if event.type == "DELETED":
                        objects.pop(name_of(event.object), None)
                    elif event.type in ("ADDED", "MODIFIED"):
                        objects[name_of(event.object)] = resource.name_kind(event.object)
                    if met := holds(objects):
                        return met
        raise AssertionError(f"the watch of {resource.plural} ended before they were as awaited")

    async def until_gone(self, resource: Resource, name: str) -> None:
        """Wait until there is no such object."""
        await self.until_all(resource, lambda objects: name not in objects)

    async def running(self, count: int, **labels: str) -> list[Obj]:
        """Wait until exactly so many pods with these labels stay, all of them ready; return them by name."""

        def ready(objects: Mapping[str, Obj]) -> list[Obj] | None:
            theirs = [
                pod
                for pod in objects.values()
                if labels.items() <= (pod["metadata"].get("labels") or {}).items()
                and not is_deleting(pod)
                and pod["status"].get("phase") not in ("Succeeded", "Failed")
            ]
            up = [pod for pod in theirs if is_true(pod["status"].get("conditions"), "Ready")]
            return sorted(up, key=name_of) if len(theirs) == len(up) == count else None

        found: list[Obj] = await self.until_all(PODS, ready)
        return found

    async def available(self, name: str, count: int) -> Obj:
        """Wait until a Deployment is rolled out with so many replicas, as `kubectl rollout status` judges."""

        def rolled_out(deployment: Obj) -> bool:
            status = deployment.get("status") or {}
            counts = (status.get(field, 0) for field in ("replicas", "updatedReplicas", "availableReplicas"))
            seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
            return bool(seen and deployment["spec"]["replicas"] == count and all(found == count for found in counts))

        return await self.until(DEPLOYMENTS, name, rolled_out)

    async def end(self, pod: Obj, *, code: int = 0) -> None:
        """Have a running pod's only container exit, as its kubelet would report it."""
        now = timestamp(self.client.runtime.now())
        reason = "Error" if code else "Completed"
        terminated = {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}
        container = {**pod["status"]["containerStatuses"][0], "ready": False, "started": False}
        unready = [
            {**entry, "status": "False", "lastTransitionTime": now} if "Ready" in entry["type"] else entry
            for entry in pod["status"]["conditions"]
        ]
        status = {
            "phase": "Failed" if code else "Succeeded",
            "conditions": unready,
            "containerStatuses": [{**container, "state": {"terminated": terminated}}],
        }
        await self.client.patch(PODS, name_of(pod), {"status": status}, self.namespace, subresource="status")

    async def evict(self, pod: Obj) -> int:
        """Ask for a pod's eviction, once; return the answer's code: 201, or 429 where a budget forbids it."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
        path = PODS.path(self.namespace, name_of(pod), "eviction")
        headers = {"content-type": "application/json", "accept": "application/json"}
        request = Request("POST", path, headers=headers, body=orjson.dumps(eviction))
        # Not by the client, which would wait until the budget allows it.
        return (await self.client.transport.send(request, PATIENCE_SECONDS)).status

    async def cordon(self, node: str, *, on: bool = True) -> None:
        """Keep new pods from a node, or let them in again."""
        await self.client.patch(NODES, node, {"spec": {"unschedulable": True if on else None}})


def template(app: str, *, command: Sequence[str] = (), **spec: Any) -> Obj:
    """Return a pod template with one container, whose pods end at once when they are told to."""
    containers = [{"name": "main", "image": "nginx:1", **({"command": list(command)} if command else {})}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **NOW, **spec}}


def selecting(app: str) -> Obj:
    """Return the selector of a workload's pods."""
    return {"matchLabels": {"app": app}}


def image_of(pod: Obj) -> str:
    """Return the image of a pod's only container."""
    return str(pod["spec"]["containers"][0]["image"])


def true_conditions(obj: Obj) -> dict[str, str]:
    """Return the reasons of the conditions that hold, by type, in their order."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return {entry["type"]: entry.get("reason", "") for entry in conditions if entry["status"] == "True"}
