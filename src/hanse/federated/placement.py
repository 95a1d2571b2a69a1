"""Which clusters a federated object may have: what it names or selects, within what its namespace has.

A list of clusters counts before a selector, be it empty; without both there is no cluster; a selector without
conditions takes every one. Whether clusters are ready plays no part here, and names that nobody knows are told by the
decision.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.kubefed.objects import FieldProblem, WrittenPlacement
from hanse.kube.selectors import LabelSelector
from hanse.placement.ask import ClusterTerm
from hanse.placement.cluster_selector import ClusterSelector
from hanse.propagation.intent import Problem

COMPUTE_PLACEMENT_FAILED = "ComputePlacementFailed"
NAMESPACE_NOT_FEDERATED = "NamespaceNotFederated"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the namespace of a federated object has: its placement, None where it is not federated.

    Where that is `required`, an object in a namespace without a placement goes nowhere. `name` is what people know the
    namespace's placement by.
    """

    placement: WrittenPlacement | FieldProblem | None = None
    required: bool = False
    name: str = ""

    @property
    def missing(self) -> bool:
        """Whether nothing in the namespace may be anywhere, since nobody federated it."""
        return self.required and self.placement is None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The clusters of an object.

    `nowhere` says that somebody wrote down that it be in no cluster, whichever there are. `told` is what is to be known
    of how the clusters were found.
    """

    term: ClusterTerm
    nowhere: bool = False
    told: tuple[str, ...] = ()


def resolve(written: WrittenPlacement | FieldProblem, around: Surroundings) -> Resolved | Problem:
    """Find the clusters of an object, or say why that cannot be done."""
    own = _term(written, "")
    if isinstance(own, Problem):
        return own
    if around.missing:
        told = f"{around.name} is missing, and without it nothing in the namespace is federated; create it"
        return Resolved(ClusterTerm(names=()), nowhere=True, told=(told,))
    if around.placement is None:
        return Resolved(own, own.names == ())
    whole = _term(around.placement, f"{around.name}: ")
    if isinstance(whole, Problem):
        return whole
    nowhere = own.names == () or whole.names == ()
    return Resolved(intersection(own, whole), nowhere, (f"{around.name} limits the clusters",))


def by_selector_only(written: WrittenPlacement | FieldProblem, around: Surroundings) -> Resolved | Problem:
    """Find the clusters that the selectors alone choose, where lists of clusters do not count."""
    if isinstance(around.placement, WrittenPlacement):
        around = Surroundings(_less_clusters(around.placement), around.required, around.name)
    return resolve(_less_clusters(written) if isinstance(written, WrittenPlacement) else written, around)


def anywhere(around: Surroundings) -> Resolved | Problem:
    """Find the clusters of what may be wherever its namespace is."""
    return resolve(WrittenPlacement(selector={}), around)


def intersection(left: ClusterTerm, right: ClusterTerm) -> ClusterTerm:
    """Return the clusters that belong to both terms."""
    if left.names is None or right.names is None:
        names = left.names if right.names is None else right.names
    else:
        names = tuple(name for name in left.names if name in right.names)
    requirements = dict.fromkeys((*left.selector.requirements, *right.selector.requirements))
    return ClusterTerm(ClusterSelector(tuple(requirements)), names, (*left.excluded, *right.excluded))


def _term(written: WrittenPlacement | FieldProblem, whose: str) -> ClusterTerm | Problem:
    if isinstance(written, FieldProblem):
        return Problem(COMPUTE_PLACEMENT_FAILED, f"{whose}{written}")
    if written.clusters is not None:
        return ClusterTerm(names=tuple(dict.fromkeys(written.clusters)))
    if written.selector is None:
        return ClusterTerm(names=())
    try:
        return ClusterTerm(ClusterSelector(LabelSelector.from_object(written.selector).requirements))
    except ValueError as error:
        return Problem(COMPUTE_PLACEMENT_FAILED, f"{whose}the cluster selector cannot be read: {error}")


def _less_clusters(written: WrittenPlacement) -> WrittenPlacement:
    return WrittenPlacement(selector=written.selector)
