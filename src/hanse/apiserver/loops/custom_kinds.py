"""Custom kinds: a definition is accepted, served, changed and withdrawn, and its objects go with it."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.builtin.crd_rules import CLEANUP
from hanse.apiserver.core import Core
from hanse.apiserver.crds import kinds_of
from hanse.apiserver.loops.worker import Worker
from hanse.apiserver.registry import Served
from hanse.apiserver.storage import Change, Stale
from hanse.apiserver.system_writes import delete_as_server
from hanse.kube.manifest import Obj, dig, finalizers_of, is_deleting, name_of
from hanse.kube.patches.server_side_apply import track_update
from hanse.kube.resources import CRDS
from hanse.kube.runtime import timestamp

_BUCKET = "apiextensions.k8s.io/customresourcedefinitions"


class CustomKinds:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._worker: Worker[str] = Worker("custom-kinds", core.runtime, self._reconcile)
        self._installed: dict[str, tuple[str, str]] = {}
        # The group and kind that each installed definition has taken.
        self._taken: dict[str, tuple[str, str]] = {}

    async def start(self) -> None:
        """Serve what was established before, then follow."""
        self._core.hub.listen(self._hear)
        # In the order in which they came: a kind that is named without its group means the same after a restart.
        for record in sorted(self._core.storage.scan(_BUCKET), key=lambda record: record.revision):
            await self._reconcile(record.path)
        self._worker.start()

    async def stop(self) -> None:
        """Stop following."""
        await self._worker.stop()

    def _hear(self, change: Change) -> None:
        if change.bucket == _BUCKET:
            self._worker.add(change.path)
            return
        # The last object of a kind whose definition waits for its objects to be gone.
        if change.deleted and change.bucket in self._waiting():
            self._worker.add(self._waiting()[change.bucket])

    def _waiting(self) -> dict[str, str]:
        return {f"{group}/{plural}": name for name, (group, plural) in self._installed.items()}

    async def _reconcile(self, name: str) -> None:
        served = self._core.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        record = self._core.storage.get(_BUCKET, name)
        if served is None:
            return
        if record is None:
            self._withdraw(name)
            return
        crd = objects.decode(record.value, CRDS.api_version, CRDS.kind)
        if is_deleting(crd):
            await self._finish(served, crd, record.revision)
            return
        accepted = self._accepted(crd)
        if accepted != crd:
            tracked = track_update(
                crd,
                accepted,
                manager="kube-apiserver",
                schema=served.schema(),
                now=timestamp(self._core.runtime.now()),
                subresource="status",
            )
            await self._core.replace(served, tracked, record.revision)
            return  # heard again with the new state
        self._install(accepted)

    def _install(self, crd: Obj) -> None:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        before = self._installed.get(name_of(crd))
        if before:
            self._core.registry.withdraw(*before)
        self._installed[name_of(crd)] = (group, plural)
        self._taken[name_of(crd)] = (group, dig(crd, "status", "acceptedNames", "kind", default=""))
        self._core.registry.install(kinds_of(crd))

    def _withdraw(self, name: str) -> None:
        before = self._installed.pop(name, None)
        self._taken.pop(name, None)
        if before:
            self._core.registry.withdraw(*before)
            self._core.hub.end_bucket(f"{before[0]}/{before[1]}")

    def _accepted(self, crd: Obj) -> Obj:
        clash = self._name_clash(crd)
        now = timestamp(self._core.runtime.now())
        conditions = [dict(one) for one in dig(crd, "status", "conditions", default=[]) or []]
        if clash:
            _set(conditions, "NamesAccepted", "False", clash[0], clash[1], now)
            _set(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
            names = dig(crd, "status", "acceptedNames", default={"plural": "", "kind": ""})
        else:
            _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
            _set(conditions, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now)
            names = crd["spec"]["names"]
        told = {**(crd.get("status") or {}), "conditions": conditions, "acceptedNames": names}
        if not clash and _is_unapproved(crd):
            value = crd["metadata"]["annotations"]["api-approved.kubernetes.io"]
            _set(
                conditions,
                "KubernetesAPIApprovalPolicyConformant",
                "False" if value.startswith("unapproved") else "True",
                "UnapprovedAnnotation" if value.startswith("unapproved") else "ApprovedAnnotation",
                f'not approved: "{value}"' if value.startswith("unapproved") else f"approved in {value}",
                now,
            )
        return {**crd, "status": told}

    def _name_clash(self, crd: Obj) -> tuple[str, str] | None:
        kind = crd["spec"]["names"].get("kind")
        wanted = (crd["spec"]["group"], kind)
        if any(taken == wanted and name != name_of(crd) for name, taken in self._taken.items()):
            return "KindConflict", f'"{kind}" is already in use'
        return None

    async def _finish(self, served: Served, crd: Obj, revision: int) -> None:
        if CLEANUP not in finalizers_of(crd):
            return
        kinds = kinds_of(crd)
        for record in self._core.storage.scan(kinds[0].bucket) if kinds else ():
            head = objects.head_of(record.value)
            await delete_as_server(self._core, kinds[0], head.namespace, head.name)
        if kinds and self._core.storage.scan(kinds[0].bucket):
            return  # heard again when the last one is gone
        rest = [one for one in finalizers_of(crd) if one != CLEANUP]
        crd["metadata"]["finalizers"] = rest
        if rest:
            await self._core.replace(served, crd, revision)
            return
        crd["metadata"].pop("finalizers")
        try:
            await self._core.remove(served, crd, revision)
        except Stale:
            self._worker.add(name_of(crd))


def _is_unapproved(crd: Obj) -> bool:
    return "api-approved.kubernetes.io" in (crd["metadata"].get("annotations") or {})


def _set(conditions: list[Obj], kind: str, value: str, reason: str, message: str, now: str) -> None:
    wanted = {"type": kind, "status": value, "reason": reason, "message": message}
    for one in conditions:
        if one["type"] == kind:
            if one["status"] != value:
                one["lastTransitionTime"] = now
            one.update(wanted)
            return
    conditions.append({"type": kind, "status": value, "lastTransitionTime": now, "reason": reason, "message": message})
