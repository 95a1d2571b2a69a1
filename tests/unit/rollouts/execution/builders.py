"""The smallest views in which something can be said about a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hanse.kube.manifest import Key
from hanse.rollouts.environment import Pair, Step, Strategy
from hanse.rollouts.execution import Achieved, Execution, ReleaseView, TargetView, execute

NOW = 1_000_000.0

STAGING = Step("staging", Pair(100, 1), Pair(100, 0))
HALF = Step("50/50", Pair(50, 50), Pair(50, 50))
FULL_ON = Step("full on", Pair(0, 100), Pair(0, 100))
VANGUARD = Strategy((STAGING, HALF, FULL_ON))


def target(wanted: int | Mapping[str, int], clusters: str = "a", **told: Any) -> TargetView:
    """A target that is ready everywhere unless something else is told; `lacks` are the clusters that are not."""
    numbers = wanted if isinstance(wanted, Mapping) else dict.fromkeys(clusters, wanted)
    lacks = told.pop("lacks", "")
    ready = {name: name not in lacks for name in numbers}
    return TargetView(numbers, told.pop("current", True), ready, whole=all(ready.values()), **told)


def release(name: str = "new", at: tuple[int, int] = (0, 0), **changes: Any) -> ReleaseView:
    """A release with its percent and weight, installed and ready in cluster a."""
    clusters = changes.pop("clusters", "a")
    made = ReleaseView(
        key=Key("shop", name),
        strategy=VANGUARD,
        target_step=0,
        clusters=tuple(clusters),
        installation=target(0, clusters),
        capacity=target(at[0], clusters),
        traffic=target(at[1], clusters),
    )
    return replace(made, **changes)


def old(at: tuple[int, int] = (100, 100), **changes: Any) -> ReleaseView:
    """A release that was rolled out before."""
    return release("old", at, **{"target_step": 2, "achieved": Achieved(2, "full on"), "complete": True, **changes})


def run(subject: ReleaseView, **context: Any) -> Execution:
    """Execute a release with as little around it as is given."""
    return execute(
        subject,
        **{"previous": None, "successor": None, "now": NOW, "answers": {}, "cluster_facts": {}, **context},
    )


def patched(execution: Execution) -> list[tuple[str, str, dict[str, int]]]:
    """What is patched, and how."""
    return [(patch.release.name, patch.kind, dict(patch.values)) for patch in execution.patches]


def told(execution: Execution) -> dict[str, str]:
    """The strategy's conditions: each with its message, "" where it is True."""
    assert execution.strategy_status is not None
    return {each["type"]: each["message"] for each in execution.strategy_status["conditions"]}


def waiting(execution: Execution) -> set[str]:
    """What the summary says that the release waits for."""
    assert execution.strategy_status is not None
    state = execution.strategy_status["state"]
    return {name.removeprefix("waitingFor") for name, value in state.items() if value == "True"}
