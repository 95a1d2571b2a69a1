"""What is asked of placement: which clusters may be used, over what work is spread, how replicas divide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hanse.kube.manifest import Obj
from hanse.placement.candidate import Amounts, Toleration
from hanse.placement.cluster_selector import ClusterSelector
from hanse.placement.planner import Preferences

# For so long a cluster that was lost must be well again before it gets its share back, unless a policy says otherwise.
FAIL_BACK_SECONDS = 10.0


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
    """What the loss of a cluster means.

    `after_seconds` it is replaced (None: never), `always` even for what must not run twice. `fail_back` is whether work
    goes back to an earlier group; a cluster that has come back gets its share once it has been well for
    `fail_back_after` seconds. `spare_clusters` may be lost without replicas becoming fewer than were asked for.
    """

    after_seconds: float | None = 0.0
    fail_back: bool = True
    fail_back_after: float = FAIL_BACK_SECONDS
    always: bool = False
    spare_clusters: int = 0


@dataclass(frozen=True, slots=True)
class Rollout:
    """How a changed template spreads: in which order over sets of clusters, and how many clusters at a time.

    Without a number all clusters of a group change at once where there is an order, else one. The next begin when those
    before are well and have been so for `pause_seconds`; a `manual` one asks a person before every group but the first.
    Where one changes `alone`, all others have to be well for that, whichever version they have.
    """

    order: tuple[ClusterTerm, ...] = ()
    max_clusters: int | None = None
    max_percent: int | None = None
    manual: bool = False
    pause_seconds: float = 0.0
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Company:
    """Where the work is that an object follows: the clusters, each with the sentence that says so.

    Of the `uncertain` ones that cannot be told; whatever they hold is left alone.
    """

    there: tuple[tuple[str, str], ...] = ()
    uncertain: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What must hold of a cluster before work goes there: it is in one of the `terms`, and nothing speaks `against` it.

    `asks` names who demands it, such as a field; each cluster that something speaks against has the words that say
    what. Where the work is already it stays, whatever the cluster has become, unless the demand is `lasting`.
    """

    asks: str
    terms: tuple[ClusterTerm, ...] = (ClusterTerm(),)
    against: tuple[tuple[str, str], ...] = ()
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Liking:
    """Clusters that are preferred by so much; by a negative weight they are avoided."""

    clusters: ClusterTerm
    weight: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Everything that may be asked; the default is every cluster, and replicas divided equally.

    `requests` is what one replica needs: with it no cluster gets more than it has room for. Work that runs
    `at_most_once` is taken from its old place before it begins in a new one. Without a `rollout` a changed template
    reaches every cluster at once. `forbidden` are clusters that whoever asks may not use, each with the sentence that
    says so; what they hold already stays as it is. What has `company` goes only where that is. All `demands` must be
    met; of the clusters that are left those come first that the `likings` prefer most. With `untold_room` clusters that
    do not tell what they have free are taken to have room, and come after those that tell.
    """

    clusters: ClusterTerm = field(default_factory=ClusterTerm)
    groups: tuple[Group, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    division: Division = field(default_factory=Equally)
    requests: Amounts | None = None
    failover: Failover = field(default_factory=Failover)
    at_most_once: bool = False
    rollout: Rollout | None = None
    forbidden: tuple[tuple[str, str], ...] = ()
    company: Company | None = None
    demands: tuple[Demand, ...] = ()
    likings: tuple[Liking, ...] = ()
    untold_room: bool = False


@dataclass(frozen=True, slots=True)
class Override:
    """What some clusters get differently: a JSON patch on the manifest that is rendered for them.

    A `problem` says why there is no such patch; the clusters then keep what they have.
    """

    clusters: ClusterTerm
    patch: tuple[Obj, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What is known beyond the clusters: what each holds of the work, and the time.

    `estimated` is how many replicas a cluster has turned out to hold, as the unschedulable pods in it show. `refusals`
    say why clusters that seem ready cannot be used for this work, `refused_since` when that began, where it is known.
    `asked` is how many replicas were asked of each cluster, where that is not what it holds. `promised` is what of each
    cluster's free room others will take.
    """

    current: Mapping[str, int] = field(default_factory=dict)
    estimated: Mapping[str, int] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    refused_since: Mapping[str, float] = field(default_factory=dict)
    now: float = 0.0
    asked: Mapping[str, int] = field(default_factory=dict)
    promised: Mapping[str, Amounts] = field(default_factory=dict)
