"""Jobs that others manage into intents of one Job in one target, and its status back.

A Job goes to a target that has room for all the pods it runs at a time, or to none. Before it has begun there it may
still be moved: it is taken from one target before it is given to another. Once it has begun it stays: retries are its
target's, and if it is not there any more it has failed, for a second one might do again what the first has done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hanse.api.admiralty.keys import GENERATION, JOB_MANAGER, TARGET
from hanse.api.namespaces import is_system, stays_sentence
from hanse.api.plain_kinds import JOBS
from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, annotations_of, dig, finalizers_of, key_of, namespace_of, uid_of
from hanse.kube.resources import Resource
from hanse.placement.ask import Placement
from hanse.pods.baggage.needs import needs_of
from hanse.pods.jobs.status import mirrored, vanished, waiting
from hanse.pods.jobs.template import copy_of, parallelism_of, pod_of
from hanse.pods.targeting import Targets
from hanse.pods.wishes.company import minds_company
from hanse.pods.wishes.constraints import WishError
from hanse.pods.wishes.placement import fixed_to, wished
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.door import NO_KIN, Affected, Farewell, Inputs, Kin, Mark
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Record
from hanse.propagation.removal import Removal
from hanse.propagation.report import Report, Row
from hanse.propagation.scale import Scale
from hanse.propagation.statuses.jobs import job_finished


def _once(_job: Obj) -> int:
    return 1


# A Job is one by being there, however many pods it runs: as long as it is, they may run.
JOB_SCALE = Scale(replicas=(), ready=_once, available=_once, running=_once)
# It goes when its pods are gone, so that nothing of it runs any more when it is given to another target.
_WITH_ITS_PODS = Removal("Foreground")
_ITSELF = "it is this cluster itself, in which the Job that runs would be the very same object"

_ALONE = Problem(
    "InvalidConstraints",
    "a whole Job is placed at once and minds no other pods: leave podAffinity, podAntiAffinity and "
    "topologySpreadConstraints out of what is meant for clusters",
)


class JobDoor:
    """Carries the Jobs of one source that name Hanse as their manager into its targets."""

    def __init__(self, source: str, targets: Targets) -> None:
        """`source` is the cluster's name, "" for the federation itself."""
        self._source = source
        self._targets = targets

    @property
    def name(self) -> str:
        """What people call the door of whole Jobs."""
        return "jobs"

    @property
    def resources(self) -> Sequence[Resource]:
        """Jobs alone."""
        return (JOBS,)

    @property
    def any_kind(self) -> bool:
        """Say that targets hold Jobs of Jobs."""
        return False

    @property
    def inputs(self) -> Sequence[Resource]:
        """Say that nothing beside a Job says what it means."""
        return ()

    def informed(self, inputs: Inputs) -> JobDoor:
        """Return the door as it is."""
        return self

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Say that no other object speaks of Jobs."""
        return Affected()

    def target(self, source: Ref) -> Ref:
        """Return what targets hold of a Job: one of the same name."""
        return source

    def supersedes(self, source: Obj) -> bool:
        """Say that whoever came first keeps a Job in a target."""
        return False

    def kin(self, source: Obj) -> Kin:
        """Say that a Job has no family."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell:
        """Say that the Job in the target goes with its source, and waits for its pods; an orphan stays."""
        return Farewell("orphan" in finalizers_of(source), _WITH_ITS_PODS)

    def admits(self, source: Obj) -> bool:
        """Tell whether a Job is to be run whole by Hanse."""
        return bool(dig(source, "spec", "managedBy") == JOB_MANAGER)

    def lets_go(self, source: Obj) -> bool:
        """Say that a Job cannot get another manager."""
        return False

    def translate(self, source: Obj) -> Intent | Problem:
        """Say in which target the Job shall run, or why that cannot be said."""
        if is_system(namespace_of(source)):
            return Problem("SystemNamespace", stays_sentence("Jobs", namespace_of(source)))
        placement = self._placement(source)
        if isinstance(placement, Problem):
            return placement
        return Intent(
            resource=JOBS,
            key=key_of(source),
            source_uid=uid_of(source),
            template=copy_of(self._source, source),
            placement=placement,
            replicas=1,
            scale=JOB_SCALE,
            created=dig(source, "metadata", "creationTimestamp", default=""),
            settled=job_finished(source) or _is_up_to_date(source),
            removal=_WITH_ITS_PODS,
        )

    def shared(self, intent: Intent, kin: Sequence[Obj]) -> Intent:
        """Return the intent given: a Job in a target is of one Job."""
        return intent

    def needs(self, source: Obj) -> Needs:
        """Say what the pods of a Job name and what of it follows them."""
        return needs_of(source) if self.admits(source) else NO_NEEDS

    def parting(self, source: Obj, waiting_for: Collection[str]) -> Obj:
        """Return the Job as it is: only the engine holds it."""
        return source

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Return the Job with the status that its target shows, and from when it has begun, with where that is."""
        where = annotations_of(source).get(TARGET, "")
        if not where:
            row = next((row for row in report.rows if row.live and row.observed is not None), None)
            if row is None or row.observed is None:
                why = report.trouble or report.missing or "it is on its way to a target"
                return {**source, "status": waiting(source, "Waiting", why, now)}
            return _shown(source, row, row.observed, now)
        row = next((row for row in report.rows if row.cluster == where), None)
        if row is None:
            return {**source, "status": vanished(source, f"its target {where} is not there any more", now)}
        if not row.live:
            # What was last seen there counts: it may well run.
            return source
        if row.observed is None:
            return {**source, "status": vanished(source, f"it was deleted in its target {where}", now)}
        return _shown(source, row, row.observed, now)

    def records(self, source: Obj, report: Report, now: str) -> Iterable[Record]:
        """Say that a Job's own status tells everything."""
        return ()

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the Job why it cannot be placed."""
        return {**source, "status": waiting(source, problem.reason, problem.message, now)}

    def marks(self, source: Obj, report: Report | None) -> Mark | None:
        """Say that no other object has to know of this one."""
        return None

    def _placement(self, source: Obj) -> Placement | Problem:
        if where := annotations_of(source).get(TARGET):
            return fixed_to(where)
        pod = pod_of(source)
        names = [str(each) for each in self._targets.targets() if each.serves(namespace_of(source))]
        own = [name for name in names if self._targets.is_self(name)]
        try:
            placement = wished(
                pod,
                [name for name in names if name not in own],
                together=parallelism_of(source),
                refusals=[(name, _ITSELF) for name in own],
            )
        except WishError as error:
            return Problem("InvalidConstraints", str(error))
        return _ALONE if minds_company(pod) else placement


def _is_up_to_date(source: Obj) -> bool:
    """Tell whether a Job that has begun is in its target as it is here: then it is only looked at there."""
    annotations = annotations_of(source)
    generation = str(dig(source, "metadata", "generation", default=0))
    return TARGET in annotations and annotations.get(GENERATION) == generation


def _shown(source: Obj, row: Row, copy: Obj, now: str) -> Obj:
    annotations = dict(annotations_of(source))
    if dig(copy, "status", "startTime"):
        annotations.setdefault(TARGET, row.cluster)
    current = row.settled if row.wanted is not None else _is_up_to_date(source)
    if TARGET in annotations and current:
        annotations[GENERATION] = str(dig(source, "metadata", "generation", default=0))
    result = {**source, "status": mirrored(source, copy, row.cluster, now, current=current)}
    if annotations != annotations_of(source):
        result["metadata"] = {**source["metadata"], "annotations": annotations}
    return result
