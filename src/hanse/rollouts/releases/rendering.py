"""A release's manifests and the kinds that they are of: rendered once, asked for again with growing pauses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, dig, key_of, name_of, namespace_of, uid_of
from hanse.kube.resources import CRDS, Resource, gvk
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable
from hanse.rollouts.assembly import Assembled, assemble
from hanse.rollouts.environment import Environment
from hanse.rollouts.releases.errands import Errands
from hanse.rollouts.sources import Sources
from hanse.rollouts.sources.problem import CHART_ERROR, SourceProblem

# Shipper's word for whatever a Kubernetes API did not answer or refused.
FAILED_CALL = "FailedAPICall"
_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a release is made of, and the kind of each manifest."""

    assembled: Assembled
    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An errand for one release as it was then."""

    release: Key
    mark: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Refusal:
    problem: SourceProblem
    count: int
    until: float


class Renderings:
    """Renders releases beside the reconcilers, each as often as it takes and no oftener."""

    def __init__(
        self,
        host: Client,
        sources: Sources,
        member: Callable[[str], Client | None],
        back: Callable[[Key], None],
    ) -> None:
        """`member` gives the client of a cluster that is connected; `back` hears the release of a finished attempt."""
        self._host = host
        self._sources = sources
        self._member = member
        self._refusals: dict[_Attempt, _Refusal] = {}
        self._errands: Errands[_Attempt, Rendered | SourceProblem] = Errands(lambda attempt: back(attempt.release))

    async def run(self) -> None:
        """Render until cancelled."""
        await self._errands.run()

    def take(
        self, release: Obj, environment: Environment, clusters: Sequence[str]
    ) -> tuple[Rendered | SourceProblem | None, float | None]:
        """Return what a release is made of or why that cannot be had, None while it is not known yet.

        The second is after how many seconds it is worth asking again, where it is. What can never succeed is tried
        again only after somebody has changed the release.
        """
        attempt, now = _Attempt(key_of(release), _mark(release)), self._runtime.monotonic()
        outcome = self._errands.fetch(attempt)
        if isinstance(outcome, SourceProblem):
            self._errands.forget(attempt)
            self._refusals[attempt] = self._refused(attempt, outcome, now)
        elif outcome is not None:
            return outcome, None
        refusal = self._refusals.get(attempt)
        if refusal is not None and now < refusal.until:
            return refusal.problem, None if refusal.until == float("inf") else refusal.until - now
        self._errands.send(attempt, lambda: self._render(release, environment, clusters))
        return (None if refusal is None else refusal.problem), None

    def forget(self, release: Key) -> None:
        """Let go what is remembered of a release."""
        for attempt in [each for each in (*self._refusals, *self._errands.known()) if each.release == release]:
            self._refusals.pop(attempt, None)
            self._errands.forget(attempt)

    @property
    def _runtime(self) -> Runtime:
        return self._host.runtime

    def _refused(self, attempt: _Attempt, problem: SourceProblem, now: float) -> _Refusal:
        before = self._refusals.get(attempt)
        count = 1 if before is None else before.count + 1
        if not problem.transient:
            return _Refusal(problem, count, float("inf"))
        pause = min(_FIRST_PAUSE_SECONDS * 2.0 ** min(count - 1, 10), _LAST_PAUSE_SECONDS)
        return _Refusal(problem, count, now + pause * self._runtime.uniform(0.8, 1.0))

    async def _render(
        self, release: Obj, environment: Environment, clusters: Sequence[str]
    ) -> Rendered | SourceProblem:
        try:
            manifests = await self._sources.render(
                environment, release=name_of(release), namespace=namespace_of(release)
            )
            assembled = assemble(manifests, release=release, renames=environment.files is not None)
            return Rendered(assembled, await self._kinds(assembled.pieces, clusters))
        except SourceProblem as problem:
            return problem
        except (ApiError, Unreachable) as error:
            return SourceProblem(FAILED_CALL, f"the federation could not be asked: {error}", transient=True)

    async def _kinds(self, manifests: Sequence[Obj], clusters: Sequence[str]) -> tuple[Resource, ...]:
        """Find the kinds of manifests: as the host serves them, as they define them, as a chosen cluster does."""
        defined = {kind: resource for obj in manifests for kind, resource in defined_by(obj)}
        found: dict[tuple[str, str, str], Resource] = {}
        for obj in manifests:
            kind = gvk(obj)
            if kind not in found:
                found[kind] = defined.get(kind) or await self._served(obj, clusters)
        return tuple(found[gvk(obj)] for obj in manifests)

    async def _served(self, obj: Obj, clusters: Sequence[str]) -> Resource:
        silent: list[str] = []
        for place in ("", *clusters):
            client = self._member(place) if place else self._host
            try:
                if client is not None:
                    return await client.resource_of(obj)
            except NotFound:
                continue
            except (ApiError, Unreachable):
                pass
            silent.append(place or "the federation")
        told = f"{obj.get('kind')} of {obj.get('apiVersion')}"
        if silent:
            raise SourceProblem(
                CHART_ERROR,
                f"whether {told} is served is not known: {', '.join(silent)} cannot be asked",
                transient=True,
            )
        raise SourceProblem(
            CHART_ERROR,
            f"{told} is served by none of {', '.join(clusters)}; install its CustomResourceDefinition there, or with "
            "the application",
            transient=True,
        )


def _mark(release: Obj) -> tuple[object, ...]:
    """Return what of a release must change before it is worth rendering again what cannot be rendered."""
    return uid_of(release), tuple(sorted(annotations_of(release).items()))


def defined_by(obj: Obj) -> list[tuple[tuple[str, str, str], Resource]]:
    """Return the kinds that a manifest defines; raises SourceProblem where it defines them in no way that is known."""
    if gvk(obj) != (CRDS.group, CRDS.version, CRDS.kind):
        return []
    group, kind, plural = (_word(obj, *path) for path in (("group",), ("names", "kind"), ("names", "plural")))
    namespaced = dig(obj, "spec", "scope") != "Cluster"
    versions = dig(obj, "spec", "versions")
    if not isinstance(versions, list):
        raise _odd(obj, "spec.versions", "a list")
    names = [dig(each, "name") for each in versions]
    if not all(isinstance(name, str) for name in names):
        raise _odd(obj, "spec.versions", "a list of objects with names")
    return [((group, name, kind), Resource(group, name, plural, kind, namespaced=namespaced)) for name in names]


def _word(definition: Obj, *path: str) -> str:
    value = dig(definition, "spec", *path)
    if not isinstance(value, str):
        raise _odd(definition, ".".join(("spec", *path)), "a string")
    return value


def _odd(definition: Obj, field: str, shape: str) -> SourceProblem:
    return SourceProblem(CHART_ERROR, f'CustomResourceDefinition "{name_of(definition)}": {field} must be {shape}')
