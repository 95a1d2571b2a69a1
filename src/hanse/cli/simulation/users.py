"""What users of a simulated federation do by chance: deploy, scale, roll out, delete, and pull the plug."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hanse.cli.simulation.federation import VirtualFederation
from hanse.kube.errors import AlreadyExists, Conflict, NotFound
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import DEPLOYMENTS, PODS

T = TypeVar("T")
_NAMESPACE = "default"
_MOST_REPLICAS = 12
_PAUSE_SECONDS = (1.0, 40.0)


class Users:
    """Somebody who cannot leave a federation alone; their own way into it has no faults."""

    def __init__(self, federation: VirtualFederation, uniform: Callable[[float, float], float]) -> None:
        self._federation = federation
        self._host = federation.host
        self._between = uniform

    async def begin(self) -> None:
        """Run something on the federation, and something in one cluster that the federation knows nothing of."""
        await self._host.create(DEPLOYMENTS, deployment("web", 6))
        first = next(iter(self._federation.members.values()))
        await first.client.create(DEPLOYMENTS, deployment("local", 2))

    async def act(self, seconds: float) -> None:
        """Do one thing after the other until the time is over."""
        runtime = self._federation.runtime
        end = runtime.monotonic() + seconds
        acts: tuple[Callable[[], Awaitable[str]], ...] = (
            self._scale,
            self._roll_out,
            self._delete_pod,
            self._toggle_second,
            self._restart_control_plane,
        )
        while True:
            await runtime.sleep(self._between(*_PAUSE_SECONDS))
            if runtime.monotonic() >= end:
                return
            told = await self._one_of(acts)()
            self._federation.log.add(runtime.monotonic(), "users", told, notable=True)

    async def _scale(self) -> str:
        replicas = int(self._between(0, _MOST_REPLICAS + 1))
        await self._host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, _NAMESPACE)
        return f"scaled web to {replicas}"

    async def _roll_out(self) -> str:
        image = f"web:{int(self._between(1, 4))}"
        template = {"spec": {"containers": [{"name": "main", "image": image}]}}
        await self._host.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, _NAMESPACE)
        return f"changed the image of web to {image}"

    async def _delete_pod(self) -> str:
        name = self._one_of(tuple(self._federation.members))
        client = self._federation.members[name].client
        pods = (await client.list(PODS, _NAMESPACE)).items
        if not pods:
            return f"found no pod to delete in {name}"
        pod = self._one_of(pods)
        try:
            await client.delete(PODS, name_of(pod), namespace_of(pod))
        except (NotFound, Conflict):
            return f"came too late to delete pod {name_of(pod)} in {name}"
        return f"deleted pod {name_of(pod)} in {name}"

    async def _toggle_second(self) -> str:
        try:
            await self._host.create(DEPLOYMENTS, deployment("second", 3))
        except AlreadyExists:
            await self._host.delete(DEPLOYMENTS, "second", _NAMESPACE)
            return "deleted second"
        return "created second"

    async def _restart_control_plane(self) -> str:
        await self._federation.kill_control_plane()
        await self._federation.runtime.sleep(self._between(0.0, 10.0))
        self._federation.start_control_plane()
        return "killed the control plane and started it again"

    def _one_of(self, choices: Sequence[T]) -> T:
        return choices[min(int(self._between(0, len(choices))), len(choices) - 1)]


def deployment(name: str, replicas: int) -> Obj:
    """Return a Deployment of one small container."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": _NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "web:1"}]},
            },
        },
    }
