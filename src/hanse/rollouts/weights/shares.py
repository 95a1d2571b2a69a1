"""What each release has to give to the mixture, read from what the host stores. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from hanse.api.pieces import Piece, parse_piece
from hanse.api.service_addresses import BALANCER_ANNOTATION, FRONT_ANNOTATION
from hanse.api.shipper.kinds import BALANCED, BALANCED_LABEL
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import SERVICES
from hanse.rollouts.environment import TrafficBy

# On a Service of one release alone, by which clients outside reach it.
ENTRANCE_LABEL = "hanse.dev/traffic"
ENTRANCE = "release"


@dataclass(frozen=True, slots=True)
class Share:
    """What one release has to give: its weights by cluster, and the spec of its own ServiceAddresses.

    None says that its addresses are not known: then those count by which it was reached before. `complete` is a release
    that was once rolled out to its end, and may be relied on when nobody else serves; one that `leaves` is being
    deleted.
    """

    release: str
    weights: Mapping[str, int] = field(default_factory=dict)
    addresses: Obj | None = None
    complete: bool = False
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A Service that all releases share, and what it asks of those who lead clients."""

    key: Key
    front: tuple[str, ...] = ()
    balancer: str | None = None


@dataclass(frozen=True, slots=True)
class ReleaseParts:
    """A release with its TrafficTarget and its Services: the one that is shared, and the one of its own."""

    release: Obj
    traffic: Obj | None
    shared: Piece | None
    own: Piece | None


def leads_by_weights(release: Obj) -> bool:
    """Tell whether clients are led to a release by weights, and not by labels on pods alone."""
    return bool(dig(release, "spec", "environment", "strategy", "trafficBy") == TrafficBy.WEIGHTS)


def other_way(release: Obj, others: Iterable[Obj]) -> str:
    """Say why a release cannot be, since clients are led to those before it in the other way; "" if it can.

    `others` are all releases of its application, the oldest first, and may be without itself.
    The Service that all share has an address outside in the one way and none in the other: whoever changes it takes
    the address from under the clients of the releases before.
    """
    ways = {True: TrafficBy.WEIGHTS, False: TrafficBy.PODS}
    by_weights = leads_by_weights(release)
    for other in others:
        if name_of(other) == name_of(release):
            break
        if leads_by_weights(other) is not by_weights and not is_deleting(other):
            return (
                f"strategy.trafficBy is {ways[by_weights]}, and {ways[not by_weights]} in release {name_of(other)}, "
                "whose clients would lose their address; keep it as it is, or begin another Application of another name"
            )
    return ""


def parts_of(release: Obj, traffic: Obj | None, pieces: Iterable[Obj]) -> ReleaseParts:
    """Find the Services among a release's pieces."""
    services = [parse_piece(piece) for piece in pieces if not is_deleting(piece) and is_service(piece)]
    shared = (each for each in services if labels_of(each.template).get(BALANCED_LABEL) == BALANCED)
    own = (each for each in services if labels_of(each.template).get(ENTRANCE_LABEL) == ENTRANCE)
    return ReleaseParts(release, traffic, next(shared, None), next(own, None))


def is_service(piece: Obj) -> bool:
    """Tell whether a piece is a Service."""
    kind = dig(piece, "spec", "resource", default={})
    return (kind.get("group") or "", kind.get("plural")) == (SERVICES.group, SERVICES.plural)


def share_of(parts: ReleaseParts, addresses: Callable[[Key], Obj | None]) -> Share:
    """Return what a release has to give; one that is on its way out has nothing but what is known of it now."""
    stored = addresses(parts.own.key) if parts.own is not None else None
    known: Obj | None = None if stored is None else stored["spec"]
    if known is None and is_deleting(parts.release):
        known = {}
    entries = dig(parts.traffic, "spec", "clusters", default=())
    return Share(
        release=name_of(parts.release),
        weights={entry["name"]: entry.get("weight") or 0 for entry in entries},
        addresses=known,
        complete=is_true(dig(parts.release, "status", "conditions"), "Complete"),
        leaves=is_deleting(parts.release),
    )


def names_of(every: Sequence[ReleaseParts]) -> list[Name]:
    """Return the names under which an application is found; what the newest release says of one counts."""
    found: dict[Key, Name] = {}
    for parts in every:
        if parts.shared is not None:
            annotations = annotations_of(parts.shared.template)
            front = _front(annotations.get(FRONT_ANNOTATION) or "")
            found[parts.shared.key] = Name(parts.shared.key, front, annotations.get(BALANCER_ANNOTATION))
    return [found[key] for key in sorted(found)]


def _front(text: str) -> tuple[str, ...]:
    """Read the addresses of a balancer in front; ones that cannot be read lead nobody astray."""
    try:
        return tuple(sorted({str(ip_address(each.strip())) for each in text.split(",") if each.strip()}))
    except ValueError:
        return ()
