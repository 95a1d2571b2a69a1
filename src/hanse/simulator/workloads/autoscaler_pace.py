"""How fast an autoscaler may follow its metrics: stabilisation windows, policies and bounds.

What was recommended and done lately is a value, `Memory`, which each decision returns anew; like upstream's it does not
outlive the controller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, dig

_DOWN_WINDOW_SECONDS = 300.0
# Without rules of its own an autoscaler at most doubles, or goes to four.
_UP_FACTOR = 2
_UP_LEAST = 4

_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_HIGHEST = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_LOWEST = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_READY = ("ReadyForNewScale", "recommended size matches current size")


@dataclass(frozen=True, slots=True)
class Moment:
    """A number at a time: a recommendation, or by how much was scaled."""

    time: float
    number: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What an autoscaler recommended and did lately."""

    recommended: tuple[Moment, ...] = ()
    grown: tuple[Moment, ...] = ()
    shrunk: tuple[Moment, ...] = ()

    def scaled(self, before: int, after: int, now: float) -> Memory:
        """Return the memory after a change of scale."""
        if after > before:
            return replace(self, grown=(*self.grown, Moment(now, after - before)))
        return replace(self, shrunk=(*self.shrunk, Moment(now, before - after)))


@dataclass(frozen=True, slots=True)
class Pace:
    """What is asked for in the end, the conditions that say why, and what is remembered."""

    replicas: int
    conditions: tuple[Obj, ...]
    memory: Memory


def limit_pace(autoscaler: Obj, memory: Memory, *, current: int, wanted: int, now: float) -> Pace:
    """Turn what the metrics ask for into what may be asked for now."""
    behavior = dig(autoscaler, "spec", "behavior")
    remembered = replace(_recent(behavior, memory, now), recommended=(*_kept(memory, now), Moment(now, wanted)))
    if behavior is None:
        steady, why = _stabilized_down(memory, wanted, now)
        allowed, limit = _bounded(autoscaler, current, steady)
    else:
        steady, why = _stabilized(behavior, memory, current, wanted, now)
        allowed, limit = _bounded_by_rules(autoscaler, behavior, memory, current, steady, now)
    able = condition("AbleToScale", True, *(why if steady != wanted else _READY))
    limited = condition("ScalingLimited", allowed != steady, *limit)
    return Pace(allowed, (able, limited), remembered)


def bounds_of(autoscaler: Obj) -> tuple[int, int]:
    """Return the least and the most replicas that an autoscaler may ask for."""
    return int(dig(autoscaler, "spec", "minReplicas", default=1)), int(
        dig(autoscaler, "spec", "maxReplicas", default=1)
    )


def _kept(memory: Memory, now: float) -> tuple[Moment, ...]:
    # No window is longer than an hour.
    return tuple(moment for moment in memory.recommended if moment.time > now - 3600.0)


def _recent(behavior: Obj | None, memory: Memory, now: float) -> Memory:
    def lately(moments: Sequence[Moment], direction: str) -> tuple[Moment, ...]:
        rules: list[Obj] = dig(behavior, direction, "policies", default=[])
        longest = max((float(rule["periodSeconds"]) for rule in rules), default=0.0)
        return tuple(moment for moment in moments if moment.time > now - longest)

    return replace(memory, grown=lately(memory.grown, "scaleUp"), shrunk=lately(memory.shrunk, "scaleDown"))


def _stabilized_down(memory: Memory, wanted: int, now: float) -> tuple[int, tuple[str, str]]:
    recent = [moment.number for moment in memory.recommended if moment.time >= now - _DOWN_WINDOW_SECONDS]
    return max((wanted, *recent)), _HIGHEST


def _stabilized(behavior: Obj, memory: Memory, current: int, wanted: int, now: float) -> tuple[int, tuple[str, str]]:
    up = now - float(dig(behavior, "scaleUp", "stabilizationWindowSeconds", default=0))
    down = now - float(dig(behavior, "scaleDown", "stabilizationWindowSeconds", default=_DOWN_WINDOW_SECONDS))
    least = min((wanted, *(moment.number for moment in memory.recommended if moment.time > up)))
    most = max((wanted, *(moment.number for moment in memory.recommended if moment.time > down)))
    return min(max(current, least), most), _LOWEST if wanted >= current else _HIGHEST


def _bounded(autoscaler: Obj, current: int, wanted: int) -> tuple[int, tuple[str, str]]:
    least, most = bounds_of(autoscaler)
    fastest = max(_UP_FACTOR * current, _UP_LEAST)
    if wanted < least:
        return least, _TOO_FEW
    if wanted > min(most, fastest):
        return min(most, fastest), _UP_LIMIT if most > fastest else _TOO_MANY
    return wanted, _WITHIN


def _bounded_by_rules(
    autoscaler: Obj, behavior: Obj, memory: Memory, current: int, wanted: int, now: float
) -> tuple[int, tuple[str, str]]:
    least, most = bounds_of(autoscaler)
    if wanted > current:
        fastest = max(current, _rate(behavior.get("scaleUp") or {}, memory, current, now, up=True))
        if wanted > min(most, fastest):
            return min(most, fastest), _UP_LIMIT if most > fastest else _TOO_MANY
    elif wanted < current:
        fastest = min(current, _rate(behavior.get("scaleDown") or {}, memory, current, now, up=False))
        if wanted < max(least, fastest):
            return max(least, fastest), _DOWN_LIMIT if least < fastest else _TOO_FEW
    return wanted, _WITHIN


def _rate(rules: Obj, memory: Memory, current: int, now: float, *, up: bool) -> int:
    """Return how far the policies let the number of replicas go in one direction."""
    choice = rules.get("selectPolicy", "Max")
    if choice == "Disabled":
        return current
    proposals = [_reach(policy, memory, current, now, up=up) for policy in rules.get("policies") or ()]
    if not proposals:
        return current
    farthest = choice != "Min"
    return max(proposals) if farthest == up else min(proposals)


def _reach(policy: Obj, memory: Memory, current: int, now: float, *, up: bool) -> int:
    since = now - float(policy["periodSeconds"])
    grown = sum(moment.number for moment in memory.grown if moment.time > since)
    shrunk = sum(moment.number for moment in memory.shrunk if moment.time > since)
    start = current - grown + shrunk
    change = int(policy["value"])
    if policy["type"] == "Pods":
        return start + change if up else start - change
    # Hundredths are kept whole, so that no rounding of fractions adds a replica.
    return math.ceil(start * (100 + change) / 100) if up else start * (100 - change) // 100
