"""Leftovers of a source in its targets: what bears its name there although what it was made for is gone.

The engine takes away what it made, and a placeholder waits for that. What is left over comes from elsewhere: a target
that was taken away while it had pods and came back, a finalizer that somebody removed by hand, a name that was used
again. Nothing is deleted on ignorance: only what Hanse marked, in a target in which the source's name is surely its
own, after a complete list of the source that began after the object was seen lacks its parent, and the parent, asked
for by itself, is not there or is another one. What changed meanwhile is left for the next time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from hanse.api.admiralty.keys import PARENT_CLUSTER, PARENT_NAME, PARENT_NAMESPACE, PARENT_UID
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.names import MANAGED_LABEL
from hanse.api.plain_kinds import CLAIMS, INGRESSES, JOBS
from hanse.clusters.member import Member, PullMember
from hanse.clusters.roster import Attachment
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Conflict, Forbidden, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    is_deleting,
    key_of,
    labels_of,
    uid_of,
    version_of,
)
from hanse.kube.resources import CONFIGMAPS, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES, Resource
from hanse.kube.transport import Unreachable
from hanse.pods.targets.claims import Claim

log = Log("hanse")

# What else follows a pod, or is a whole Job: each of these has a parent of its own kind in the source.
FOLLOWED = (JOBS, CONFIGMAPS, SECRETS, SERVICE_ACCOUNTS, CLAIMS, SERVICES, INGRESSES)


@dataclass(frozen=True, slots=True)
class SweepTerms:
    """How often leftovers are looked for; nobody waits for them.

    A chaperon is looked at once it is `settled`; one whose parent was found is `trusted` for a while. What follows pods
    is `followed` up seldom, since it is listed for it.
    """

    period_seconds: float = 30.0
    settled_seconds: float = 20.0
    trusted_seconds: float = 600.0
    followed_seconds: float = 600.0


class Swept(Protocol):
    """What is to be known of a source's targets."""

    def attach(self, work: Attachment) -> None:
        """Run `work` for every target that can be used."""

    async def claim(self, name: str) -> Claim:
        """Tell whether what bears the source's name in a target is surely its own."""


@dataclass(slots=True)
class _Sighting:
    """A chaperon in a target: since when it is seen, and until when its parent is taken to be there."""

    since: float
    trusted_until: float = 0.0


@dataclass(slots=True)
class _Ground:
    """One target, its chaperons of this source, and when it is due to be asked for what follows them."""

    member: Member
    chaperons: Cache
    followed_due: float
    seen: dict[str, _Sighting] = field(default_factory=dict)


class Sweeper:
    """Deletes what is left of a source in its targets."""

    def __init__(
        self, source_name: str, source_client: Client, roster: Swept, *, terms: SweepTerms | None = None
    ) -> None:
        """Attaches itself to the roster, which must not run yet."""
        self._terms = terms or SweepTerms()
        self._source_name = source_name
        self._source = source_client
        self._runtime = source_client.runtime
        self._roster = roster
        self._labels = f"{MANAGED_LABEL}=true,{PARENT_CLUSTER}={source_name}"
        self._doubts: dict[str, str] = {}
        roster.attach(self._serve)

    async def run(self) -> None:
        """Sweep every now and then until cancelled, each target by itself."""
        await asyncio.Event().wait()

    async def _serve(self, member: Member | PullMember) -> None:
        if isinstance(member, PullMember):
            return
        chaperons = Cache(
            member.client, POD_CHAPERONS, namespace=member.namespace, labels=self._labels, metadata_only=True
        )
        ground = _Ground(member, chaperons, self._runtime.monotonic() + 2 * self._terms.period_seconds)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(chaperons.run())
            while True:
                await self._runtime.sleep(self._terms.period_seconds * self._runtime.uniform(0.8, 1.0))
                await self._sweep(ground)

    async def _sweep(self, ground: _Ground) -> None:
        try:
            await self._check(ground, POD_CHAPERONS, PODS, self._suspects(ground))
            if self._runtime.monotonic() >= ground.followed_due:
                ground.followed_due = self._runtime.monotonic() + self._terms.followed_seconds
                for kind in FOLLOWED:
                    await self._check(ground, kind, kind, await self._followed(ground.member, kind))
        except (ApiError, Unreachable, TimeoutError) as error:
            self._doubt(ground.member.name, str(error))

    def _suspects(self, ground: _Ground) -> list[Obj]:
        """Return the chaperons to look at; none where the view of them is not complete and fresh."""
        if not (ground.chaperons.synced and ground.chaperons.connected):
            return []
        now, everyone = self._runtime.monotonic(), list(ground.chaperons.objects())
        ground.seen = {uid_of(obj): ground.seen.get(uid_of(obj), _Sighting(now)) for obj in everyone}
        settled = [obj for obj in everyone if now - ground.seen[uid_of(obj)].since >= self._terms.settled_seconds]
        return [obj for obj in settled if now >= ground.seen[uid_of(obj)].trusted_until]

    async def _followed(self, member: Member, kind: Resource) -> list[Obj]:
        """Return what a target has of a kind that follows pods; a kind that is not ours to see there has nothing."""
        try:
            return await _heads(member.client, kind, member.namespace, self._labels)
        except (Forbidden, NotFound):
            return []

    async def _check(self, ground: _Ground, kind: Resource, parent_kind: Resource, found: Sequence[Obj]) -> None:
        """Delete those objects that were found whose parents are not in the source."""
        suspects = [obj for obj in found if labels_of(obj).get(PARENT_UID) and not is_deleting(obj)]
        parents = await self._living(parent_kind, {_parent(obj).namespace for obj in suspects})
        for obj in suspects:
            if labels_of(obj)[PARENT_UID] in parents:
                if sighting := ground.seen.get(uid_of(obj)):
                    sighting.trusted_until = self._runtime.monotonic() + self._terms.trusted_seconds
            elif await self._is_orphan(parent_kind, obj) and await self._is_ours(ground.member.name):
                await self._delete(ground.member, kind, obj)

    async def _living(self, kind: Resource, namespaces: Iterable[str]) -> set[str]:
        """Return the uids of everything of a kind in some namespaces of the source, of complete lists."""
        lists = [await _heads(self._source, kind, namespace) for namespace in sorted(namespaces)]
        return {uid_of(obj) for found in lists for obj in found}

    async def _is_orphan(self, kind: Resource, obj: Obj) -> bool:
        parent = _parent(obj)
        found = await self._source.find(kind, parent.name, parent.namespace)
        return found is None or uid_of(found) != labels_of(obj)[PARENT_UID]

    async def _is_ours(self, target: str) -> bool:
        claim = await self._roster.claim(target)
        if claim.ours:
            self._doubts.pop(target, None)
        else:
            self._doubt(target, claim.why)
        return bool(claim.ours)

    def _doubt(self, target: str, why: str) -> None:
        """Say once why leftovers stay."""
        if self._doubts.get(target) != why:
            self._doubts[target] = why
            log.warning("Left leftovers alone", source=self._source_name, target=target, why=why)

    async def _delete(self, member: Member, kind: Resource, obj: Obj) -> None:
        key = key_of(obj)
        try:
            await member.client.delete(kind, key.name, key.namespace, uid=uid_of(obj), version=version_of(obj))
        except (NotFound, Conflict):
            # It went by itself, or changed: then it is looked at again.
            return
        log.info("Deleted a leftover", target=member.name, kind=kind.kind, key=str(key), parent=str(_parent(obj)))


async def _heads(client: Client, kind: Resource, namespace: str, labels: str = "") -> list[Obj]:
    """List the metadata of everything of a kind, completely."""
    found: list[Obj] = []
    async with aclosing(client.pages(kind, namespace, labels=labels, metadata_only=True)) as pages:
        async for page in pages:
            found += [orjson.loads(memoryview(item)) for item in page.items or ()]
    return found


def _parent(obj: Obj) -> Key:
    """Return where the parent of an object is in the source: what it says of that, else where it is itself."""
    annotations, key = annotations_of(obj), key_of(obj)
    return Key(annotations.get(PARENT_NAMESPACE) or key.namespace, annotations.get(PARENT_NAME) or key.name)
