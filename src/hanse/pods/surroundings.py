"""One pod among the others: its wishes, its gang and its company put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.api.admiralty.keys import GANG
from hanse.api.clusters import Cluster
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig
from hanse.placement.ask import Placement
from hanse.pods.gangs import gathered, ordered
from hanse.pods.wishes.company import company_terms, in_company
from hanse.pods.wishes.neighbours import Neighbour
from hanse.pods.wishes.placement import placement_of
from hanse.propagation.intent import Problem


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around a pod: the placeholders of its source, the targets as placement knows them, and its owner.

    The `owner` is its controller as the source has it, None where that is not known.
    """

    neighbours: Sequence[Neighbour] = ()
    clusters: Sequence[Cluster] = ()
    owner: Obj | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a pod may go; `nowhere` says that even what it has anywhere goes, as its gang leaves."""

    placement: Placement
    nowhere: bool = False


def wish_of(pod: Obj, placeholder: Obj, targets: Sequence[str], around: Surroundings) -> Wish | Problem:
    """Return where a pod, as it was submitted, may go among the others, or what it waits for.

    `targets` are those it may go to by all else.
    """
    bound = Neighbour(placeholder).bound
    together, nowhere = 1, False
    gang = None if bound else gathered(placeholder, around.neighbours, around.owner)
    if gang is not None:
        orders = ordered(placeholder, gang, targets)
        if isinstance(orders, Problem):
            return orders
        targets, together, nowhere = orders.targets, orders.together, orders.withdrawn
    placement = placement_of(pod, placeholder, targets, together=together)
    if isinstance(placement, Problem) or bound:
        return placement if isinstance(placement, Problem) else Wish(placement)
    terms = company_terms(pod, placeholder, around.neighbours, around.clusters)
    return terms if isinstance(terms, Problem) else Wish(in_company(placement, terms), nowhere)


def is_concerned(placeholder: Obj, other: Obj) -> bool:
    """Tell whether a placeholder has to be looked at again when another one came, went or found a place.

    That is so for those of its gang, and until it is bound for one that minds company, or is refused by the other's.
    """
    if Neighbour(placeholder).bound:
        return False
    owner, others = controller_of(placeholder), controller_of(other)
    kin = owner is not None and others is not None and owner["uid"] == others["uid"]
    if kin and GANG in annotations_of(placeholder):
        return True
    affinity = dig(placeholder, "spec", "affinity") or {}
    minds = affinity.get("podAffinity") or affinity.get("podAntiAffinity")
    return bool(
        minds
        or dig(placeholder, "spec", "topologySpreadConstraints")
        or dig(other, "spec", "affinity", "podAntiAffinity")
    )
