"""Namespaces: each has its service account and root certificate; one that terminates is emptied first."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.bootstrap import make
from hanse.apiserver.core import Core
from hanse.apiserver.loops.namespace_conditions import remaining_conditions
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.registry import Served
from hanse.apiserver.storage import Change, Stale
from hanse.apiserver.system_writes import delete_as_server, server_call
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig, is_deleting
from hanse.kube.patches.server_side_apply import track_update
from hanse.kube.runtime import timestamp

_BUCKET = "core/namespaces"
_MANAGER = "kube-controller-manager"
_ROOT_CERTIFICATE = "kube-root-ca.crt"
_PODS, _PODS_LEFT = "core/pods", "pods."


class Namespaces:
    """Furnishes new namespaces and empties those that go."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[str] = Worker("namespaces", core.runtime, self._reconcile)
        self._terminating: set[str] = set()

    async def start(self) -> None:
        """Look at every namespace once, then follow."""
        self._core.hub.listen(self._hear)
        for record in self._core.storage.scan(_BUCKET):
            self._worker.add(record.path)
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        if change.bucket == _BUCKET:
            self._worker.add(change.path)
            return
        namespace = change.path.partition("/")[0]
        # Content of a terminating namespace that went, or that a finalizer let go, may have been the last.
        last = change.deleted and (namespace in self._terminating or change.bucket in _FURNITURE_BUCKETS)
        if last or (change.bucket == "core/configmaps" and change.path.endswith(f"/{_ROOT_CERTIFICATE}")):
            self._worker.add(namespace)

    async def _reconcile(self, name: str) -> None:
        record = self._core.storage.get(_BUCKET, name)
        if record is None:
            self._terminating.discard(name)
            return
        namespace = objects.decode(record.value, "v1", "Namespace")
        if is_deleting(namespace):
            self._terminating.add(name)
            await self._empty(namespace, record.revision)
            return
        for manifest in _furniture(name, self._core.root_certificate):
            await make(self._core, manifest, agent=_MANAGER)
        await self._put_right(name)

    async def _put_right(self, namespace: str) -> None:
        """Have the root certificate be what it is, whoever changed it."""
        kind, data = self._core.registry.of_bucket("core/configmaps"), {"ca.crt": self._core.root_certificate}
        held = self._core.read(kind, namespace, _ROOT_CERTIFICATE) if kind else None
        if kind is None or held is None or is_deleting(held) or held.get("data") == data:
            return
        call = server_call(self._core, kind, namespace, _ROOT_CERTIFICATE, "update")
        try:
            await change_object(call, lambda live: {**live, "data": data})
        except NotFound:
            # Its deletion brings us back here.
            return

    async def _empty(self, namespace: Obj, revision: int) -> None:
        name = namespace["metadata"]["name"]
        remains: dict[str, list[Obj]] = {}
        for kind in self._namespaced():
            if kind.bucket != _PODS and _PODS_LEFT in remains:
                # What pods lean on (policies, secrets, claims) stays until the last of them is gone.
                break
            for record in self._core.storage.scan(kind.bucket, f"{name}/"):
                head = objects.head_of(record.value)
                await delete_as_server(self._core, kind, name, head.name, propagation="Background")
            left = [self._core.stored_form(kind, one.value) for one in self._core.storage.scan(kind.bucket, f"{name}/")]
            if left:
                remains[f"{kind.resource.plural}.{kind.resource.group}"] = left
        if remains:
            await self._tell(namespace, revision, remains)
        else:
            await self._release(namespace, revision)

    async def _tell(self, namespace: Obj, revision: int, remains: dict[str, list[Obj]]) -> None:
        """Write down what keeps a namespace from going, if that is news."""
        served = self._core.registry.find("", "v1", "namespaces")
        now = timestamp(self._core.runtime.now())
        had = dig(namespace, "status", "conditions", default=[])
        told = remaining_conditions(remains, had, now)
        if served is None or told == had:
            return
        new = {**namespace, "status": {**(namespace.get("status") or {}), "conditions": told}}
        new = track_update(
            namespace, new, manager=_MANAGER, schema=served.schema(), now=now, subresource="status", ignore=()
        )
        try:
            await self._core.replace(served, new, revision)
        except Stale:
            self._worker.add(namespace["metadata"]["name"])

    def _namespaced(self) -> list[Served]:
        kinds = (self._core.registry.of_bucket(bucket) for bucket in self._core.storage.buckets())
        found = [kind for kind in kinds if kind is not None and kind.resource.namespaced]
        return sorted(found, key=lambda kind: kind.bucket != _PODS)

    async def _release(self, namespace: Obj, revision: int) -> None:
        served = self._core.registry.find("", "v1", "namespaces")
        spec = namespace.get("spec") or {}
        rest = [one for one in spec.get("finalizers") or [] if one != "kubernetes"]
        namespace["spec"] = {**spec, "finalizers": rest} if rest else {}
        if served is None:
            return
        try:
            if rest or namespace["metadata"].get("finalizers"):
                # Others hold it too; what is written once more would only bring us back here.
                if namespace["spec"] != spec:
                    await self._core.replace(served, namespace, revision)
            else:
                await self._core.remove(served, namespace, revision)
        except Stale:
            self._worker.add(namespace["metadata"]["name"])


_FURNITURE_BUCKETS = ("core/serviceaccounts", "core/configmaps")


def _furniture(namespace: str, root_certificate: str) -> list[Obj]:
    told = (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
        "Kubernetes clusters."
    )
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": _ROOT_CERTIFICATE,
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": told},
            },
            "data": {"ca.crt": root_certificate},
        },
    ]
