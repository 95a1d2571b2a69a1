"""What a node must be and have: not cordoned, no untolerated taints, the right labels, free ports, room."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.simulator.scheduling.amounts import PODS
from hanse.simulator.scheduling.board import Board, HostPort, NodeOffer
from hanse.simulator.scheduling.refusals import Filter, Hopeless, Refusal
from hanse.simulator.scheduling.wishes import Wish, tolerated

_UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPS_OUT = ("NoSchedule", "NoExecute")
_ANY_ADDRESS = "0.0.0.0"

_CORDONED = Refusal(("node(s) were unschedulable",))
_TAINTED = Refusal(("node(s) had untolerated taint(s)",))
_NOT_SELECTED = Refusal(("node(s) didn't match Pod's node affinity/selector",))
_NOT_NAMED = Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
_PORT_TAKEN = Refusal(("node(s) didn't have free ports for the requested pod ports",), preemption_may_help=True)


def node_filters(wish: Wish, board: Board) -> Iterator[Filter]:
    """Yield the filters that look at nodes alone; raises Hopeless where a pod names two nodes at once."""
    named = _named_nodes(wish)
    if named is not None:
        yield lambda node: None if node.name in named else _NOT_NAMED
    yield lambda node: _CORDONED if keeps_out_by_cordon(wish, node) else None
    yield lambda node: _TAINTED if keeps_out_by_taint(wish, node) else None
    if wish.node_selector or wish.node_terms is not None:
        yield lambda node: None if selects_node(wish, node) else _NOT_SELECTED
    if wish.ports:
        yield lambda node: _PORT_TAKEN if _clashes(wish, board, node) else None
    yield lambda node: _shortage(wish, board, node)


def _named_nodes(wish: Wish) -> frozenset[str] | None:
    """Return the only nodes that a pod's required terms name; None where a term leaves it open."""
    found: frozenset[str] = frozenset()
    for term in wish.node_terms or ():
        names = term.names()
        if names is None:
            return None
        found |= names
    if wish.node_terms and not found:
        raise Hopeless("pod affinity terms conflict")
    return found or None


def keeps_out_by_cordon(wish: Wish, node: NodeOffer) -> bool:
    """Tell whether a node is cordoned and the pod minds."""
    return node.cordoned and not tolerated(_UNSCHEDULABLE_TAINT, wish.tolerations)


def keeps_out_by_taint(wish: Wish, node: NodeOffer) -> bool:
    """Tell whether a node has a taint that keeps the pod out."""
    return any(taint.get("effect") in _KEEPS_OUT and not tolerated(taint, wish.tolerations) for taint in node.taints)


def selects_node(wish: Wish, node: NodeOffer) -> bool:
    """Tell whether a node has the labels that a pod requires."""
    if any(node.labels.get(key) != value for key, value in wish.node_selector.items()):
        return False
    terms = wish.node_terms
    return terms is None or any(term.matches(node.name, node.labels) for term in terms)


def _clashes(wish: Wish, board: Board, node: NodeOffer) -> bool:
    return any(_same_port(port, taken) for pod in board.on(node.name) for taken in pod.ports for port in wish.ports)


def _same_port(one: HostPort, other: HostPort) -> bool:
    return one[1:] == other[1:] and (one[0] == other[0] or _ANY_ADDRESS in (one[0], other[0]))


def _shortage(wish: Wish, board: Board, node: NodeOffer) -> Refusal | None:
    """Refuse for everything of which a node has too little; pushing pods out helps with what it has at all."""
    taken, capacity = board.taken(node.name), node.capacity
    short = [name for name, asked in wish.requests.items() if asked > capacity.get(name, 0) - taken.get(name, 0)]
    reasons = [f"Insufficient {name}" for name in short if wish.requests[name] > 0]
    if taken.get(PODS, 0) + 1 > capacity.get(PODS, 0):
        reasons.insert(0, "Too many pods")
    if not reasons:
        return None
    beyond = any(wish.requests[name] > capacity.get(name, 0) for name in short if wish.requests[name] > 0)
    return Refusal(tuple(reasons), preemption_may_help=not beyond)
