"""Aggregated ClusterRoles: a role with an aggregationRule has the rules of all roles that it selects."""

from __future__ import annotations

import msgspec

from hanse.apiserver import objects
from hanse.apiserver.core import Call, Core
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.storage import Change
from hanse.apiserver.system_writes import server_call
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import LabelSelector

_BUCKET = "rbac.authorization.k8s.io/clusterroles"
_API_VERSION = "rbac.authorization.k8s.io/v1"


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata


# Most roles are looked at for their labels only.
_decode_labels = msgspec.json.Decoder(_Labelled).decode


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
            before = self._core.storage.revision
            for name in names:
                await self._reconcile(name)
            if self._core.storage.revision == before:
                break
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
        others = self._core.storage.scan(_BUCKET)
        labels = [_decode_labels(one.value).metadata.labels for one in others]
        for selector in filter(None, map(_selector, selectors)):
            for other, own in zip(others, labels, strict=True):
                if other.path == role["metadata"]["name"] or not selector.matches(own):
                    continue
                found = objects.decode(other.value, _API_VERSION, "ClusterRole").get("rules")
                rules += [rule for rule in found or () if rule not in rules]
        return rules


def _selector(manifest: Obj) -> LabelSelector | None:
    try:
        return LabelSelector.from_object(manifest)
    except ValueError:
        return None
