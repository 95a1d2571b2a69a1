"""To which clusters clients of a service are led, and why not to the others: pure.

An address is out when its cluster knows that no endpoint is ready, when a majority of the checkers that count calls it
dead, or when the registry calls its cluster offline and no majority reaches the address. Neither checkers nor the
registry may leave a service without any address: then all are kept that may still have endpoints, which is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hanse.services.presence import Presence

_NO_ADDRESS = "it has no address for clients outside of the cluster yet"
_NO_BACKEND = "none of its endpoints is ready"
_LEAVING = "its pods are about to leave for other clusters"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a majority of checkers says of one address; None where there is no majority, or nobody to ask."""

    alive: bool | None = None
    why: str = ""


NO_OPINION = Opinion()


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a service in one cluster."""

    cluster: str
    addresses: tuple[str, ...] = ()
    cluster_ips: tuple[str, ...] = ()
    backends: int | None = None
    # Why the registry calls the cluster offline, "" while it does not.
    offline: str = ""
    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    # What is to be said beside the verdict, such as a load balancer's name that cannot be resolved.
    note: str = ""
    # Whether its pods shall leave the cluster.
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The presences, in order of cluster, and whether they serve only since nobody else would."""

    presences: tuple[Presence, ...] = ()
    failed_open: bool = False


def judge(evidence: Iterable[Evidence]) -> Judgement:
    """Decide to which clusters clients are led."""
    every = sorted(evidence, key=lambda each: each.cluster)
    presences = tuple(_judged(each) for each in every)
    if any(presence.live for presence in presences):
        return Judgement(_led_away(presences, {each.cluster for each in every if each.leaving}))
    kept = _kept_open(presences)
    return Judgement(kept, failed_open=any(presence.live for presence in kept))


def _judged(evidence: Evidence) -> Presence:
    presence = Presence(
        cluster=evidence.cluster,
        addresses=tuple(sorted(evidence.addresses)),
        cluster_ips=evidence.cluster_ips,
        backends=evidence.backends,
        weight=max(1, evidence.backends or 1),
        why=evidence.note,
    )
    if not presence.addresses:
        return replace(presence, serving=False, why=evidence.note or _NO_ADDRESS)
    if presence.backends == 0:
        return replace(presence, serving=False, why=_NO_BACKEND)
    opinions = {address: evidence.opinions.get(address, NO_OPINION) for address in presence.addresses}
    dead = tuple(address for address, said in opinions.items() if _is_out(said, evidence.offline))
    if len(dead) == len(opinions):
        return replace(presence, serving=False, why=evidence.offline or opinions[dead[0]].why)
    return replace(presence, dead=dead)


def _led_away(presences: Sequence[Presence], leaving: Collection[str]) -> tuple[Presence, ...]:
    """Lead clients away from clusters that pods shall leave, before they do, if others serve."""
    if not any(presence.live and presence.cluster not in leaving for presence in presences):
        return tuple(presences)
    return tuple(
        replace(presence, serving=False, why=_LEAVING) if presence.live and presence.cluster in leaving else presence
        for presence in presences
    )


def _is_out(opinion: Opinion, offline: str) -> bool:
    return opinion.alive is not True if offline else opinion.alive is False


def _kept_open(presences: Sequence[Presence]) -> tuple[Presence, ...]:
    """Return all that may still have endpoints as serving; nobody knows better where to lead clients."""
    return tuple(
        replace(presence, serving=True, doubtful=True, why=f"nothing else is left, although {presence.why}")
        if presence.addresses and presence.backends != 0
        else presence
        for presence in presences
    )
