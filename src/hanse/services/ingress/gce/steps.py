"""What to do about each piece of a load balancer, given what the project has: pure comparison."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hanse.kube.manifest import Obj
from hanse.services.ingress.balancer import Standing
from hanse.services.ingress.gce.pieces import Piece, describe, read_description
from hanse.services.ingress.names import resource_name

# Never told back, so that it cannot be compared.
_SECRET_FIELDS = frozenset({"privateKey"})
_NUMBERED = re.compile(r"mci1-(?:be|hc)-(\d+)--")
# In the order in which they may be removed: nothing is removed that something else still leads to.
_SINGLE = (
    ("firewalls", "firewall rule", "fr"),
    ("forwardingRules", "HTTP forwarding rule", "fw"),
    ("forwardingRules", "HTTPS forwarding rule", "fws"),
    ("targetHttpProxies", "target HTTP proxy", "tp"),
    ("targetHttpsProxies", "target HTTPS proxy", "tps"),
    ("sslCertificates", "SSL cert", "ssl"),
    ("urlMaps", "url map", "um"),
)
NUMBERED = (("backendServices", "backend service", "be"), ("healthChecks", "health check", "hc"))


@dataclass(frozen=True, slots=True)
class Create:
    """Make a piece that is not there."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave a piece that is as it shall be."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class Change:
    """Bring a piece to what it shall be."""

    piece: Piece
    present: Obj


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a piece away."""

    collection: str
    words: str
    name: str


Step = Create | Keep | Change


def step_for(piece: Piece, present: Obj | None) -> Step:
    """Return what to do about a piece, given what the project has of that name."""
    if present is None:
        return Create(piece)
    return Keep(piece) if matches(piece.body, present) else Change(piece, present)


def step_problems(steps: Iterable[Step], balancer: str, *, force: bool) -> list[str]:
    """Return why steps must not be taken, a sentence each."""
    problems = []
    for step in steps:
        if isinstance(step, Change) and not belongs(step.present, balancer):
            problems.append(f"{step.piece.words} {step.piece.name} is there already and belongs to somebody else")
        elif isinstance(step, Change) and step.piece.collection == "sslCertificates":
            problems.append(
                f"ssl cert {step.piece.name} cannot be changed while it is in use: delete the load balancer first, or "
                "name a certificate of the project in the annotation ingress.gcp.kubernetes.io/pre-shared-cert"
            )
        elif isinstance(step, Change) and not force:
            problems.append(f"will not overwrite {step.piece.words} {step.piece.name} without --force")
    return problems


def belongs(present: Obj, balancer: str) -> bool:
    """Tell whether a resource is part of that load balancer: names that were cut may be those of two."""
    description = str(present.get("description") or "")
    standing = read_description(description)
    return standing.name == balancer if standing else description.endswith(f" multicluster loadbalancer {balancer}")


def matches(wanted: Any, present: Any) -> bool:
    """Tell whether a resource has all that is wanted; what the API adds does not count, nor how it spells links."""
    if isinstance(wanted, dict):
        have = present if isinstance(present, dict) else {}
        return all(name in _SECRET_FIELDS or matches(value, have.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        listed = present or []
        return len(wanted) == len(listed) and all(map(matches, wanted, listed))
    if isinstance(wanted, str):
        return plain_link(wanted) == plain_link(str(present or ""))
    return bool(wanted == present)


def plain_link(text: str) -> str:
    """Return a link without what differs between the API's own spellings of it."""
    scheme, found, rest = text.partition("/projects/")
    return f"projects/{rest}" if found and scheme.startswith(("https://", "http://")) else text


def removals(balancer: str, listed: Mapping[str, Sequence[str]]) -> list[Remove]:
    """Return how a load balancer is taken away; `listed` are the names of all that has a port in its name.

    The list is asked rather than the clusters, which may be gone, or may have moved their node ports since.
    """
    found = [Remove(collection, words, resource_name(kind, balancer)) for collection, words, kind in _SINGLE]
    for collection, words, kind in NUMBERED:
        for name in sorted(listed.get(collection, ())):
            number = _NUMBERED.match(name)
            if number and name == resource_name(kind, balancer, int(number[1])):
                found.append(Remove(collection, words, name))
    return found


def without_groups(backend_service: Obj, groups: Collection[str]) -> Obj:
    """Return a backend service that leads no longer to these instance groups."""
    leaving = set(map(plain_link, groups))
    kept = [each for each in backend_service.get("backends") or () if plain_link(each["group"]) not in leaving]
    return {**backend_service, "backends": kept}


def without_tags(firewall: Obj, tags: Collection[str]) -> Obj | None:
    """Return a firewall rule that lets nobody in to these any more, None where it must go.

    A rule without tags would open every instance of the network.
    """
    kept = sorted(set(firewall.get("targetTags") or ()) - set(tags))
    return {**firewall, "targetTags": kept} if kept else None


def without_clusters(url_map: Obj, clusters: Collection[str]) -> Obj:
    """Return a URL map whose state no longer names these clusters."""
    standing = read_description(url_map.get("description") or "")
    if standing is None:
        return url_map
    kept = tuple(name for name in standing.clusters if name not in clusters)
    return {**url_map, "description": describe(Standing(standing.name, standing.address, kept))}
