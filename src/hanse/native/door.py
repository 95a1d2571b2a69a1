"""Plain objects into intents, and reports into their own status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hanse.api.federated_kinds import FEDERATED_KINDS, FederatedKind, parse_federated_kind
from hanse.api.names import (
    ADOPT_ANNOTATION,
    DELETION_ANNOTATION,
    DRIFT_ANNOTATION,
    FEDERATE_ANNOTATION,
)
from hanse.api.plain_kinds import AUTOSCALERS, INGRESSES
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.cache import Change
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, key_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, Resource, gvk
from hanse.native.asking import asked_for, brings_along
from hanse.native.dividing import divisible, preferences_of, runs_pods
from hanse.native.ingresses import address_mark
from hanse.native.kinds import DEFAULT_KINDS, is_federated, why_never
from hanse.native.scaling import scaling_mark
from hanse.native.template import template_of
from hanse.placement.policy import Policies, read_policies
from hanse.propagation.aggregation import aggregate, tells_by_condition, told_beside
from hanse.propagation.dependencies import NAMEABLE, NO_NEEDS, Needs, named_by
from hanse.propagation.door import NO_KIN, Affected, Farewell, Inputs, Kin, Mark
from hanse.propagation.intent import Follows, Intent, Problem, Ref
from hanse.propagation.one_address import one_address
from hanse.propagation.records import Record
from hanse.propagation.report import Report
from hanse.propagation.statuses.custom import taught_status
from hanse.propagation.teaching import Lesson, Teaching, by_kind, learn
from hanse.propagation.wellness import ailment_of

_POLICIES = (PLACEMENT_POLICIES, CLUSTER_PLACEMENT_POLICIES)


class NativeDoor:
    """Federates plain objects of the listed kinds, and of those that FederatedKinds enable."""

    def __init__(
        self,
        kinds: tuple[Resource, ...] = DEFAULT_KINDS,
        policies: Policies | None = None,
        taught: Sequence[FederatedKind] = (),
        teachings: Sequence[Teaching] = (),
    ) -> None:
        """`teachings` are what is known of kinds in Python, beside what FederatedKinds say."""
        self._kinds = kinds
        self._teachings = teachings
        self._policies = policies or Policies()
        self._taught = _lessons(kinds, taught, teachings)
        self._resources = tuple(dict.fromkeys((*kinds, *self._taught)))
        self._left = frozenset(each.resource for each in self._taught.values() if not each.kind.enabled)
        self._by_gvk = {(kind.group, kind.version, kind.kind): kind for kind in self._resources}

    @property
    def name(self) -> str:
        """What people call the door of plain objects."""
        return "native"

    @property
    def resources(self) -> Sequence[Resource]:
        """The federated kinds, and those that are being let go."""
        return self._resources

    @property
    def any_kind(self) -> bool:
        """Say that members hold one kind of objects of each kind of sources."""
        return False

    @property
    def inputs(self) -> Sequence[Resource]:
        """The kinds of policies, and the kind that says what is federated."""
        return (*_POLICIES, FEDERATED_KINDS)

    def informed(self, inputs: Inputs) -> NativeDoor:
        """Return the door that follows these policies and federates these kinds."""
        return NativeDoor(self._kinds, *read_inputs(inputs), self._teachings)

    def affected(self, _resource: Resource, _change: Change) -> Affected:
        """Say that a policy or a kind may speak of any object."""
        return Affected(everything=True)

    def target(self, source: Ref) -> Ref:
        """Return what members hold of a plain object: the same."""
        return source

    def supersedes(self, _source: Obj) -> bool:
        """Say that a plain object speaks for nothing that something else spoke for before."""
        return False

    def kin(self, _source: Obj) -> Kin:
        """Say that no object is of another's family."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell:
        """Say whether the copies stay when the object is deleted."""
        orphan = annotations_of(source).get(DELETION_ANNOTATION) == "orphan" or "orphan" in finalizers_of(source)
        return Farewell(orphan)

    def admits(self, source: Obj) -> bool:
        """Tell whether an object goes into the members."""
        resource = self._by_gvk.get(gvk(source))
        return resource is not None and resource not in self._left and is_federated(source, self._resources)

    def lets_go(self, source: Obj) -> bool:
        """Tell whether the object's kind was disabled, or the object itself taken out."""
        left = self._by_gvk.get(gvk(source)) in self._left
        return left or annotations_of(source).get(FEDERATE_ANNOTATION) == "false"

    def translate(self, source: Obj) -> Intent | Problem:
        """Read the object and its annotations."""
        resource = self._by_gvk[gvk(source)]
        taught = self._taught.get(resource)
        divided = divisible(resource, source, taught)
        if isinstance(divided, Problem):
            return divided
        asked = asked_for(
            source, self._policies, preferences=preferences_of(resource), runs=runs_pods(resource, taught)
        )
        if isinstance(asked, Problem):
            return asked
        annotations = annotations_of(source)
        return Intent(
            resource=resource,
            key=key_of(source),
            source_uid=uid_of(source),
            template=template_of(source, taught.kind.omit if taught is not None else ()),
            placement=asked.placement,
            replicas=divided.replicas,
            overrides=asked.overrides,
            sources=asked.sources,
            orphan=annotations.get(DELETION_ANNOTATION) == "orphan" or "orphan" in finalizers_of(source),
            scale=divided.scale,
            parts=divided.parts,
            retain=taught.kind.retain if taught is not None else (),
            adopt=annotations.get(ADOPT_ANNOTATION) == "true",
            mend=annotations.get(DRIFT_ANNOTATION) != "report",
            health=taught.health if taught is not None else ailment_of,
            follows=asked.follows if resource in NAMEABLE else Follows.NEVER,
            one_address=one_address(source) if resource == INGRESSES else None,
            created=source["metadata"].get("creationTimestamp") or "",
        )

    def shared(self, intent: Intent, _kin: Sequence[Obj]) -> Intent:
        """Say that nobody speaks for another."""
        return intent

    def needs(self, source: Obj) -> Needs:
        """Say what the pods of a workload name, and whether that follows the workload into the clusters."""
        named = named_by(source)
        if not named or not self.admits(source):
            return NO_NEEDS
        return Needs(named, brings_along(source, self._policies))

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Return the object given: nothing in it depends on who has yet to let it go."""
        return source

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Put a report into the object's own status, or into the annotation of a kind that has no conditions."""
        resource = self._by_gvk[gvk(source)]
        result = dict(source)
        taught = self._taught.get(resource)
        status, trouble = aggregate(resource, source, report, now), report.trouble
        if status is None and taught is not None and (made := taught_status(taught.status, source, report, now)):
            status, trouble = made.status, trouble or made.trouble
        if status is not None:
            result["status"] = status
        return result if tells_by_condition(resource) else told_beside(result, trouble)

    def records(self, _source: Obj, _report: Report, _now: str) -> Iterable[Record]:
        """Say that a plain object's own status tells everything."""
        return ()

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the object why it cannot be placed."""
        if not tells_by_condition(self._by_gvk[gvk(source)]):
            return told_beside(source, problem.message)
        status = dict(source.get("status") or {})
        told = condition("Propagated", False, problem.reason, problem.message)
        before = status.get("conditions") or []
        merged = merge_conditions(before, [told], now)
        if self._by_gvk[gvk(source)] == DEPLOYMENTS:
            for entry in merged:
                entry.setdefault("lastUpdateTime", now)
        status["conditions"] = before if _same(before, merged) else merged
        return {**source, "status": status}

    def marks(self, source: Obj, report: Report | None) -> Mark | None:
        """Say who has to know of this one: the workload that an autoscaler scales, an Ingress of its own address."""
        resource = self._by_gvk.get(gvk(source))
        if resource == INGRESSES:
            return address_mark(source, report)
        return scaling_mark(source, report) if resource == AUTOSCALERS else None


def read_inputs(inputs: Inputs) -> tuple[Policies, Sequence[FederatedKind]]:
    """Read what says of plain objects where they go, and what of their kinds."""
    policies = read_policies(obj for resource in _POLICIES for obj in inputs[resource].values())
    taught = [parse_federated_kind(obj) for obj in inputs.get(FEDERATED_KINDS, {}).values()]
    return policies, sorted(taught, key=lambda each: each.resource.group_resource)


def _lessons(
    kinds: Sequence[Resource], taught: Sequence[FederatedKind], teachings: Sequence[Teaching]
) -> dict[Resource, Lesson]:
    """Return what is known of kinds beyond what everybody knows."""
    in_python = by_kind(teachings)
    known = {kind: FederatedKind(kind) for kind in kinds if kind.group_resource in in_python}
    known |= {each.resource: each for each in taught if not why_never(each.resource)}
    return {resource: learn(kind, in_python.get(resource.group_resource)) for resource, kind in known.items()}


def _same(before: list[Obj], after: list[Obj]) -> bool:
    def bare(entries: list[Obj]) -> list[Obj]:
        return [{name: value for name, value in entry.items() if name != "lastUpdateTime"} for entry in entries]

    return bare(before) == bare(after)
