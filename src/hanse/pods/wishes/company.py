"""What a pod demands and likes of its target because of the pods that are there: affinity, anti-affinity, spreads.

It is judged as Kubernetes' scheduler judges it among nodes, with three differences. A preferred term counts once for a
target, however many pods it speaks of there. Preferred terms of other pods are not looked at, their required
anti-affinity is. And a target that is lost is no place over which a spread has to be even.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from hanse.api.clusters import Cluster
from hanse.api.clusters import Taint as ClusterTaint
from hanse.kube.manifest import Obj, key_of, namespace_of
from hanse.placement.ask import ClusterTerm, Demand, Liking, Placement
from hanse.placement.candidate import Effect, Taint, Toleration
from hanse.pods.wishes.constraints import (
    Constraints,
    WishError,
    constraints_in,
    constraints_of,
    entries,
    known_fields,
    mapping,
    number,
    text,
)
from hanse.pods.wishes.neighbours import (
    Neighbour,
    Places,
    PodTerm,
    match_label_keys,
    pod_term,
    selector_of,
    topology_key,
)
from hanse.pods.wishes.node_terms import node_demands
from hanse.pods.wishes.tolerations import tolerations_of
from hanse.propagation.intent import Problem

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SPREAD_FIELDS = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)
# So much more than the fullest place the emptiest is liked, as the scheduler scores within 100.
_EVENNESS = 100


@dataclass(frozen=True, slots=True)
class CompanyTerms:
    """What the pods that are there say of targets."""

    demands: tuple[Demand, ...] = ()
    likings: tuple[Liking, ...] = ()


def minds_company(pod: Obj) -> bool:
    """Tell whether where others are says anything of where a pod, as it was submitted, goes by its own word.

    What it does not mind may still mind it: a neighbour's required anti-affinity speaks for itself.
    """
    try:
        constraints = constraints_of(pod)
    except WishError:
        return True
    affinity = constraints.affinity
    return bool(constraints.spread or affinity.get("podAffinity") or affinity.get("podAntiAffinity"))


def in_company(placement: Placement, terms: CompanyTerms) -> Placement:
    """Return the placement of a pod among these others."""
    return replace(
        placement,
        demands=(*placement.demands, *terms.demands),
        likings=(*placement.likings, *terms.likings),
    )


def company_terms(
    pod: Obj, placeholder: Obj, neighbours: Iterable[Neighbour], clusters: Sequence[Cluster]
) -> CompanyTerms | Problem:
    """Return what a pod, as it was submitted, asks of its target because of others, or why that cannot be kept."""
    others = [each for each in neighbours if each.target and not each.ended and not each.is_one(placeholder)]
    look = _Look(placeholder, others, Places({cluster.name: cluster for cluster in clusters}))
    try:
        constraints = constraints_of(pod)
        demands = [*_affinity(look, constraints), *_anti_affinity(look, constraints), *_unwelcome(look)]
        spread = list(_spreads(look, constraints))
        likings = [*_likings(look, constraints)]
    except WishError as error:
        return Problem("InvalidConstraints", str(error))
    demands += [each for each in spread if isinstance(each, Demand)]
    likings += [each for each in spread if isinstance(each, Liking)]
    return CompanyTerms(tuple(demands), tuple(likings))


@dataclass(frozen=True, slots=True)
class _Look:
    """One pod, the others that have a place, and the places."""

    pod: Obj
    others: Sequence[Neighbour]
    places: Places

    @property
    def targets(self) -> list[str]:
        return sorted(self.places.clusters)

    def meant(self, terms: Sequence[PodTerm]) -> list[Neighbour]:
        """Return the others of whom all of these terms speak."""
        return [each for each in self.others if all(term.speaks_of(each.pod) for term in terms)]

    def places_of(self, others: Iterable[Neighbour], key: str) -> dict[str, Neighbour]:
        """Return the places in which some of these are, each with the first of them."""
        found: dict[str, Neighbour] = {}
        for each in sorted(others, key=lambda other: key_of(other.pod)):
            place = self.places.place(each.target, key)
            if place is not None:
                found.setdefault(place, each)
        return found

    def title(self, other: Neighbour) -> str:
        """Name another pod to the owner of this one, who may see no namespace but their own."""
        if namespace_of(other.pod) != namespace_of(self.pod):
            return "a pod of another namespace"
        return f"pod {key_of(other.pod)}"


def _terms(look: _Look, constraints: Constraints, kind: str) -> list[tuple[str, PodTerm]]:
    where = f"{constraints.path('affinity')}.{kind}"
    affinity = mapping(constraints.affinity, kind, constraints.path("affinity."))
    known_fields(affinity, where, _REQUIRED, _PREFERRED)
    return [(path, pod_term(entry, path, look.pod)) for path, entry in entries(affinity, _REQUIRED, f"{where}.")]


def _affinity(look: _Look, constraints: Constraints) -> Iterator[Demand]:
    found = _terms(look, constraints, "podAffinity")
    terms = [term for _, term in found]
    meant = look.meant(terms)
    # The first of pods that want to be together has nobody to join.
    first = not meant and all(term.speaks_of(look.pod) for term in terms)
    for path, term in found:
        there = look.places_of(meant, term.topology_key)
        against = {}
        for target in look.targets:
            place = look.places.place(target, term.topology_key)
            if place is None:
                against[target] = f"it has no label {term.topology_key}"
            elif place not in there and not first:
                against[target] = f"no pod that it asks for is in {term.topology_key} {place}"
        if against:
            yield Demand(path, against=tuple(against.items()))


def _anti_affinity(look: _Look, constraints: Constraints) -> Iterator[Demand]:
    for path, term in _terms(look, constraints, "podAntiAffinity"):
        there = look.places_of(look.meant([term]), term.topology_key)
        against = [
            (target, f"{look.title(there[place])} is in {term.topology_key} {place}")
            for target in look.targets
            if (place := look.places.place(target, term.topology_key)) is not None and place in there
        ]
        if against:
            yield Demand(path, against=tuple(against))


def _unwelcome(look: _Look) -> Iterator[Demand]:
    """Keep away from those that do not want such a pod where they are."""
    for other in look.others:
        if not ((other.pod.get("spec") or {}).get("affinity") or {}).get("podAntiAffinity"):
            continue
        theirs = _Look(other.pod, (), look.places)
        try:
            terms = _terms(theirs, constraints_in(other.pod["spec"], ""), "podAntiAffinity")
        except WishError:
            # It cannot be placed itself by what it says; that is told there.
            continue
        for _, term in terms:
            place = look.places.place(other.target, term.topology_key)
            if place is not None and term.speaks_of(look.pod):
                why = f"{look.title(other)} does not want it in {term.topology_key} {place}"
                names = look.places.within(term.topology_key, place)
                yield Demand("podAntiAffinity", against=tuple((name, why) for name in names))


def _likings(look: _Look, constraints: Constraints) -> Iterator[Liking]:
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        where = f"{constraints.path('affinity')}.{kind}."
        affinity = mapping(constraints.affinity, kind, constraints.path("affinity."))
        for path, entry in entries(affinity, _PREFERRED, where):
            known_fields(entry, path, "weight", "podAffinityTerm")
            weight = number(entry, "weight", path, default=1, least=1, most=100)
            term = pod_term(mapping(entry, "podAffinityTerm", f"{path}."), f"{path}.podAffinityTerm", look.pod)
            for place in look.places_of(look.meant([term]), term.topology_key):
                names = look.places.within(term.topology_key, place)
                yield Liking(ClusterTerm(names=tuple(names)), sign * weight)


def _spreads(look: _Look, constraints: Constraints) -> Iterator[Demand | Liking]:
    where = constraints.path("topologySpreadConstraints")
    for index, entry in enumerate(constraints.spread):
        path = f"{where}[{index}]"
        known_fields(entry, path, *_SPREAD_FIELDS)
        match text(entry, "whenUnsatisfiable", path, default="DoNotSchedule"):
            case "DoNotSchedule":
                yield from _even(look, constraints, entry, path)
            case "ScheduleAnyway":
                yield from _rather_even(look, constraints, entry, path)
            case other:
                raise WishError(f"{path}.whenUnsatisfiable must be DoNotSchedule or ScheduleAnyway, not {other}")


def _even(look: _Look, constraints: Constraints, entry: Obj, path: str) -> Iterator[Demand]:
    """Demand that no place gets too many more than the emptiest has."""
    key, counts = topology_key(entry, path), _counted(look, constraints, entry, path)
    skew = number(entry, "maxSkew", path, default=1, least=1)
    least = min(counts.values(), default=0)
    if len(counts) < number(entry, "minDomains", path, default=1, least=1):
        least = 0
    term = _meant(look, entry, path)
    itself = int(term.speaks_of(look.pod))
    against = {}
    for target in look.targets:
        place = look.places.place(target, key)
        if place is None:
            against[target] = f"it has no label {key}"
        elif (more := counts.get(place, 0) + itself - least) > skew:
            have = counts.get(place, 0)
            against[target] = f"{have} are in {key} {place} already, {more - itself} more than elsewhere"
    if against:
        yield Demand(path, against=tuple(against.items()))


def _rather_even(look: _Look, constraints: Constraints, entry: Obj, path: str) -> Iterator[Liking]:
    """Like a place the more, the fewer it has."""
    number(entry, "maxSkew", path, default=1, least=1)
    key, counts = topology_key(entry, path), _counted(look, constraints, entry, path)
    most, least = max(counts.values(), default=0), min(counts.values(), default=0)
    for place, have in counts.items() if most > least else ():
        names = tuple(look.places.within(key, place))
        yield Liking(ClusterTerm(names=names), _EVENNESS * (most - have) // (most - least))


def _meant(look: _Look, entry: Obj, path: str) -> PodTerm:
    selector = selector_of(entry, path, look.pod, match_label_keys(entry, path))
    return PodTerm(topology_key(entry, path), selector, frozenset({namespace_of(look.pod)}))


def _counted(look: _Look, constraints: Constraints, entry: Obj, path: str) -> Counter[str]:
    """Count the pods that are meant in every place that there is to spread over."""
    term = _meant(look, entry, path)
    found: Counter[str] = Counter()
    eligible = set(_eligible(look, constraints, entry, path))
    for target in eligible:
        if (place := look.places.place(target, term.topology_key)) is not None:
            found[place] += 0
    for other in look.meant([term]):
        place = look.places.place(other.target, term.topology_key)
        if other.target in eligible and place is not None and not other.leaving:
            found[place] += 1
    return found


def _eligible(look: _Look, constraints: Constraints, entry: Obj, path: str) -> Iterator[str]:
    """Yield the targets over which a spread goes."""
    affinity = _policy(entry, "nodeAffinityPolicy", path, default="Honor")
    taints = _policy(entry, "nodeTaintsPolicy", path, default="Ignore")
    demands = node_demands(constraints, look.targets) if affinity == "Honor" else ()
    tolerations = tolerations_of(constraints)
    for name, cluster in sorted(look.places.clusters.items()):
        if cluster.refusal or not all(_meets(cluster, demand) for demand in demands):
            continue
        if taints == "Ignore" or all(_is_tolerated(taint, tolerations) for taint in cluster.taints):
            yield name


def _is_tolerated(taint: ClusterTaint, tolerations: Iterable[Toleration]) -> bool:
    if taint.effect == "PreferNoSchedule":
        return True
    named = Taint(taint.key, taint.value, cast(Effect, taint.effect))
    return any(each.covers(named) for each in tolerations)


def _policy(entry: Obj, name: str, path: str, *, default: str) -> str:
    found = text(entry, name, path, default=default)
    if found not in ("Honor", "Ignore"):
        raise WishError(f"{path}.{name} must be Honor or Ignore, not {found}")
    return found


def _meets(cluster: Cluster, demand: Demand) -> bool:
    return any(
        (term.names is None or cluster.name in term.names) and term.selector.unmet(cluster.labels) is None
        for term in demand.terms
    )
