"""Looking after FederatedKinds: what of them could not be understood, and that none goes before its kind is let go.

An object whose kind is no longer followed could never be deleted: its finalizer would wait for an engine that does not
look at it. So a FederatedKind stays until no object of its kind is held by the engine any more.
"""

from __future__ import annotations

import asyncio

from hanse.api.federated_kinds import FEDERATED_KINDS, KIND_FINALIZER, parse_federated_kind
from hanse.api.names import FINALIZER
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, dig, finalizers_of, is_deleting, with_finalizer, without_finalizer
from hanse.kube.runtime import timestamp
from hanse.propagation.teaching import learn

_AGAIN_SECONDS = 1.0


class KindKeeper:
    """Says whether every FederatedKind is understood, and holds it until its kind is let go."""

    def __init__(self, host: Client) -> None:
        self._host = host
        self._kinds = Cache(host, FEDERATED_KINDS)
        self._controller: Controller[Key] = Controller("federated kinds", self._reconcile, host.runtime)

    async def run(self) -> None:
        """Work until cancelled."""
        self._kinds.subscribe(self._changed)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._kinds.run())
            await self._kinds.wait_synced()
            tasks.create_task(self._controller.run())

    def _changed(self, change: Change) -> None:
        self._controller.queue.add(change.key)

    async def _reconcile(self, key: Key) -> float | None:
        kind = self._kinds.get(key)
        if kind is None:
            return None
        held = KIND_FINALIZER in finalizers_of(kind)
        if not is_deleting(kind):
            if not held:
                await self._write(with_finalizer(kind, KIND_FINALIZER))
                return None
            told = understood(kind, timestamp(self._host.runtime.now()))
            if told != kind:
                await self._write(told, subresource="status")
            return None
        if not held:
            return None
        if await self._is_held(kind):
            return _AGAIN_SECONDS
        await self._write(without_finalizer(kind, KIND_FINALIZER))
        return None

    async def _is_held(self, kind: Obj) -> bool:
        try:
            listed = await self._host.list(parse_federated_kind(kind).resource)
        except NotFound:
            # A kind that the host no longer serves has no objects.
            return False
        return any(FINALIZER in finalizers_of(obj) for obj in listed.items)

    async def _write(self, kind: Obj, *, subresource: str = "") -> None:
        try:
            written = await self._host.update(FEDERATED_KINDS, kind, subresource=subresource)
        except NotFound:
            return
        self._kinds.remember(written)


def understood(kind: Obj, now: str) -> Obj:
    """Return a FederatedKind whose status says whether everything that it teaches is understood."""
    problems = learn(parse_federated_kind(kind)).problems
    text = "; ".join(problems) if problems else "everything that it teaches is understood"
    told = condition("Understood", not problems, "NotUnderstood" if problems else "Understood", text)
    before = dig(kind, "status", "conditions", default=[])
    return {**kind, "status": {**(kind.get("status") or {}), "conditions": merge_conditions(before, [told], now)}}
