"""Why a node is refused, and the form in which every filter of the scheduler says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hanse.simulator.scheduling.board import NodeOffer


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that will not do, and whether it would if lesser pods left it."""

    reasons: tuple[str, ...]
    preemption_may_help: bool = False


# Looks at one node; None where the filter has nothing against it.
Filter = Callable[[NodeOffer], Refusal | None]


class Hopeless(Exception):
    """A pod that no node can take, whatever nodes there are; the text is kube-scheduler's."""
