"""The Release controller: looks at an application whenever anything that its releases depend on has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from hanse.api.clusters import Cluster, parse_cluster, words_of
from hanse.api.shipper.kinds import APP_LABEL, CLUSTERS_ANNOTATION
from hanse.clusters.access import Access
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.controller import Controller
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, labels_of, namespace_of
from hanse.rollouts.blocks.standing import concerns
from hanse.rollouts.execution import ClusterFacts
from hanse.rollouts.execution.asking import Asker, HttpAsker
from hanse.rollouts.releases.choosing import region_of
from hanse.rollouts.releases.questions import Questions
from hanse.rollouts.releases.rendering import Renderings
from hanse.rollouts.releases.scheduling import Scheduler
from hanse.rollouts.releases.status import SCHEDULED
from hanse.rollouts.releases.tending import Tending
from hanse.rollouts.releases.writing import ReleaseWriter
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.sources import Sources


class ReleaseController:
    """Schedules releases and carries out their strategies, one application at a time."""

    def __init__(
        self,
        host: Client,
        shelf: Shelf,
        registry: Registry,
        sources: Sources,
        access: Access | None = None,
        asker: Asker | None = None,
    ) -> None:
        """Without `access` every author may use every cluster; without an `asker` checks are asked over HTTP."""
        self._shelf = shelf
        self._registry = registry
        self._access = access
        self._own_asker: HttpAsker | None = None
        if asker is None:
            asker = self._own_asker = HttpAsker(host.runtime)
        # What was made of the registry's list; another list is another object.
        self._facts: tuple[list[Cluster], dict[str, ClusterFacts]] = ([], {})
        self._members: dict[str, Client] = {}
        self._controller: Controller[Key] = Controller("releases", self._reconcile, host.runtime)
        self._renderings = Renderings(host, sources, self._members.get, self._release_is_due)
        self._questions = Questions(asker, self._release_is_due)
        self._tending = Tending(
            shelf,
            Scheduler(host, shelf, self._clusters, self._renderings, access),
            ReleaseWriter(host, shelf),
            self._questions,
            host.runtime,
        )
        registry.attach(self._serve)

    async def run(self) -> None:
        """Work until cancelled; somebody else runs the shelf and the registry."""
        await self._shelf.wait_synced()
        await self._registry.wait_synced()
        self._listen()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._renderings.run())
                tasks.create_task(self._questions.run())
                tasks.create_task(self._controller.run())
        finally:
            if self._own_asker is not None:
                await self._own_asker.close()

    async def wait_idle(self) -> None:
        """Wait until nothing is left to look at now."""
        await self._controller.queue.wait_idle()

    async def _reconcile(self, application: Key) -> float | None:
        return await self._tending.tend(application, self._cluster_facts())

    def _listen(self) -> None:
        self._shelf.subscribe_releases(self._application_is_due)
        self._shelf.releases.subscribe(self._release_changed)
        self._shelf.applications.subscribe(self._application_changed)
        self._shelf.pieces.subscribe(self._piece_changed)
        self._shelf.blocks.subscribe(self._block_changed)
        self._registry.subscribe(self._cluster_changed)
        if self._access is not None:
            self._access.subscribe(lambda: self._look_at(filter(_is_waiting, self._shelf.releases.objects())))

    def _application_is_due(self, application: Key) -> None:
        if application.name:
            self._controller.queue.add(application)

    def _look_at(self, releases: Iterable[Obj]) -> None:
        for release in releases:
            self._application_is_due(_application_of(release))

    def _release_is_due(self, key: Key) -> None:
        release = self._shelf.releases.get(key)
        if release is not None:
            self._look_at((release,))

    def _release_changed(self, change: Change) -> None:
        if change.new_bytes is None:
            self._renderings.forget(change.key)
            self._questions.forget(change.key)
            self._tending.forget(change.key)

    def _application_changed(self, change: Change) -> None:
        """Look again where the application goes, or where somebody else may be its author now."""
        old, new = change.old, change.new
        if old is None or new is None or is_deleting(new) or annotations_of(old) != annotations_of(new):
            self._application_is_due(change.key)

    def _piece_changed(self, change: Change) -> None:
        """Look again when a Piece is gone, whose name a new release may wait for."""
        if change.new_bytes is None and change.old is not None:
            self._look_at((change.old,))

    def _block_changed(self, change: Change) -> None:
        released = self._shelf.releases.objects()
        self._look_at(release for release in released if concerns(change.key, namespace_of(release)))

    def _cluster_changed(self, cluster: str) -> None:
        """Look again at what waits for a cluster, and at what is in this one."""
        self._look_at(
            release
            for release in self._shelf.releases.objects()
            if _is_waiting(release) or cluster in words_of(annotations_of(release).get(CLUSTERS_ANNOTATION, ""))
        )

    def _clusters(self) -> list[Cluster]:
        return [parse_cluster(obj) for obj in self._registry.cache.objects()]

    def _cluster_facts(self) -> dict[str, ClusterFacts]:
        clusters = self._registry.clusters()
        if self._facts[0] is not clusters:
            self._facts = (clusters, {cluster.name: _facts(cluster) for cluster in clusters})
        return self._facts[1]

    async def _serve(self, member: Member | PullMember) -> None:
        """Know the way to a member while it is there."""
        if isinstance(member, PullMember):
            await asyncio.Event().wait()
            return
        self._members[member.name] = member.client
        try:
            await asyncio.Event().wait()
        finally:
            self._members.pop(member.name, None)


def _application_of(obj: Obj) -> Key:
    return Key(namespace_of(obj), labels_of(obj).get(APP_LABEL, ""))


def _is_waiting(release: Obj) -> bool:
    """Tell whether a release has no clusters yet, or is held until others do without it."""
    return is_deleting(release) or not is_true(dig(release, "status", "conditions"), SCHEDULED)


def _facts(cluster: Cluster) -> ClusterFacts:
    return ClusterFacts(region_of(cluster), cluster.labels, cluster.refusal)
