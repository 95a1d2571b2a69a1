"""What a schedule backs up: strategies by shard, keyspace or cluster, each come down to shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hanse.api.planetscale.kinds import KEYSPACE_LABEL, SHARD_LABEL
from hanse.api.planetscale.reading import texts
from hanse.kube.manifest import Obj, labels_of
from hanse.vitess.operator.schedule_times import ScheduleInvalid

DEFAULT_SCOPE = "Shard"


@dataclass(frozen=True, slots=True)
class Target:
    """One shard that a strategy backs up."""

    strategy: str
    keyspace: str
    shard: Obj
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def safe_range(self) -> str:
        """The shard as part of names."""
        return labels_of(self.shard)[SHARD_LABEL]

    @property
    def range(self) -> str:
        """The shard as Vitess names it."""
        return str(self.shard["spec"]["name"])

    @property
    def name(self) -> str:
        """What the target is called among all of its schedule."""
        return f"{self.strategy}-{self.keyspace}-{self.safe_range}"


def strategy_problem(strategy: Obj) -> str:
    """Tell in a sentence what is wrong with a strategy; "" where nothing is."""
    scope = strategy.get("scope") or DEFAULT_SCOPE
    given = {name for name in ("keyspace", "shard") if strategy.get(name)}
    needed = {"Shard": {"keyspace", "shard"}, "Keyspace": {"keyspace"}, "Cluster": set()}.get(scope)
    if needed is None:
        return f"scope must be Shard, Keyspace or Cluster, and is {scope!r}"
    if given != needed:
        said = " and ".join(sorted(needed)) or "neither keyspace nor shard"
        return f"scope {scope} needs {said}"
    return ""


def keyspaces_apart(schedules: Iterable[Obj]) -> frozenset[str]:
    """Return the keyspaces that have a strategy of their own, which those for a whole cluster leave out."""
    return frozenset(
        str(strategy["keyspace"])
        for schedule in schedules
        if not schedule.get("suspend")
        for strategy in schedule.get("strategies") or ()
        if strategy.get("scope") == "Keyspace" and not strategy_problem(strategy)
    )


def targets_of(spec: Obj, shards: Iterable[Obj], apart: frozenset[str]) -> list[Target]:
    """Return every shard that a schedule backs up; raises ScheduleInvalid."""
    found: dict[tuple[str, str], Target] = {}
    known = list(shards)
    for place, strategy in enumerate(spec.get("strategies") or ()):
        if problem := strategy_problem(strategy):
            raise ScheduleInvalid(f"strategies[{place}]: {problem}")
        for target in _of_strategy(strategy, known, apart):
            key = (target.keyspace, target.safe_range)
            if key in found:
                raise ScheduleInvalid(
                    f"strategies: shard {target.keyspace}/{target.range} is backed up by {found[key].strategy} and by "
                    f"{target.strategy}; leave it to one of them, or use two schedules"
                )
            found[key] = target
    return list(found.values())


def _of_strategy(strategy: Obj, shards: Iterable[Obj], apart: frozenset[str]) -> Iterator[Target]:
    scope, flags = strategy.get("scope") or DEFAULT_SCOPE, texts(strategy.get("extraFlags"))
    for shard in sorted(shards, key=lambda each: (labels_of(each)[KEYSPACE_LABEL], each["spec"]["name"])):
        keyspace = labels_of(shard)[KEYSPACE_LABEL]
        meant = {
            "Cluster": keyspace not in apart,
            "Keyspace": keyspace == strategy.get("keyspace"),
            "Shard": (keyspace, shard["spec"]["name"]) == (strategy.get("keyspace"), strategy.get("shard")),
        }[scope]
        if meant:
            yield Target(str(strategy["name"]), keyspace, shard, flags)
