"""Aggregated ClusterRoles: a role with an aggregationRule has the rules of all roles that it selects."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.core import Call, Core
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.storage import Change
from hanse.apiserver.system_writes import server_call
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.selectors import LabelSelector

_BUCKET = "rbac.authorization.k8s.io/clusterroles"
_API_VERSION = "rbac.authorization.k8s.io/v1"


class AggregatedRoles:
    """Keeps the rules of aggregated roles up to date."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[str] = Worker("aggregated-roles", core.runtime, self._reconcile)

    async def start(self) -> None:
        """Complete every aggregated role before anybody is let in, then follow."""
        self._core.hub.listen(self._hear)
        # `view` feeds `edit`, and that feeds `admin`: as many rounds as roles can lean on one another.
        names = self._aggregated()
        for _ in names:
            for name in names:
                await self._reconcile(name)
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        if change.bucket == _BUCKET:
            for name in self._aggregated():
                self._worker.add(name)

    def _aggregated(self) -> list[str]:
        # A look at the bytes spares parsing every role at every change.
        return [one.path for one in self._core.storage.scan(_BUCKET) if b'"aggregationRule":{' in one.value]

    async def _reconcile(self, name: str) -> None:
        record = self._core.storage.get(_BUCKET, name)
        served = self._core.registry.of_bucket(_BUCKET)
        if record is None or served is None:
            return
        role = objects.decode(record.value, _API_VERSION, "ClusterRole")
        rules = self._rules(role)
        if rules == (role.get("rules") or []):
            return

        def completed(live: Obj) -> Obj:
            return {**live, "rules": rules}

        call: Call = server_call(self._core, served, "", name, "update")
        try:
            await change_object(call, completed)
        except NotFound:
            return

    def _rules(self, role: Obj) -> list[Obj]:
        selectors = dig(role, "aggregationRule", "clusterRoleSelectors", default=[])
        rules: list[Obj] = []
        others = [objects.decode(one.value, _API_VERSION, "ClusterRole") for one in self._core.storage.scan(_BUCKET)]
        for selector in filter(None, map(_selector, selectors)):
            for other in others:
                if other["metadata"]["name"] == role["metadata"]["name"] or not selector.matches(labels_of(other)):
                    continue
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
        return rules


def _selector(manifest: Obj) -> LabelSelector | None:
    try:
        return LabelSelector.from_object(manifest)
    except ValueError:
        return None
