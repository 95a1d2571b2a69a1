"""From what is seen of a service to where its clients are led: pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from hanse.api.clusters import Cluster
from hanse.services.hostnames import Resolved
from hanse.services.judging import Evidence, Judgement, Opinion, judge
from hanse.services.observing import Sighting, Wish, usable
from hanse.services.presence import FederatedService, Presence


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a service in one cluster; None says that it is not known now."""

    sighting: Sighting | None = None
    backends: int | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known of a service: its clusters' part by name, what was decided before, and who can be asked."""

    clusters: Mapping[str, Cluster]
    facts: Mapping[str, Facts]
    before: Mapping[str, Presence] = field(default_factory=dict)
    resolved: Callable[[str], Resolved] = lambda _hostname: Resolved()
    # What checkers say of an address in a cluster.
    opinion: Callable[[str, str], Opinion] = lambda _cluster, _address: Opinion()
    # The clusters that its pods shall leave.
    leaving: Collection[str] = ()


def decide(wish: Wish, scene: Scene, ttl: int) -> tuple[FederatedService, Judgement]:
    """Return where a service is found; `ttl` counts where it does not ask for its own."""
    judgement = judge(_evidence(wish, scene, name) for name in scene.facts if name in scene.clusters)
    service = FederatedService(
        key=wish.key,
        ports=wish.ports,
        presences=judgement.presences,
        ttl=ttl if wish.ttl is None else wish.ttl,
        front=wish.front,
        published=not wish.unpublished,
    )
    return service, judgement


def _evidence(wish: Wish, scene: Scene, name: str) -> Evidence:
    facts, before = scene.facts[name], scene.before.get(name)
    addresses, note = _addresses(facts.sighting, before, scene.resolved)
    backends = None
    if wish.selects:
        backends = facts.backends if facts.backends is not None or before is None else before.backends
    cluster_ips = before.cluster_ips if before is not None else ()
    return Evidence(
        cluster=name,
        addresses=addresses,
        cluster_ips=cluster_ips if facts.sighting is None else facts.sighting.cluster_ips,
        backends=backends,
        # What exactly is the matter there is on the Cluster, and worded anew with every probe.
        offline="the cluster is offline" if scene.clusters[name].offline else "",
        opinions={address: scene.opinion(name, address) for address in addresses},
        note=note,
        leaving=name in scene.leaving,
    )


def _addresses(
    sighting: Sighting | None, before: Presence | None, resolved: Callable[[str], Resolved]
) -> tuple[tuple[str, ...], str]:
    """Return the addresses of a Service in a cluster; what cannot be found out now is as it was."""
    known = before.addresses if before is not None else ()
    if sighting is None:
        return known, ""
    found, note = list(sighting.ips), ""
    for hostname in sighting.hostnames:
        answer = resolved(hostname)
        note = note or answer.trouble
        if answer.addresses is None:
            return known, note
        found += usable(answer.addresses)
    return tuple(sorted(set(found))), note
