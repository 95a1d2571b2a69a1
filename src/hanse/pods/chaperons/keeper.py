"""The loop that keeps every chaperon of a cluster: sees its pod, decides, acts, and tells its source by its status.

It writes under a field manager of its own, so that the engine of a source, which owns what it rendered, leaves the mark
of a missing pod alone. That there is no pod is believed only after the server itself was asked: on it hangs whether a
chaperon may go, and whether its pod may run again elsewhere.
"""

from __future__ import annotations

import asyncio

from hanse.api.admiralty.keys import (
    CHAPERON_FINALIZER,
    PARENT_UID,
    POD_MISSING_SINCE,
    UNRECORDED_FINALIZER,
)
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.namespaces import is_system, stays_sentence
from hanse.kube.cache import Cache, Change, without_managed_fields
from hanse.kube.client import Client, PatchType
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    dig,
    finalizers_of,
    is_deleting,
    key_of,
    namespace_of,
    version_of,
    with_finalizer,
    without_finalizer,
)
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import PODS
from hanse.pods.chaperons.attempts import Attempts
from hanse.pods.chaperons.life import Action, Hold, Make, Mark, Recorded, Release, Report, Scene, Stop, next_step
from hanse.pods.chaperons.makings import Makings
from hanse.pods.chaperons.pods import had_pod, is_own, parent_of
from hanse.pods.chaperons.signs import Presence, SourceSigns
from hanse.pods.chaperons.telling import announced, refused
from hanse.pods.serving import wait_served

MANAGER = "hanse-pods"
_WORKERS = 16
# Changes of a pod that come together are told together.
_TOGETHER_SECONDS = 0.05
# What has only been given a node begins in a moment: both are told in one write.
_BEGINNING_SECONDS = 0.3
# How soon a pod is looked at again that the server has and no watch tells of: somebody took its label away.
_UNWATCHED_SECONDS = 10.0


class ChaperonKeeper:
    """Keeps the chaperons of one cluster and their pods.

    `inside` says that it runs in that very cluster: then it stops pods whose source gives no sign any more, where they
    are to be stopped, and shows that it is there.
    """

    def __init__(self, client: Client, *, inside: bool = False) -> None:
        """Whoever runs it may tell others of its `word`."""
        self._client = Client(client.transport, client.runtime, manager=MANAGER)
        self._chaperons = Cache(self._client, POD_CHAPERONS)
        self._pods = Cache(self._client, PODS, labels=PARENT_UID, project=_glimpse)
        self._attempts = Attempts()
        self._makings = Makings(client.runtime)
        self.word = self._makings.word
        self._signs = SourceSigns(self._client) if inside else None
        self._controller: Controller[Key] = Controller(
            "chaperons", self._reconcile, client.runtime, workers=_WORKERS, owner=lambda key: key.namespace
        )

    async def run(self) -> None:
        """Work until cancelled; in a cluster that does not serve chaperons yet, wait until it does."""
        await wait_served(self._client, POD_CHAPERONS)
        async with asyncio.TaskGroup() as tasks:
            for cache in (self._chaperons, self._pods):
                tasks.create_task(cache.run())
            if self._signs is not None:
                tasks.create_task(self._signs.run())
                tasks.create_task(Presence(self._client).run())
            for cache in (self._chaperons, self._pods):
                await cache.wait_synced()
            self._chaperons.subscribe(self._chaperon_changed)
            self._pods.subscribe(self._pod_changed)
            tasks.create_task(self._controller.run())

    def _chaperon_changed(self, change: Change) -> None:
        if change.new_bytes is None:
            return
        if change.old_bytes is None:
            self._controller.queue.add(change.key)
        else:
            self._controller.queue.add_after(change.key, _TOGETHER_SECONDS)

    def _pod_changed(self, change: Change) -> None:
        if change.key in self._chaperons:
            pause = _BEGINNING_SECONDS if _begins(change.new) else _TOGETHER_SECONDS
            self._controller.queue.add_after(change.key, pause)

    async def _reconcile(self, key: Key) -> float | None:
        chaperon = self._chaperons.get(key)
        if chaperon is None:
            return None
        newest = self._attempts.note(chaperon)
        pod = await self._pod_of(chaperon)
        silent = self._signs.silent(parent_of(chaperon)[0]) if self._signs is not None else None
        late, own = self._makings.late(chaperon), self._makings.is_own(chaperon)
        step = next_step(chaperon, Scene(pod, self._client.runtime.now(), newest, silent, late, another=not own))
        for action in step.actions:
            chaperon = await self._carry_out(action, chaperon)
        if pod is not None and key not in self._pods:
            return min(_UNWATCHED_SECONDS, step.again or _UNWATCHED_SECONDS)
        return step.again

    async def _pod_of(self, chaperon: Obj) -> Obj | None:
        """Return a chaperon's pod, None where the cluster has none."""
        key = key_of(chaperon)
        pod = self._pods.get(key)
        if pod is None and (is_deleting(chaperon) or had_pod(chaperon) or self._makings.may_be_there(chaperon)):
            pod = await self._client.find(PODS, key.name, key.namespace)
        return pod if pod is not None and is_own(pod, chaperon) else None

    async def _carry_out(self, action: Action, chaperon: Obj) -> Obj:
        """Do one thing; returns the chaperon as it is then. Each is bound to the version that was judged."""
        key = key_of(chaperon)
        match action:
            case Hold():
                held = finalizers_of(with_finalizer(chaperon, CHAPERON_FINALIZER))
                return await self._change(chaperon, {"metadata": {"finalizers": held}})
            case Make(pod):
                await self._make(chaperon, pod)
            case Report(status):
                return await self._report(chaperon, status)
            case Mark(since):
                return await self._change(chaperon, {"metadata": {"annotations": {POD_MISSING_SINCE: since}}})
            case Recorded(uid):
                await self._let_pod_go(key, uid)
            case Stop(uid):
                await self._stop(key, uid)
            case Release():
                left = finalizers_of(without_finalizer(chaperon, CHAPERON_FINALIZER))
                return await self._change(chaperon, {"metadata": {"finalizers": left or None}})
        return chaperon

    async def _make(self, chaperon: Obj, pod: Obj) -> None:
        if is_system(namespace_of(chaperon)):
            # Whoever sends pods to a cluster must not become its administrator by that.
            await self._report(chaperon, refused(chaperon, stays_sentence("pods", namespace_of(chaperon))))
            return
        if not self._makings.is_own(chaperon):
            chaperon = await self._report(chaperon, announced(chaperon, self._makings.begin()))
        self._makings.sends(chaperon)
        try:
            self._pods.remember(await self._client.create(PODS, pod))
        except AlreadyExists:
            self._makings.refused(chaperon)
            if not await self._is_there(chaperon):
                await self._report(chaperon, refused(chaperon, _foreign(key_of(chaperon))))
                raise
        except (Forbidden, Invalid, BadRequest, NotFound) as error:
            self._makings.refused(chaperon)
            await self._report(chaperon, refused(chaperon, error.message))
            raise
        except BaseException:
            self._makings.broke_off(chaperon)
            raise

    async def _is_there(self, chaperon: Obj) -> bool:
        """Tell whether what stands in the way is the chaperon's own pod, of which no watch has told yet."""
        key = key_of(chaperon)
        found = await self._client.find(PODS, key.name, key.namespace)
        if found is None or not is_own(found, chaperon):
            return False
        self._pods.remember(found)
        return True

    async def _report(self, chaperon: Obj, status: Obj) -> Obj:
        patch = merge_patch_between(chaperon.get("status") or {}, status)
        return await self._change(chaperon, {"status": patch}, subresource="status") if patch else chaperon

    async def _change(self, chaperon: Obj, patch: Obj, *, subresource: str = "") -> Obj:
        """Change a chaperon on top of the version that was judged; raises Conflict where it is not that any more."""
        key = key_of(chaperon)
        exactly = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version_of(chaperon)}}
        try:
            changed = await self._client.patch(POD_CHAPERONS, key.name, exactly, key.namespace, subresource=subresource)
        except NotFound:
            return chaperon
        if finalizers_of(changed) or not is_deleting(changed):
            # What is the keeper's own doing needs no second look.
            self._chaperons.remember(changed, quietly=True)
        return changed

    async def _let_pod_go(self, key: Key, uid: str) -> None:
        patch = {"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [UNRECORDED_FINALIZER]}}
        try:
            await self._client.patch(PODS, key.name, patch, key.namespace, patch_type=PatchType.STRATEGIC)
        except NotFound:
            return

    async def _stop(self, key: Key, uid: str) -> None:
        try:
            await self._client.delete(PODS, key.name, key.namespace, uid=uid)
        except NotFound:
            return


def _glimpse(pod: Obj) -> Obj:
    """Keep of a pod what its chaperon tells."""
    seen = without_managed_fields(pod)
    node = (pod.get("spec") or {}).get("nodeName")
    return {**seen, "spec": {"nodeName": node} if node else {}}


def _begins(pod: Obj | None) -> bool:
    if pod is None or is_deleting(pod):
        return False
    return bool(dig(pod, "spec", "nodeName")) and dig(pod, "status", "phase") == "Pending"


def _foreign(key: Key) -> str:
    return f"a pod {key} is there already and is not this chaperon's; delete it, or rename the pod in its source"
