"""Strategies drawn by chance."""

from __future__ import annotations

import random

from hanse.kube.selectors import LabelSelector
from hanse.rollouts.environment import Pair, Step, Strategy, Wave


def draw_strategy(chance: random.Random, *, orderly: bool) -> Strategy:
    """Draw a strategy that ends with everything for the contender; an orderly one never goes back by itself."""
    count = chance.randint(0, 3)
    draw = lambda: [chance.choice((0, 1, 10, 25, 50, 75, 100)) for _ in range(count)]  # noqa: E731
    given, taken, weights = draw(), draw(), draw()
    if orderly:
        given, taken, weights = sorted(given), sorted(taken, reverse=True), sorted(weights)
    others = [100 - weight for weight in weights] if orderly else draw()
    pause = chance.choice((None, None, 20.0))
    steps = [
        Step(f"step {index}", Pair(taken[index], given[index]), Pair(others[index], weights[index]), pause)
        for index in range(count)
    ]
    return Strategy((*steps, Step("full on", Pair(0, 100), Pair(0, 100))), _waves(chance))


def _waves(chance: random.Random) -> tuple[Wave, ...]:
    pause = chance.choice((0.0, 10.0))
    return chance.choice(
        (
            (),
            (),
            (Wave("canary", selector=LabelSelector.from_labels({"tier": "canary"}), pause_seconds=pause),),
            (Wave("south", regions=("south",)), Wave("b", clusters=("b",), pause_seconds=pause), Wave("rest")),
        )
    )
