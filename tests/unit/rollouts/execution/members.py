"""What members have of releases, and how many pods that puts into traffic."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.rollouts.environment import Step


@dataclass
class Share:
    """What a member has of one release."""

    percent: int = 0
    weight: int = 0
    pods: int = 0
    ready: int = 0
    # Ready pods that a fault took.
    lost: int = 0
    # How often the control plane has written here.
    written: int = 0


@dataclass
class Member:
    """A cluster, and what the host saw of it last."""

    reachable: bool = True
    shares: dict[int, Share] = field(default_factory=dict)
    seen: dict[int, Share] = field(default_factory=dict)
    seen_reachable: bool = True


def in_traffic(shares: dict[int, Share], number: int, weights: dict[int, int], *, healed: bool) -> int:
    """Count a release's ready pods that clients are led to; `healed` counts those that a fault took."""
    share = shares[number]
    return min(share.ready + (share.lost if healed else 0), aim(shares, number, weights))


def aim(shares: dict[int, Share], number: int, weights: dict[int, int]) -> int:
    """Return how many pods of a release are to be in traffic."""
    everything, total = sum(share.pods for share in shares.values()), sum(weights.values())
    return min(shares[number].pods, -(-everything * weights[number] // total)) if total else 0


def promise(step: Step, old: int, new: int) -> int:
    """Return how many pods of both releases are in traffic in a member when a step is achieved."""
    shares = {
        0: Share(pods=pods_of(old, step.capacity.incumbent)),
        1: Share(pods=pods_of(new, step.capacity.contender)),
    }
    weights = {0: step.traffic.incumbent, 1: step.traffic.contender}
    return sum(aim(shares, number, weights) for number in shares)


def pods_of(total: int, percent: int) -> int:
    """Return how many pods a percentage of the replicas is."""
    return -(-total * percent // 100)
