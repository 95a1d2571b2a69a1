"""Giving a release its clusters, its Pieces and its targets, in an order that may be cut off anywhere.

First the choice of clusters is noted on the release; then come the Pieces, the CapacityTarget and the TrafficTarget
with nothing in them, and last the InstallationTarget, from which on the engine carries the Pieces. Whoever finds no
InstallationTarget begins again; whoever finds one never renders again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.api.clusters import Cluster, words_of
from hanse.api.pieces import PIECES, RENDERING_ANNOTATION
from hanse.api.shipper.kinds import (
    APP_LABEL,
    CAPACITY_TARGETS,
    CLUSTERS_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASES,
    ROLLOUT_FINALIZER,
    TRAFFIC_TARGETS,
)
from hanse.clusters.access import Access
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from hanse.kube.manifest import (
    Key,
    Obj,
    annotations_of,
    dig,
    finalizers_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from hanse.kube.resources import Resource
from hanse.rollouts.environment import Environment, EnvironmentProblem, parse_environment
from hanse.rollouts.releases import manifests
from hanse.rollouts.releases.choosing import Unscheduled, choose
from hanse.rollouts.releases.rendering import FAILED_CALL, Rendered, Renderings
from hanse.rollouts.releases.restoring import Held, held_by
from hanse.rollouts.releases.stored import company, find
from hanse.rollouts.shelf import Shelf, generation_of
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem
from hanse.rollouts.weights.shares import other_way

BROKEN_ENVIRONMENT = "BrokenChartSpec"
NOT_OWNED = "NotOwned"
NOT_RENDERED = "NotRendered"
_REFUSED_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Scheduled:
    """How far a release has come: `problem` where it cannot go on, `ready` when it has all its objects.

    Neither means that its manifests are being rendered. `again` is after how many seconds to look once more.
    """

    ready: bool = False
    problem: Unscheduled | None = None
    again: float | None = None


class Scheduler:
    """Brings releases to the point where their strategy can be executed."""

    def __init__(
        self,
        host: Client,
        shelf: Shelf,
        clusters: Callable[[], Sequence[Cluster]],
        renderings: Renderings,
        access: Access | None = None,
    ) -> None:
        """`clusters` are all that are registered, those that are leaving among them."""
        self._host = host
        self._shelf = shelf
        self._clusters = clusters
        self._renderings = renderings
        self._access = access

    async def schedule(self, release: Obj) -> Scheduled:
        """Give a release whatever it still lacks; nothing is written where it lacks nothing."""
        try:
            return await self._schedule(release)
        except EnvironmentProblem as problem:
            return Scheduled(problem=Unscheduled(BROKEN_ENVIRONMENT, str(problem)))
        except _Stopped as stopped:
            return Scheduled(problem=stopped.problem)
        except (Conflict, AlreadyExists):
            # Decided on what is not so any more: looked at again at once.
            raise
        except ApiError as error:
            # Told of this release; what it cannot be given keeps nobody from looking at the others.
            return Scheduled(problem=Unscheduled(FAILED_CALL, str(error)), again=_REFUSED_SECONDS)

    async def _schedule(self, release: Obj) -> Scheduled:
        clusters = _clusters(release)
        installed = self._own(self._shelf.installations, release)
        if installed is not None and clusters:
            await self._note(release, clusters)
            await self._keep(release, installed, sorted(clusters))
            return Scheduled(ready=True)
        environment = parse_environment(release["spec"]["environment"], "spec.environment")
        release = await self._note(release, clusters or await self._choose(release, environment))
        clusters = _clusters(release)
        if installed is not None:
            await self._keep(release, installed, sorted(clusters))
            return Scheduled(ready=True)
        self._own(self._shelf.capacities, release)
        self._own(self._shelf.traffics, release)
        application = Key(namespace_of(release), labels_of(release).get(APP_LABEL, ""))
        if why := other_way(release, self._shelf.releases_of(application)):
            return Scheduled(problem=Unscheduled(CHART_ERROR, why))
        rendered, again = self._renderings.take(release, environment, clusters)
        if isinstance(rendered, SourceProblem):
            return Scheduled(problem=Unscheduled(rendered.reason, str(rendered)), again=again)
        if rendered is None:
            return Scheduled()
        await self._store(release, rendered, sorted(clusters))
        self._renderings.forget(key_of(release))
        return Scheduled(ready=True)

    async def _choose(self, release: Obj, environment: Environment) -> tuple[str, ...]:
        """Choose the clusters of a release."""
        clusters = self._clusters()
        name = labels_of(release).get(APP_LABEL, "")
        chosen = choose(name, environment, clusters, await self._refusals(release, name, clusters))
        if isinstance(chosen, Unscheduled):
            raise _Stopped(chosen)
        return chosen

    async def _note(self, release: Obj, clusters: tuple[str, ...]) -> Obj:
        """Have a release name its clusters, and stay until others can do without it; returns it as it is then."""
        metadata: Obj = {}
        said = annotations_of(release).get(CLUSTERS_ANNOTATION)
        if said is None or words_of(said) != clusters:
            metadata["annotations"] = {CLUSTERS_ANNOTATION: ",".join(clusters)}
        if ROLLOUT_FINALIZER not in finalizers_of(release):
            metadata["finalizers"] = [*finalizers_of(release), ROLLOUT_FINALIZER]
        if not metadata:
            return release
        metadata["resourceVersion"] = version_of(release)
        written = await self._host.patch(RELEASES, name_of(release), {"metadata": metadata}, namespace_of(release))
        self._shelf.releases.remember(written)
        return written

    async def _refusals(self, release: Obj, name: str, clusters: Sequence[Cluster]) -> dict[str, str]:
        """Return the clusters that the author of the application may not use, or that of the release."""
        if self._access is None:
            return {}
        names = [cluster.name for cluster in clusters]
        application = self._shelf.applications.get(Key(namespace_of(release), name))
        if application is None:
            return await self._access.refusals(release, names)
        return await self._access.refusals(application, names, [release])

    def _own(self, cache: Cache, release: Obj) -> Obj | None:
        """Return the target of a release; one that is somebody else's is not taken over."""
        target = cache.get(key_of(release))
        if target is not None and not manifests.belongs(target, release):
            raise _Stopped(_not_owned(cache.resource, release))
        return target

    async def _store(self, release: Obj, rendered: Rendered, clusters: Sequence[str]) -> None:
        """Write what was rendered, what counts last."""
        assembled = rendered.assembled
        pieces = manifests.pieces(release, assembled, rendered.resources)
        await self._store_pieces(release, pieces)
        await self._complete(release, clusters, assembled.replicas, Held())
        installation = manifests.installation(release, clusters, assembled, pieces)
        await self._create(self._shelf.installations, INSTALLATION_TARGETS, installation, release)

    async def _store_pieces(self, release: Obj, wanted: Sequence[Obj]) -> None:
        """Have exactly these Pieces; those of a rendering that was never finished are replaced."""
        known = {name_of(piece): piece for piece in self._shelf.pieces_of(key_of(release))}
        names = {name_of(piece) for piece in wanted}
        for piece in wanted:
            present = known.get(name_of(piece))
            if present is None:
                await self._create(self._shelf.pieces, PIECES, piece, release)
            elif not manifests.belongs(present, release) or is_deleting(present):
                raise _Stopped(_not_owned(PIECES, release, name_of(piece)))
            elif _rendering(present) != _rendering(piece) or labels_of(present) != labels_of(piece):
                metadata = {**present["metadata"], **piece["metadata"]}
                written = await self._host.update(PIECES, {**piece, "metadata": metadata})
                self._shelf.pieces.remember(written)
        for name, piece in known.items():
            if name not in names and manifests.belongs(piece, release) and not is_deleting(piece):
                await self._delete(piece)

    async def _delete(self, piece: Obj) -> None:
        try:
            await self._host.delete(PIECES, name_of(piece), namespace_of(piece), uid=uid_of(piece))
        except NotFound:
            return

    async def _keep(self, release: Obj, installed: Obj, clusters: list[str]) -> None:
        """Hold the targets to the clusters that the release names, which a person may change."""
        if not _rendering(installed):
            raise _Stopped(
                Unscheduled(
                    NOT_RENDERED,
                    f'InstallationTarget "{key_of(release)}" was not made by Hanse; run `hanse migrate shipper`',
                )
            )
        replicas = manifests.replicas_of(installed, self._own(self._shelf.capacities, release))
        if replicas is None:
            text = f'InstallationTarget "{key_of(release)}" does not say how many replicas there are'
            raise _Stopped(Unscheduled(NOT_RENDERED, f"{text}; annotate it with {manifests.REPLICAS_ANNOTATION}"))
        await self._complete(release, clusters, replicas, self._held(release))
        spec: Obj = {}
        if dig(installed, "spec", "clusters", default=[]) != clusters:
            spec["clusters"] = clusters
        if dig(installed, "spec", "canOverride") and is_true(dig(installed, "status", "conditions"), "Ready"):
            spec["canOverride"] = False
        if spec:
            await self._patch(self._shelf.installations, INSTALLATION_TARGETS, installed, spec)

    async def _complete(self, release: Obj, clusters: Sequence[str], replicas: int, held: Held) -> None:
        """Have a CapacityTarget and a TrafficTarget for these clusters; what stays keeps its numbers.

        One that is not there is made with what the release is `held` to have.
        """
        sized = self._own(self._shelf.capacities, release)
        if sized is None:
            made = manifests.capacity(release, clusters, replicas, dict.fromkeys(clusters, held.percent))
            await self._create(self._shelf.capacities, CAPACITY_TARGETS, made, release)
        elif _names(sized) != list(clusters):
            entries = manifests.capacities(clusters, replicas, manifests.numbers(sized, "percent"))
            await self._patch(self._shelf.capacities, CAPACITY_TARGETS, sized, {"clusters": entries})
        led = self._own(self._shelf.traffics, release)
        if led is None:
            made = manifests.traffic(release, clusters, dict.fromkeys(clusters, held.weight))
            await self._create(self._shelf.traffics, TRAFFIC_TARGETS, made, release)
        elif _names(led) != list(clusters):
            entries = manifests.weighted(clusters, manifests.numbers(led, "weight"))
            await self._patch(self._shelf.traffics, TRAFFIC_TARGETS, led, {"clusters": entries})

    def _held(self, release: Obj) -> Held:
        """Return what a committed release has, for a target that somebody has deleted."""
        key = key_of(release)
        if key in self._shelf.capacities and key in self._shelf.traffics:
            return Held()
        application = Key(namespace_of(release), labels_of(release).get(APP_LABEL, ""))
        living = company(self._shelf.releases_of(application), self._shelf.applications.get(application)).living
        after = (each for each in living if (generation_of(each) or 0) > (generation_of(release) or 0))
        newer = [stored for each in after if (stored := find(self._shelf, each)).is_committed]
        return held_by(find(self._shelf, release).view(), [stored.view() for stored in newer])

    async def _create(self, cache: Cache, resource: Resource, obj: Obj, release: Obj) -> None:
        try:
            cache.remember(await self._host.create(resource, obj))
        except AlreadyExists:
            found = await self._host.find(resource, name_of(obj), namespace_of(obj))
            if found is None or not manifests.belongs(found, release) or is_deleting(found):
                raise _Stopped(_not_owned(resource, release, name_of(obj))) from None
            # Ours, written before we died and not seen yet; it is held to what it shall be by the next look.
            cache.remember(found)
            raise

    async def _patch(self, cache: Cache, resource: Resource, obj: Obj, spec: Obj) -> None:
        patch = {"metadata": {"resourceVersion": version_of(obj)}, "spec": spec}
        cache.remember(await self._host.patch(resource, name_of(obj), patch, namespace_of(obj)))


class _Stopped(Exception):
    """A release cannot be scheduled further."""

    def __init__(self, problem: Unscheduled) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _not_owned(resource: Resource, release: Obj, name: str = "") -> Unscheduled:
    found = Key(namespace_of(release), name or name_of(release))
    return Unscheduled(NOT_OWNED, f'{resource.kind} "{found}" does not belong to Release "{key_of(release)}"')


def _clusters(release: Obj) -> tuple[str, ...]:
    return words_of(annotations_of(release).get(CLUSTERS_ANNOTATION, ""))


def _names(target: Obj) -> list[str]:
    return [each["name"] for each in manifests.entries(target)]


def _rendering(obj: Obj) -> str:
    return annotations_of(obj).get(RENDERING_ANNOTATION, "")
