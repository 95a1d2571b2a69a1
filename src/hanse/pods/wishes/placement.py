"""From a pod to the placement of one replica over its targets."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import timestamp
from hanse.placement.amounts import requests_of, times
from hanse.placement.ask import Aggregated, ClusterTerm, Demand, Failover, Placement, Spread
from hanse.pods.placeholder.reading import answers_of, target_of
from hanse.pods.wishes.constraints import WishError, constraints_of
from hanse.pods.wishes.node_terms import node_demands, node_likings, node_name
from hanse.pods.wishes.tolerations import EVERYTHING, tolerations_of
from hanse.propagation.intent import Problem

# All of it in one cluster; where nothing else decides, in the one with most room.
ONE_CLUSTER = (Spread("cluster", max_groups=1),)
# A target that is lost is passed over by what is placed anew. What it may hold already runs at most once, so that goes
# nowhere else; and what has a place does not leave it for a better one.
STAYING = Failover(after_seconds=0.0, fail_back=False)


def placement_of(pod: Obj, placeholder: Obj, targets: Sequence[str], *, together: int = 1) -> Placement | Problem:
    """Return where a pod, as it was submitted, may go, or why that cannot be said.

    `targets` are those it may go to by all else. `together` says for how many such pods the target must have room; 0
    leaves that to the target.
    """
    if bound := target_of(placeholder):
        return fixed_to(bound)
    if node := dig(placeholder, "spec", "nodeName"):
        return _bound(node, targets)
    try:
        return wished(pod, targets, together=together, refusals=_answers(placeholder, targets))
    except WishError as error:
        return Problem("InvalidConstraints", str(error))


def wished(
    pod: Obj, targets: Sequence[str], *, together: int = 1, refusals: Sequence[tuple[str, str]] = ()
) -> Placement:
    """Return the placement that the constraints of a pod ask for; raises WishError.

    `refusals` are further targets, each with the sentence that says why it is left out.
    """
    constraints = constraints_of(pod)
    known = tuple(dict.fromkeys((*targets, *(name for name, _ in refusals))))
    out = (Demand("", against=tuple(refusals), lasting=True),) if refusals else ()
    return Placement(
        clusters=ClusterTerm(names=known),
        tolerations=tolerations_of(constraints),
        spread=ONE_CLUSTER,
        division=Aggregated(),
        requests=times(requests_of(pod), together) if together else None,
        failover=STAYING,
        at_most_once=True,
        demands=(*out, *node_demands(constraints, known)),
        likings=node_likings(constraints, known),
        untold_room=True,
    )


def fixed_to(target: str) -> Placement:
    """Return the placement of what stays in one target whatever becomes of that."""
    return Placement(
        clusters=ClusterTerm(names=(target,)),
        tolerations=(EVERYTHING,),
        spread=ONE_CLUSTER,
        division=Aggregated(),
        failover=STAYING,
        at_most_once=True,
    )


def _answers(placeholder: Obj, targets: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what the targets said that could not run the pod and are left out for now."""
    return tuple(
        (name, f"it said at {timestamp(answer.at)} that it cannot run the pod: {answer.why}")
        for name, answer in answers_of(placeholder).items()
        if name not in targets
    )


def _bound(node: str, targets: Sequence[str]) -> Placement | Problem:
    target = next((name for name in targets if node_name(name) == node), None)
    if target is None:
        return Problem("TargetGone", f"it is bound to node {node}, which stands for none of its targets")
    return fixed_to(target)
