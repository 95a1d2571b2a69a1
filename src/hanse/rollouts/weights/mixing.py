"""One name for several releases: whose addresses clients are told, and with which weight. Pure.

Within a cluster clients are shared as the weights of TrafficTargets say, among the releases that serve there. Between
clusters they are shared by the ready endpoints of all these releases, as those of any Service are.

No mixture leads nobody while a release serves that was rolled out once: if none of those that shall have clients
serves, they are led to the newest that does, which is said. A release of which nobody knows whether it can be reached
is led to only while there is no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from hanse.kube.manifest import Obj
from hanse.rollouts.weights.shares import Name, Share

# Weights are exact up to here; beyond they keep their proportion as far as whole numbers can.
_LARGEST_WEIGHT = 10_000
_FAILED_OPEN = "nobody who should be led to serves, so clients are led here although its weight is 0"


@dataclass(frozen=True, slots=True)
class _Part:
    """A release in one cluster: what its ServiceAddresses say of it there, and the weight that it has."""

    order: int
    release: str
    entry: Obj
    weight: int
    leaves: bool = False

    @property
    def cluster(self) -> str:
        return str(self.entry["name"])

    @property
    def backends(self) -> int:
        return max(1, self.entry.get("backends") or 1)


def mix(shares: Sequence[Share], name: Name, before: Obj | None) -> Obj | None:
    """Return the spec of the ServiceAddresses under a name; `shares` are those of the releases, the oldest first.

    `before` is the spec that is stored. None says that nothing is known by which clients could be led.
    """
    known = [(share.addresses, share) for share in shares if share.addresses]
    if not known:
        if before is None or any(share.addresses is None for share in shares):
            return before
        return {**before, "serving": 0, "clusters": []}
    parts = _chosen(shares, before)
    leading = [part for part in parts if leads(part.entry)]
    weights = _weights(leading)
    entries = [
        _entry(part, weights.get((part.cluster, part.release)))
        for part in sorted(parts, key=lambda part: (part.cluster, part.order))
    ]
    newest, led = known[-1][0], {part.release for part in leading}
    return {
        **_hostname(newest, name),
        "published": True,
        "ttlSeconds": max(spec["ttlSeconds"] for spec, _ in known),
        "serving": len({part.cluster for part in leading}),
        **({"front": list(name.front)} if name.front else {}),
        "ports": _ports([spec for spec, share in known if share.release in led], newest),
        "clusters": entries,
    }


def leads(entry: Obj) -> bool:
    """Tell whether clients are led to an entry of a ServiceAddresses."""
    dead = entry.get("dead") or ()
    return bool(entry.get("serving")) and any(address not in dead for address in entry.get("addresses") or ())


def entries_of(spec: Obj | None) -> dict[tuple[str, str], Obj]:
    """Return a mixture's entries by cluster and release."""
    entries = (spec or {}).get("clusters") or ()
    return {(entry["name"], entry.get("release") or ""): entry for entry in entries}


def _chosen(shares: Sequence[Share], before: Obj | None) -> list[_Part]:
    """Return who is in the mixture: those who shall have clients, and whoever stands in for them."""
    asked = _asked(shares, before)
    if any(_is_sure(part.entry) for part in asked):
        return [_without_doubt(part) for part in asked]
    complete = [share for share in shares if share.complete]
    if instead := _stand_in(complete, shares, before, _is_sure):
        return [*map(_without_doubt, asked), *instead]
    if any(leads(part.entry) for part in asked):
        return asked
    # Nobody is led unasked to what was never rolled out; where somebody shall have clients it is better than nobody.
    candidates = shares if any(weight > 0 for share in shares for weight in share.weights.values()) else complete
    return [*asked, *(_stand_in(complete, shares, before, leads) or _stand_in(candidates, shares, before, leads))]


def _is_sure(entry: Obj) -> bool:
    return leads(entry) and not entry.get("doubtful")


def _without_doubt(part: _Part) -> _Part:
    """Lead nobody where a release serves only since it knows of nobody else: in the mixture there are others."""
    return replace(part, entry={**part.entry, "serving": False}) if part.entry.get("doubtful") else part


def _asked(shares: Sequence[Share], before: Obj | None) -> list[_Part]:
    """Return every release in every cluster in which it shall have clients and has an address or may get one.

    To one that is being deleted nobody is led from where a release serves that stays.
    """
    parts = [
        _Part(order, share.release, entry, share.weights[entry["name"]], share.leaves)
        for order, share in enumerate(shares)
        for entry in _known(share, before)
        if share.weights.get(entry["name"], 0) > 0
    ]
    settled = {part.cluster for part in parts if _is_sure(part.entry) and not part.leaves}
    return [part for part in parts if not part.leaves or part.cluster not in settled]


def _known(share: Share, before: Obj | None) -> Iterable[Obj]:
    if share.addresses is not None:
        return share.addresses.get("clusters") or ()
    return [entry for (_, release), entry in entries_of(before).items() if release == share.release]


def _stand_in(
    candidates: Sequence[Share], shares: Sequence[Share], before: Obj | None, serves: Callable[[Obj], bool]
) -> list[_Part]:
    """Return the newest of some releases that serves, wherever it should have nobody."""
    for share in reversed(candidates):
        idle = [entry for entry in _known(share, before) if not share.weights.get(entry["name"])]
        if serving := [entry for entry in idle if serves(entry)]:
            order = shares.index(share)
            return [_Part(order, share.release, {**entry, "why": _FAILED_OPEN}, 0) for entry in serving]
    return []


def _weights(leading: Sequence[_Part]) -> Mapping[tuple[str, str], int]:
    """Return the weight of each release in each cluster as whole numbers, at least 1."""
    clusters: dict[str, list[_Part]] = {}
    for part in leading:
        clusters.setdefault(part.cluster, []).append(part)
    exact: dict[tuple[str, str], Fraction] = {}
    for cluster, parts in clusters.items():
        backends = sum(part.backends for part in parts)
        total = sum(part.weight for part in parts)
        for part in parts:
            # A cluster in which only those are left that should have nobody is shared evenly.
            share = Fraction(part.weight, total) if total else Fraction(1, len(parts))
            exact[cluster, part.release] = backends * share
    return _whole(exact)


def _whole(exact: Mapping[tuple[str, str], Fraction]) -> dict[tuple[str, str], int]:
    if not exact:
        return {}
    multiple = lcm(*(each.denominator for each in exact.values()))
    numbers = {key: int(each * multiple) for key, each in exact.items()}
    divisor = gcd(*numbers.values())
    least = {key: number // divisor for key, number in numbers.items()}
    largest = max(least.values())
    if largest <= _LARGEST_WEIGHT:
        return least
    return {key: max(1, round(Fraction(number * _LARGEST_WEIGHT, largest))) for key, number in least.items()}


def _entry(part: _Part, weight: int | None) -> Obj:
    entry = {field: value for field, value in part.entry.items() if field not in ("weight", "release", "asked")}
    entry = {"name": entry.pop("name"), "release": part.release, **entry, "asked": part.weight}
    return entry if weight in (None, 1) else {**entry, "weight": weight}


def _hostname(spec: Obj, name: Name) -> Obj:
    """Return the name that clients are told: but for the Service it is that of any other in the namespace."""
    _, dot, rest = str(spec.get("hostname") or "").partition(".")
    return {"hostname": f"{name.key.name}{dot}{rest}"} if dot else {}


def _ports(leading: Sequence[Obj], newest: Obj) -> list[Obj]:
    """Return the ports that every release has to which clients are led, or the newest release's where none is."""
    ports: list[Obj] = list((leading[-1] if leading else newest).get("ports") or ())
    common = [port for port in ports if all(port in (spec.get("ports") or ()) for spec in leading)]
    return common or ports
