"""What all parts of one server share, and the two ways in which anything in it is written."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hanse.apiserver import objects, status
from hanse.apiserver.hooks import Hooks
from hanse.apiserver.hub import Hub
from hanse.apiserver.identity import Identity
from hanse.apiserver.pod_doors import PodDoors
from hanse.apiserver.registry import Registry, Served
from hanse.apiserver.requests import Options, ResourcePath
from hanse.apiserver.storage import Record, Stale, Storage
from hanse.apiserver.tokens import TokenSigner
from hanse.kube.manifest import Obj, is_deleting, key_of
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request

if TYPE_CHECKING:
    from hanse.apiserver.gate import Gate
    from hanse.apiserver.kubelets import KubeletIdentity


@dataclass(slots=True)
class Core:
    """One server's state: where it stores, what it serves, who listens."""

    name: str
    version: str
    runtime: Runtime
    storage: Storage
    registry: Registry
    hub: Hub
    service_network: str
    signer: TokenSigner
    # What every namespace's kube-root-ca.crt tells of the authority behind the serving certificate.
    root_certificate: str = ""
    # Who answers for what happens inside of pods.
    pods: PodDoors = field(default_factory=PodDoors)
    # What is shown to kubelets elsewhere; see hanse.apiserver.kubelets.
    kubelets: KubeletIdentity | None = None
    # Bearer tokens that are no signed ones: given at the start, or made for an identity.
    tokens: dict[str, Identity] = field(default_factory=dict)
    # The configured webhooks and policies, and the way to them.
    hooks: Hooks = field(default_factory=Hooks)
    # Whether Services get cluster addresses; those of a federation belong to no cluster.
    cluster_ips: bool = True
    # What stands before the server where a network is simulated; see hanse.apiserver.gate.
    gate: Gate | None = None
    # Kinds that are computed rather than stored, by bucket; see hanse.apiserver.computed.
    computed: dict[str, Callable[[str], Iterable[Obj]]] = field(default_factory=dict)

    # Held, by namespace, while something is stored that a quota counts.
    quota_locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def record(self, served: Served, namespace: str, name: str) -> Record | None:
        """Return a stored object's bytes."""
        return self.storage.get(served.bucket, objects.path_of(namespace, name))

    def read(self, served: Served, namespace: str, name: str) -> Obj | None:
        """Return a stored object in the form in which it is stored."""
        record = self.record(served, namespace, name)
        return self.stored_form(served, record.value) if record else None

    def stored_form(self, served: Served, value: bytes) -> Obj:
        """Decode stored bytes under the stored version's names."""
        stored = self.registry.of_bucket(served.bucket) or served
        return objects.decode(value, stored.resource.api_version, stored.resource.kind)

    async def insert(self, served: Served, obj: Obj) -> Obj:
        """Store a new object; raises AlreadyExists."""
        key = key_of(obj)
        try:
            record = await self.storage.write(served.bucket, objects.path_of(*key), objects.encode(obj), 0)
        except Stale:
            held = self.read(served, key.namespace, key.name)
            raise status.already_exists(served.resource, key.name, leaving=bool(held and is_deleting(held))) from None
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(record.revision)}}

    async def replace(self, served: Served, obj: Obj, revision: int) -> Obj:
        """Store an object whose present revision is known; raises Stale."""
        path = objects.path_of(*key_of(obj))
        record = await self.storage.write(served.bucket, path, objects.encode(obj), revision)
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(record.revision)}}

    async def remove(self, served: Served, obj: Obj, revision: int) -> Obj:
        """Remove an object whose present revision is known, with this as its last state; raises Stale."""
        path = objects.path_of(*key_of(obj))
        record = await self.storage.delete(served.bucket, path, revision, objects.encode(obj))
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(record.revision)}}


@dataclass(slots=True)
class Call:
    """One request on its way through the server."""

    core: Core
    identity: Identity
    request: Request
    path: ResourcePath
    options: Options
    served: Served
    verb: str
    warnings: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """The namespace that the object or collection lies in, "" for cluster-scoped kinds."""
        return self.path.namespace if self.served.resource.namespaced else ""

    @property
    def manager(self) -> str:
        """The name under which this client's fields are tracked."""
        given = self.options.text("fieldManager")
        if given:
            return given
        agent = self.request.headers.get("user-agent", "").split("/")[0]
        return "".join(character for character in agent if character.isprintable())[:128] or "unknown"
