"""How pods stand to each other: near to some, apart from others, spread evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hanse.simulator.scheduling.board import Board, NodeOffer, PlacedPod
from hanse.simulator.scheduling.node_filters import keeps_out_by_taint, selects_node
from hanse.simulator.scheduling.refusals import Filter, Refusal
from hanse.simulator.scheduling.terms import PodTerm, Spread
from hanse.simulator.scheduling.wishes import Wish

# A topology key and a value of it: one zone, one host.
Domain = tuple[str, str]

_UNEVEN = Refusal(("node(s) didn't match pod topology spread constraints",), preemption_may_help=True)
_NO_DOMAIN = Refusal(("node(s) didn't match pod topology spread constraints (missing required label)",))
_NOT_NEAR = Refusal(("node(s) didn't match pod affinity rules",))
_NOT_APART = Refusal(("node(s) didn't match pod anti-affinity rules",), preemption_may_help=True)
_UNWANTED = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), preemption_may_help=True)


def pod_filters(wish: Wish, board: Board) -> Iterator[Filter]:
    """Yield the filters that look at the pods on all nodes; what they count is counted once."""
    hard = [spread for spread in wish.spreads if spread.hard]
    if hard:
        yield _spread_filter(wish, board, hard)
    if wish.near:
        yield _near_filter(wish, board)
    if wish.apart:
        occupied = _domains(board, wish.apart, board.pods())
        yield lambda node: _NOT_APART if _stands_in(node, occupied) else None
    forbidden = {
        (term.topology_key, node.labels[term.topology_key])
        for pod, node in board.keeping_away()
        for term in pod.keeps_away
        if term.topology_key in node.labels and term.selects(wish, board.namespaces)
    }
    if forbidden:
        yield lambda node: _UNWANTED if _stands_in(node, forbidden) else None


def _domains(board: Board, terms: Iterable[PodTerm], pods: Iterable[tuple[PlacedPod, NodeOffer]]) -> set[Domain]:
    """Return where the pods are that any of the terms selects."""
    terms = tuple(terms)
    return {
        (term.topology_key, node.labels[term.topology_key])
        for pod, node in pods
        for term in terms
        if term.topology_key in node.labels and term.selects(pod, board.namespaces)
    }


def _stands_in(node: NodeOffer, domains: set[Domain]) -> bool:
    return any(node.labels.get(key) == value for key, value in domains)


def _near_filter(wish: Wish, board: Board) -> Filter:
    """Require a pod that all terms select in each term's domain, or let the first of a group begin."""
    wanted = [
        (pod, node) for pod, node in board.pods() if all(term.selects(pod, board.namespaces) for term in wish.near)
    ]
    occupied = _domains(board, wish.near, wanted)
    begins = not occupied and all(term.selects(wish, board.namespaces) for term in wish.near)

    def look(node: NodeOffer) -> Refusal | None:
        keys = [term.topology_key for term in wish.near]
        if any(key not in node.labels for key in keys):
            return _NOT_NEAR
        return None if begins or all((key, node.labels[key]) in occupied for key in keys) else _NOT_NEAR

    return look


def _spread_filter(wish: Wish, board: Board, spreads: list[Spread]) -> Filter:
    counted = [(spread, domain_counts(wish, board, spread, spreads)) for spread in spreads]
    limits = [(spread, counts, _least(spread, counts) + spread.max_skew) for spread, counts in counted]

    def look(node: NodeOffer) -> Refusal | None:
        for spread, counts, most in limits:
            domain = node.labels.get(spread.topology_key)
            if domain is None:
                return _NO_DOMAIN
            if counts.get(domain, 0) + spread.selector.matches(wish.labels) > most:
                return _UNEVEN
        return None

    return look


def _least(spread: Spread, counts: Counter[str]) -> int:
    return 0 if len(counts) < spread.min_domains else min(counts.values(), default=0)


def domain_counts(wish: Wish, board: Board, spread: Spread, together: Iterable[Spread]) -> Counter[str]:
    """Count the selected pods in each domain of a constraint; nodes that the pod cannot use make no domain."""
    keys = [other.topology_key for other in together]
    counts: Counter[str] = Counter()
    for node in board.nodes.values():
        if any(key not in node.labels for key in keys) or not _counts_for(wish, spread, node):
            continue
        here = (pod for pod in board.on(node.name) if pod.namespace == wish.namespace and not pod.deleting)
        counts[node.labels[spread.topology_key]] += sum(spread.selector.matches(pod.labels) for pod in here)
    return counts


def _counts_for(wish: Wish, spread: Spread, node: NodeOffer) -> bool:
    if spread.honors_affinity and not selects_node(wish, node):
        return False
    return not (spread.honors_taints and keeps_out_by_taint(wish, node))
