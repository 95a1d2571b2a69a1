"""In which order a service's addresses are told to an asker: nearest first, the overloaded last. Pure.

Where an asker is comes from what its resolver declares, else from the subnet of the client that the resolver names,
else from the address that the question came from. All addresses are in every answer; only their order differs, and
that askers inside a cluster get its own address of a service in place of the one for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hanse.services.geography.distances import FAR, Distances
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import NOWHERE, Vantage, parse_vantage
from hanse.services.presence import Place

# Vantages are declared by askers: no more of them are remembered than this.
_REMEMBERED_VANTAGES = 1024
_SAME_CLUSTER, _SAME_ZONE, _SAME_REGION, _ELSEWHERE = range(4)


class Rank(NamedTuple):
    """How early a cluster's addresses come: those of the least rank first."""

    overloaded: bool
    step: int
    distance: float

    @property
    def inside(self) -> bool:
        """Whether the asker is in this very cluster."""
        return self.step == _SAME_CLUSTER

    def __str__(self) -> str:
        where = {_SAME_CLUSTER: "same cluster", _SAME_ZONE: "same zone", _SAME_REGION: "same region"}.get(self.step)
        if where is None:
            where = "distance unknown" if self.distance >= FAR else f"distance {self.distance:.0f}"
        return f"{where}, overloaded" if self.overloaded else where


@dataclass(frozen=True, slots=True)
class View:
    """The clusters as one asker sees them: the lower the grade the nearer, equal ranks being of one grade."""

    grades: Mapping[str, int]
    # The grade of a cluster of which nothing is known.
    others: int
    # The cluster that the asker is in.
    own: str = ""


_NOBODYS = Rank(False, _ELSEWHERE, FAR)


@dataclass(frozen=True, slots=True)
class ClientSubnet:
    """The part of a client's address that its resolver passes on (RFC 7871)."""

    version: int
    address: int
    length: int


class Atlas:
    """Places of clusters, subnets of askers and distances: everything by which answers are ordered."""

    def __init__(
        self,
        places: Mapping[str, Place] | None = None,
        *,
        subnets: Subnets | None = None,
        distances: Distances | None = None,
        overloaded: Collection[str] = (),
    ) -> None:
        self.places = dict(places or {})
        self.subnets = subnets or Subnets()
        self._distances = distances or Distances()
        self._overloaded = frozenset(overloaded)
        self._views: dict[Vantage, View] = {}

    def locate(self, declared: str, subnet: ClientSubnet | None, source: str) -> tuple[Vantage, int]:
        """Return where an asker is, and for how long a prefix of the client's subnet that is so."""
        if declared:
            try:
                return parse_vantage(declared), 0
            except ValueError:
                pass
        if subnet is not None and subnet.length:
            located = self.subnets.of_prefix(subnet.version, subnet.address, subnet.length)
            return located.vantage, located.scope
        return self.subnets.of_address(source), 0

    def view(self, vantage: Vantage) -> View:
        """Return the clusters as an asker there sees them."""
        found = self._views.get(vantage)
        if found is None:
            if len(self._views) >= _REMEMBERED_VANTAGES:
                self._views.clear()
            found = self._views[vantage] = self._look_around(vantage)
        return found

    def rank(self, vantage: Vantage, cluster: str) -> Rank:
        """Return the rank of one cluster for an asker there; one of which nothing is known is far away."""
        place = self.places.get(cluster)
        return _NOBODYS if place is None else self._rank(vantage, place)

    def _look_around(self, vantage: Vantage) -> View:
        ranks = {name: self._rank(vantage, place) for name, place in self.places.items()}
        order = {rank: grade for grade, rank in enumerate(sorted({*ranks.values(), _NOBODYS}))}
        own = vantage.cluster if vantage.cluster in self.places else ""
        return View({name: order[rank] for name, rank in ranks.items()}, order[_NOBODYS], own)

    def _rank(self, vantage: Vantage, place: Place) -> Rank:
        overloaded = place.cluster in self._overloaded
        if vantage == NOWHERE:
            return Rank(overloaded, _ELSEWHERE, FAR)
        if vantage.cluster == place.cluster:
            return Rank(overloaded, _SAME_CLUSTER, 0.0)
        region, zones = self._asked_from(vantage)
        if region and region == place.region:
            return Rank(overloaded, _SAME_ZONE if zones & set(place.zones) else _SAME_REGION, 0.0)
        return Rank(overloaded, _ELSEWHERE, self._distances.between(region, place.region))

    def _asked_from(self, vantage: Vantage) -> tuple[str, set[str]]:
        if vantage.cluster:
            place = self.places.get(vantage.cluster, Place(vantage.cluster))
            return place.region, set(place.zones)
        return vantage.region, {vantage.zone} if vantage.zone else set()


def overloaded_clusters(
    places: Mapping[str, Place], before: Collection[str] = (), *, mark: float, clear: float
) -> frozenset[str]:
    """Return the clusters that are too busy to be preferred: from `mark` on, and until they are below `clear` again."""
    return frozenset(
        name
        for name, place in places.items()
        if place.load is not None and place.load >= (clear if name in before else mark)
    )
