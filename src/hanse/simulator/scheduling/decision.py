"""The scheduler's decision: the best node for a pod, the pods that must make way, or why neither can be.

Filters run in kube-scheduler's order and the first that refuses a node speaks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hanse.simulator.scheduling.board import Board, NodeOffer, PlacedPod
from hanse.simulator.scheduling.node_filters import node_filters
from hanse.simulator.scheduling.pod_filters import pod_filters
from hanse.simulator.scheduling.refusals import Filter, Hopeless, Refusal
from hanse.simulator.scheduling.scoring import best_node
from hanse.simulator.scheduling.volume_filters import Storage, volume_filters
from hanse.simulator.scheduling.wishes import Wish

# What the plugin for dynamic resources says of every pod that it cannot help.
_NO_CLAIMS = "no new claims to deallocate"
_NO_USE = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pod goes to a node."""

    node: str


@dataclass(frozen=True, slots=True)
class Refused:
    """No node takes the pod; once the victims have left the nominated one, it may."""

    message: str
    nominated: str = ""
    victims: tuple[PlacedPod, ...] = ()


def decide(wish: Wish, board: Board, storage: Storage) -> Chosen | Refused:
    """Choose a node for a pod."""
    if not board.nodes:
        return Refused("no nodes available to schedule pods")
    count = len(board.nodes)
    try:
        filters = _filters(wish, board, storage)
    except Hopeless as problem:
        return Refused(f"0/{count} nodes are available: {problem}. not found")
    refusals = {node.name: _refusal(filters, node) for node in board.nodes.values()}
    fitting = [board.nodes[name] for name, refusal in refusals.items() if refusal is None]
    if fitting:
        return Chosen(best_node(wish, board, fitting).name)
    refused = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    told = f"0/{count} nodes are available: {_histogram(refused.values())}."
    return _make_way(wish, board, storage, refused, told)


def _filters(wish: Wish, board: Board, storage: Storage) -> list[Filter]:
    return [*node_filters(wish, board), *volume_filters(wish, board, storage), *pod_filters(wish, board)]


def _refusal(filters: Iterable[Filter], node: NodeOffer) -> Refusal | None:
    return next((refusal for look in filters if (refusal := look(node)) is not None), None)


def _histogram(refusals: Iterable[Refusal]) -> str:
    counts = Counter(reason for refusal in refusals for reason in refusal.reasons)
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def _make_way(wish: Wish, board: Board, storage: Storage, refused: Mapping[str, Refusal], told: str) -> Refused:
    """Look for a node from which lesser pods could be pushed out; say why there is none."""
    if not wish.preempts:
        return Refused(f"{told} {_NO_CLAIMS}, preemption: not eligible due to preemptionPolicy=Never.")
    if any(pod.deleting and pod.priority < wish.priority for pod in board.on(wish.nominated)):
        reason = "not eligible due to a terminating pod on the nominated node."
        return Refused(f"{told} {_NO_CLAIMS}, preemption: {reason}", wish.nominated)
    found: dict[str, tuple[PlacedPod, ...]] = {}
    answers: list[Refusal] = []
    for name, refusal in refused.items():
        outcome = _victims(wish, board, storage, name) if refusal.preemption_may_help else Refusal((_NO_USE,))
        if isinstance(outcome, Refusal):
            answers.append(outcome)
        else:
            found[name] = outcome
    if found:
        chosen = min(found, key=lambda name: (_cost(found[name]), name))
        return Refused(told, chosen, found[chosen])
    preemption = f"0/{len(board.nodes)} nodes are available: {_histogram(answers)}."
    return Refused(f"{told} {_NO_CLAIMS}, preemption: {preemption}")


def _victims(wish: Wish, board: Board, storage: Storage, name: str) -> tuple[PlacedPod, ...] | Refusal:
    """Return the fewest pods that must leave a node, sparing the most important first; or why that is no use."""
    lesser = [pod for pod in board.on(name) if pod.priority < wish.priority]
    if not lesser:
        return Refusal((_NO_VICTIMS,))
    trial = board.without(lesser)
    node = board.nodes[name]
    if (refusal := _refusal(_filters(wish, trial, storage), node)) is not None:
        return refusal
    victims = []
    for pod in sorted(lesser, key=lambda pod: (-pod.priority, pod.created, pod.key)):
        trial.place(pod)
        if _refusal(_filters(wish, trial, storage), node) is not None:
            trial.remove(pod.key)
            victims.append(pod)
    return tuple(victims)


def _cost(victims: tuple[PlacedPod, ...]) -> tuple[int, int, int]:
    priorities = [pod.priority for pod in victims]
    return max(priorities), sum(priorities), len(victims)
