"""Which of the nodes that can take a pod is the best one.

One ranking, most telling first: taints that ask to stay away, what the pod prefers, how evenly it spreads, how many
siblings are there, how full the node is, its name. So the same cluster gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.simulator.scheduling.board import Board, NodeOffer
from hanse.simulator.scheduling.pod_filters import domain_counts
from hanse.simulator.scheduling.wishes import Wish, tolerated


def best_node(wish: Wish, board: Board, fitting: Sequence[NodeOffer]) -> NodeOffer:
    """Return the best of the nodes that can take a pod."""
    pulls = _pulls(wish, board)
    spreads = [(spread.topology_key, domain_counts(wish, board, spread, wish.spreads)) for spread in wish.spreads]

    def rank(node: NodeOffer) -> tuple[object, ...]:
        crowd = sum(counts.get(node.labels.get(key, ""), 0) for key, counts in spreads)
        liked = _node_preference(wish, node)
        liked += sum(weight for (key, value), weight in pulls.items() if node.labels.get(key) == value)
        return (
            _unwelcoming(wish, node),
            -liked,
            crowd,
            board.siblings(node.name, wish.owner_uid),
            _fullness(wish, board, node),
            node.name,
        )

    return min(fitting, key=rank)


def _unwelcoming(wish: Wish, node: NodeOffer) -> int:
    return sum(
        taint.get("effect") == "PreferNoSchedule" and not tolerated(taint, wish.tolerations) for taint in node.taints
    )


def _node_preference(wish: Wish, node: NodeOffer) -> int:
    return sum(term.weight for term in wish.preferred_nodes if term.matches(node.name, node.labels))


def _pulls(wish: Wish, board: Board) -> dict[tuple[str, str], int]:
    """Return how much the pods of each domain draw the pod towards it, or push it away."""
    found: dict[tuple[str, str], int] = {}
    if not wish.preferred_pods:
        return found
    for pod, node in board.pods():
        for term in wish.preferred_pods:
            if term.topology_key in node.labels and term.selects(pod, board.namespaces):
                domain = (term.topology_key, node.labels[term.topology_key])
                found[domain] = found.get(domain, 0) + term.weight
    return found


def _fullness(wish: Wish, board: Board, node: NodeOffer) -> tuple[float, int]:
    taken = board.taken(node.name)
    share = sum(
        (taken.get(name, 0) + wish.requests.get(name, 0)) / max(1, node.capacity.get(name, 0))
        for name in ("cpu", "memory")
    )
    return share, taken.get("pods", 0)
