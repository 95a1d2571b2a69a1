"""What the doors of everything that goes with pods have in common: copies are called like their sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hanse.api.admiralty.keys import IS_DELEGATE
from hanse.api.names import FINALIZER
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, namespace_of
from hanse.placement.ask import Failover
from hanse.placement.candidate import Toleration
from hanse.pods.targeting import Targets
from hanse.propagation.aggregation import told_beside
from hanse.propagation.dependencies import NO_NEEDS, Needs
from hanse.propagation.door import NO_KIN, Farewell, Kin, Mark
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.propagation.records import Record
from hanse.propagation.report import Report

# What goes with pods has no say in where those go: a cordon or a taint of a target is between it and the pods, and a
# target that has just come back may run some.
TOLERATES_ALL = (Toleration(operator="Exists"),)
AT_ONCE = Failover(fail_back_after=0.0)


def at_home(targets: Targets) -> frozenset[str]:
    """Return the targets that are the source itself, which has everything already."""
    return frozenset(name for each in targets.targets() if targets.is_self(name := str(each)))


def elsewhere(targets: Targets, namespace: str) -> tuple[str, ...]:
    """Return the targets in other clusters to which pods of a namespace may go, in order."""
    own = at_home(targets)
    names = [str(each) for each in targets.targets() if each.serves(namespace)]
    return tuple(sorted(name for name in names if name not in own))


class CompanionDoor:
    """Copies objects of a source under their own names; nothing is written into them but what is amiss."""

    def __init__(self, source: str, targets: Targets) -> None:
        """`source` is the cluster's name, "" for the federation itself."""
        self._source = source
        self._targets = targets

    @property
    def any_kind(self) -> bool:
        """Say that targets hold one kind of objects of each kind of sources."""
        return False

    def target(self, source: Ref) -> Ref:
        """Return what targets hold of an object: the same."""
        return source

    def supersedes(self, _source: Obj) -> bool:
        """Say that no object speaks for another one's copies."""
        return False

    def kin(self, _source: Obj) -> Kin:
        """Say that no object is of another's family."""
        return NO_KIN

    def farewell(self, source: Obj) -> Farewell:
        """Say that copies go with their source, and where they can be."""
        return Farewell(within=frozenset(elsewhere(self._targets, namespace_of(source))))

    def lets_go(self, _source: Obj) -> bool:
        """Say that nobody asks for copies to be left behind."""
        return False

    def shared(self, intent: Intent, _kin: Sequence[Obj]) -> Intent:
        """Say that nobody speaks for another."""
        return intent

    def needs(self, _source: Obj) -> Needs:
        """Say that what goes with pods brings nothing itself."""
        return NO_NEEDS

    def parting(self, source: Obj, _waiting_for: Collection[str]) -> Obj:
        """Say that the engine's own finalizer is all that holds a source."""
        return source

    def reported(self, source: Obj, report: Report, _now: str) -> Obj:
        """Say on an object what stands in the way of a copy."""
        concerned = [row for row in report.rows if row.wanted is not None and row.trouble]
        return told_beside(source, f"{concerned[0].cluster}: {concerned[0].trouble}" if concerned else "")

    def records(self, _source: Obj, _report: Report, _now: str) -> Iterable[Record]:
        """Say that nothing is to be written down beside the object."""
        return ()

    def refused(self, source: Obj, problem: Problem, _now: str) -> Obj:
        """Say on an object why there are no copies of it."""
        return told_beside(source, problem.message)

    def marks(self, _source: Obj, _report: Report | None) -> Mark | None:
        """Say that no other object has to know of this one."""
        return None


def is_copy(obj: Obj) -> bool:
    """Tell whether an object is itself the copy of one in another source: it is followed no further."""
    return IS_DELEGATE in annotations_of(obj)


def is_federated(obj: Obj) -> bool:
    """Tell whether an object of the federation is carried into clusters by another door, under the same name."""
    return FINALIZER in finalizers_of(obj)
