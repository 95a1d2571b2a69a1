"""What is asked of placement: which clusters may be used, over what work is spread, how replicas divide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hanse.kube.manifest import Obj
from hanse.placement.candidate import Amounts, Toleration
from hanse.placement.cluster_selector import ClusterSelector
from hanse.placement.planner import Preferences


@dataclass(frozen=True, slots=True)
class ClusterTerm:
    """A set of clusters: by labels, by name, less those that are excluded; without any of these, all of them."""

    selector: ClusterSelector = field(default_factory=ClusterSelector)
    names: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """One of several sets of clusters that are tried in order: the first that can take the work has it."""

    name: str
    clusters: ClusterTerm


@dataclass(frozen=True, slots=True)
class Spread:
    """Over how many parts of the fleet the work goes.

    `by` is `cluster`, `provider`, `region`, `zone` or the key of a label. No two chosen parts differ by more than
    `max_skew` replicas.
    """

    by: str
    min_groups: int = 1
    max_groups: int | None = None
    max_skew: int | None = None


@dataclass(frozen=True, slots=True)
class Duplicated:
    """Every chosen cluster gets all replicas."""


@dataclass(frozen=True, slots=True)
class Equally:
    """No two chosen clusters differ by more than one, unless one of them is full."""


@dataclass(frozen=True, slots=True)
class WeightRule:
    """The weight of a set of clusters."""

    clusters: ClusterTerm
    weight: int


@dataclass(frozen=True, slots=True)
class Weighted:
    """In proportion to weights; a cluster has the greatest weight of the rules that name it, and 0 without any."""

    rules: tuple[WeightRule, ...]


@dataclass(frozen=True, slots=True)
class ByCapacity:
    """In proportion to how many replicas the nodes of a cluster can hold in all."""


@dataclass(frozen=True, slots=True)
class ByFreeCapacity:
    """What runs stays; what is added goes in proportion to how many more replicas a cluster has room for."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Into as few clusters as have room: first where work is already, then where most room is."""


Division: TypeAlias = Preferences | Duplicated | Equally | Weighted | ByCapacity | ByFreeCapacity | Aggregated


@dataclass(frozen=True, slots=True)
class Failover:
    """What the loss of a cluster means: `after_seconds` it is replaced (None: never), and whether work goes back."""

    after_seconds: float | None = 0.0
    fail_back: bool = True


@dataclass(frozen=True, slots=True)
class Placement:
    """Everything that may be asked; the default is every cluster, and replicas divided equally.

    `requests` is what one replica needs: with it no cluster gets more than it has room for.
    """

    clusters: ClusterTerm = field(default_factory=ClusterTerm)
    groups: tuple[Group, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    division: Division = field(default_factory=Equally)
    requests: Amounts | None = None
    failover: Failover = field(default_factory=Failover)


@dataclass(frozen=True, slots=True)
class Override:
    """What some clusters get differently: a JSON patch on the manifest that is rendered for them."""

    clusters: ClusterTerm
    patch: tuple[Obj, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What is known beyond the clusters: what each holds of the work, and the time.

    `estimated` is how many replicas a cluster has turned out to hold, as the unschedulable pods in it show. `refusals`
    say why clusters that seem ready cannot be used for this work.
    """

    current: Mapping[str, int] = field(default_factory=dict)
    estimated: Mapping[str, int] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0
