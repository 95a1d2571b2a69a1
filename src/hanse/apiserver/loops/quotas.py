"""ResourceQuotas of a cluster: each says in its status what it limits and how much of that is used."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.core import Core
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.quotas import BUCKET, used_of
from hanse.apiserver.storage import Change
from hanse.apiserver.system_writes import server_call
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig, is_deleting
from hanse.kube.quotas import quantities_like

# They come in numbers and no quota that anybody sets counts them.
_IGNORED = ("core/events", "coordination.k8s.io/leases")


class Quotas:
    """Counts again whenever something in a namespace with a quota changes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[str] = Worker("quotas", core.runtime, self._reconcile)
        self._started = False

    def start(self) -> None:
        """Look at every quota once, then follow; to be started again changes nothing."""
        if self._started:
            return
        self._started = True
        self._core.hub.listen(self._hear)
        for record in self._core.storage.scan(BUCKET):
            self._worker.add(record.path)
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        if change.bucket == BUCKET and not change.deleted:
            self._worker.add(change.path)
        namespace, separator, _ = change.path.partition("/")
        if separator and change.bucket not in _IGNORED:
            for record in self._core.storage.scan(BUCKET, f"{namespace}/"):
                self._worker.add(record.path)

    async def _reconcile(self, path: str) -> None:
        record, served = self._core.storage.get(BUCKET, path), self._core.registry.of_bucket(BUCKET)
        if record is None or served is None:
            return
        quota = objects.decode(record.value, "v1", "ResourceQuota")
        if is_deleting(quota):
            return
        hard: Obj = dig(quota, "spec", "hard", default=None) or {}
        status = {"hard": hard, "used": quantities_like(used_of(self._core, quota), hard)} if hard else {}
        if (quota.get("status") or {}) == status:
            return
        metadata = quota["metadata"]
        call = server_call(self._core, served, metadata["namespace"], metadata["name"], "update")
        try:
            await change_object(call, lambda live: {**live, "status": status}, subresource="status")
        except NotFound:
            return
