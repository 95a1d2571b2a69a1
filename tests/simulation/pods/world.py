"""A federation of simulated clusters on virtual time whose pods run elsewhere; admission is asked in the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.keys import ENABLED, NAMESPACE_LABEL, PARENT_UID, PODS_DOOR
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.apiserver.webhook_client import CallFailed, Target
from hanse.cli.control_plane import run_control_plane
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig, key_of, labels_of, namespace_of, uid_of
from hanse.kube.resources import NAMESPACES, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.pods.admission.manifests import PODS_PATH, admission_manifests
from hanse.pods.admission.reviews import Knowledge, answer_job, answer_pod, read_review
from hanse.pods.admission.seals import Sealer
from hanse.pods.installing.opening import write_into
from hanse.pods.installing.targets import target_manifests
from hanse.simulator.faults.gate import NODES_USER
from tests.simulation.world import World

_SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
ELECT = "multicluster.admiralty.io/elect"


class InProcessAdmission:
    """Answers an API server's reviews as the admission server does, with the targets of that moment."""

    def __init__(self, source: str, client: Client) -> None:
        self._source = source
        self._client = client
        self.down = False

    async def post(self, target: Target, body: bytes, seconds: float) -> bytes:
        if self.down:
            raise CallFailed("connection refused")
        targets = [key_of(obj) for kind in (TARGETS, CLUSTER_TARGETS) for obj in (await self._client.list(kind)).items]
        names = [TargetName(key.namespace, key.name) for key in targets]
        sealer = Sealer(b"key", self._client.runtime.now())
        known = Knowledge(self._source, names, sealer, controllers=frozenset({NODES_USER}))
        answer = answer_pod if target.url.endswith(PODS_PATH) else answer_job
        return orjson.dumps(answer(read_review(body), known))

    async def close(self) -> None:
        """Have nothing to close."""


class PodWorld(World):
    """A host and members, each with what the door of pods needs; the door itself is opened by tests."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime)
        self.admissions: dict[str, InProcessAdmission] = {}

    def start_control_plane(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        self._control_plane = asyncio.create_task(
            run_control_plane(
                host, connect=lambda endpoint: self._wire(endpoint.server.removeprefix("https://")), pods=True
            )
        )

    async def open_door(self, source: str, *targets: str) -> None:
        """Have the elected pods of a cluster run in these, under targets of their names; itself is `self`."""
        client = self.clients[source]
        admission = self.admissions[source] = InProcessAdmission(source, client)
        self.servers[source]._core.hooks.client = admission  # type: ignore[assignment]
        for name in dict.fromkeys((source, *targets)):
            await write_into(self.clients[name], [*ADMIRALTY_CRDS, _SYSTEM])
        webhooks = admission_manifests("https://admission", b"", own=("admin", NODES_USER))
        await write_into(client, [*target_manifests(source, targets), *webhooks])
        await client.patch(NAMESPACES, "default", {"metadata": {"labels": {NAMESPACE_LABEL: ENABLED}}})
        await self.host.patch(CLUSTERS, source, {"metadata": {"annotations": {DOORS_ANNOTATION: PODS_DOOR}}})

    # What tests ask

    async def delegates(self, source: str, namespace: str = "default") -> dict[str, list[tuple[str, Obj]]]:
        """Every pod by the uid of the placeholder that it runs for: the clusters in which one is, and it."""
        found: dict[str, list[tuple[str, Obj]]] = {}
        for cluster in self.clusters:
            for pod in (await self.clients[cluster].list(PODS, namespace, labels=PARENT_UID)).items:
                found.setdefault(labels_of(pod)[PARENT_UID], []).append((cluster, pod))
        return found

    async def placeholders(self, source: str, namespace: str = "default") -> list[Obj]:
        listed = await self.clients[source].list(PODS, namespace, labels="multicluster.admiralty.io/has-finalizer=true")
        return listed.items

    async def runs_in(self, source: str, name: str, namespace: str = "default") -> str:
        """The one cluster in which a placeholder's pod runs and its placeholder says so, "" while it does not."""
        pod = await self.find(source, PODS, name, namespace)
        if pod is None or dig(pod, "status", "phase") != "Running":
            return ""
        found = (await self.delegates(source, namespace)).get(uid_of(pod), [])
        return found[0][0] if len(found) == 1 else ""

    async def leftovers(self) -> list[str]:
        """Everything that the door has left in any cluster."""
        found = []
        for cluster, client in self.clients.items():
            if cluster == "host":
                continue
            for kind in (POD_CHAPERONS, PODS):
                listed = (await client.list(kind, labels=PARENT_UID)).items
                found += [f"{cluster}: {kind.kind} {namespace_of(obj)}/{obj['metadata']['name']}" for obj in listed]
        return found


def elected_pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Obj:
    """A pod that is to run elsewhere."""
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {ELECT: "", **(annotations or {})}},
        "spec": {"containers": containers, **spec},
    }


@asynccontextmanager
async def sending(source: str, *targets: str, seed: int = 0) -> AsyncIterator[PodWorld]:
    """Run a federation for the length of a block in which one cluster's elected pods run in others."""
    world = PodWorld(SeededRuntime(seed))
    try:
        await world.start((source, *(name for name in targets if name != source)))
        await world.open_door(source, *targets)
        yield world
    finally:
        await world.close()
