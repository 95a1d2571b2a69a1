"""Placeholders into intents of one pod: a PodChaperon in the best target, and never in two at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hanse.api.admiralty.keys import GATE, MANIFEST, NO_PREFIX, PREFIX
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.admiralty.names import target_named
from hanse.api.namespaces import is_system, stays_sentence
from hanse.api.plain_kinds import JOBS
from hanse.kube.cache import Change
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import (
    Obj,
    dig,
    finalizers_of,
    key_of,
    namespace_of,
    uid_of,
)
from hanse.kube.resources import PODS, Resource
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.placement.ask import ClusterTerm, Override
from hanse.pods.admission.placeholders import restored_pod
from hanse.pods.baggage.needs import needs_of
from hanse.pods.neighbourhood import Neighbourhood
from hanse.pods.placeholder.reading import answers_of, is_placeholder, submitted, target_of
from hanse.pods.placeholder.template import chaperon_key, chaperon_of, home_labels
from hanse.pods.surroundings import Surroundings, wish_of
from hanse.pods.targeting import SourceRoster
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.door import NO_KIN, Affected, Farewell, Inputs, Kin, Mark
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Record
from hanse.propagation.report import Report
from hanse.propagation.scale import Scale
from hanse.propagation.wellness import Ailment


def _once(_chaperon: Obj) -> int:
    return 1


# By how much the clock of a source may be wrong. When a target was lost is told by the federation's.
_CLOCK_SECONDS = 600.0

# A chaperon is one pod by being there: as long as it is, its pod may run.
NOBODY = Surroundings()
CHAPERON_SCALE = Scale(replicas=(), ready=_once, available=_once, running=_once)


class PodDoor:
    """Carries the pods of one source into its targets."""

    def __init__(self, source: str, targets: SourceRoster, neighbourhood: Neighbourhood | None = None) -> None:
        """`source` is the cluster's name, "" for the federation itself; in its `neighbourhood` all placeholders are."""
        self._source = source
        self._targets = targets
        self._neighbourhood = neighbourhood or Neighbourhood(source)

    @property
    def name(self) -> str:
        """What people call the door of pods."""
        return "pods"

    @property
    def resources(self) -> Sequence[Resource]:
        """Pods alone."""
        return (PODS,)

    @property
    def any_kind(self) -> bool:
        """Say that targets hold chaperons of pods, and nothing else."""
        return False

    @property
    def inputs(self) -> Sequence[Resource]:
        """The other placeholders: pods may ask to be near them, or far from them. And the Jobs that own some."""
        return (PODS, JOBS)

    def informed(self, inputs: Inputs) -> PodDoor:
        """Return the door, whose neighbourhood knows these placeholders."""
        self._neighbourhood.inform(inputs)
        return self

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Return the placeholders that the change of another one speaks of."""
        if resource != PODS:
            return Affected()
        return Affected(tuple(Ref(PODS, key) for key in self._neighbourhood.changed(change)))

    def target(self, source: Ref) -> Ref:
        """Return the chaperon of a placeholder."""
        if source.resource != PODS:
            return source
        return Ref(POD_CHAPERONS, chaperon_key(self._source, source.key))

    def supersedes(self, _source: Obj) -> bool:
        """Say that whoever came first keeps a chaperon."""
        return False

    def kin(self, _source: Obj) -> Kin:
        """Say that a placeholder has no family."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say that a pod goes with its placeholder; one with a node is in that target and in no other."""
        bound = target_of(source)
        return Farewell(within=frozenset({bound}) if bound else None)

    def admits(self, source: Obj) -> bool:
        """Tell whether a pod is a placeholder."""
        return is_placeholder(source)

    def lets_go(self, source: Obj) -> bool:
        """Say that nothing is left behind in targets."""
        return False

    def translate(self, source: Obj) -> Intent | Problem:
        """Say in which target the pod shall run, or why that cannot be said."""
        if is_system(namespace_of(source)):
            return Problem("SystemNamespace", stays_sentence("pods", namespace_of(source)))
        pod = _pod(source)
        if pod is None:
            return Problem("NoPod", f"metadata.annotations[{MANIFEST}] holds no pod; delete it and create it again")
        if waiting := _gates(source):
            return Problem("Gated", f"it waits for its scheduling gate {waiting[0]} to be removed", expected=True)
        try:
            template, overrides = chaperon_of(self._source, source, pod), self._at_home(source, pod)
        except ValueError as error:
            return Problem("BadPattern", f"metadata.annotations[{NO_PREFIX}]: {error}")
        wish = wish_of(pod, source, self._eligible(source), self._surroundings(source))
        if isinstance(wish, Problem):
            return wish
        return Intent(
            resource=POD_CHAPERONS,
            key=chaperon_key(self._source, key_of(source)),
            source_uid=uid_of(source),
            template=template,
            placement=wish.placement,
            nowhere=wish.nowhere,
            replicas=1,
            overrides=overrides,
            scale=CHAPERON_SCALE,
            health=_well,
            created=self._created(source),
            settled=bool(target_of(source)),
        )

    def shared(self, intent: Intent, kin: Sequence[Obj]) -> Intent:
        """Return the intent given: a chaperon is of one placeholder."""
        return intent

    def needs(self, source: Obj) -> Needs:
        """Say what the pod names and what of it follows it."""
        pod = _pod(source) if self.admits(source) else None
        return needs_of(pod) if pod is not None else NO_NEEDS

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Let go of the targets that have confirmed that the pod is gone there."""
        kept = {target_named(name).finalizer for name in waiting_for}
        held = finalizers_of(source)
        left = [each for each in held if not each.startswith(PREFIX) or each in kept]
        return source if left == held else {**source, "metadata": {**source["metadata"], "finalizers": left}}

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Say on a placeholder without a place why it has none; what has one shows what its pod shows."""
        if target_of(source) or not report.trouble:
            return source
        return _waiting(source, report.trouble, now)

    def records(self, source: Obj, report: Report, now: str) -> Iterable[Record]:
        """Say that nothing is to be written down beside the placeholder."""
        return ()

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say on a placeholder why it cannot be placed."""
        return source if target_of(source) else _waiting(source, problem.message, now)

    def marks(self, source: Obj, report: Report | None) -> Mark | None:
        """Say that no other object has to know of this one."""
        return None

    def _created(self, source: Obj) -> str:
        """Return since when a placeholder surely is: a target that was lost before that was never asked to run it."""
        told = dig(source, "metadata", "creationTimestamp", default="")
        return timestamp(parse_timestamp(told) - _CLOCK_SECONDS) if told and self._source else told

    def _eligible(self, source: Obj) -> list[str]:
        """Return the targets that a pod may go to now: the one it is bound to, or those that stay and may take it."""
        if bound := target_of(source):
            return [bound]
        answers = answers_of(source)
        serving = [str(each) for each in self._targets.targets() if each.serves(namespace_of(source))]
        return [name for name in serving if name not in answers and not self._targets.is_leaving(name)]

    def _surroundings(self, source: Obj) -> Surroundings:
        neighbours = self._neighbourhood.around(source)
        if not neighbours:
            return NOBODY
        return Surroundings(neighbours, self._targets.clusters(), self._neighbourhood.owner(source))

    def _at_home(self, source: Obj, pod: Obj) -> tuple[Override, ...]:
        own = tuple(str(each) for each in self._targets.targets() if self._targets.is_self(str(each)))
        labels = home_labels(self._source, source, pod)
        patch = ({"op": "replace", "path": "/metadata/labels", "value": labels},)
        return (Override(ClusterTerm(names=own), patch),) if own else ()


def _pod(source: Obj) -> Obj | None:
    """Return the pod that a placeholder stands for: what others changed in what it shows is part of it."""
    first = submitted(source)
    return restored_pod(source, first) if first is not None else None


def _gates(source: Obj) -> list[str]:
    gates = [gate.get("name", "") for gate in dig(source, "spec", "schedulingGates") or ()]
    return [name for name in gates if name != GATE]


def _waiting(source: Obj, why: str, now: str) -> Obj:
    status = source.get("status") or {}
    told = condition("PodScheduled", status=False, reason="SchedulingGated", message=why)
    conditions = merge_conditions(status.get("conditions"), [told], now)
    if conditions == status.get("conditions"):
        return source
    return {**source, "status": {**status, "conditions": conditions}}


def _well(_chaperon: Obj) -> Ailment | None:
    return None
