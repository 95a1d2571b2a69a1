"""How far regions are from each other: what is configured, else what the map says of well-known ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import asin, cos, radians, sin, sqrt

from hanse.services.geography.regions import coordinates_of

_EARTH_RADIUS_KM = 6371.0
# Half the way around the Earth: what two regions of which nothing is known are apart.
FAR = 20_015.0


class Distances:
    """Distances between regions, in kilometres or whatever the configuration counts in."""

    def __init__(self, entries: Iterable[tuple[str, str, float]] = ()) -> None:
        self._said = {(here, there): float(distance) for here, there, distance in entries}

    def between(self, here: str, there: str) -> float:
        """Return how far it is from one region to another; what is said for one way holds for the way back."""
        if not here or not there:
            return FAR
        if here == there:
            return 0.0
        for pair in ((here, there), (there, here)):
            if (said := self._said.get(pair)) is not None:
                return said
        start, end = coordinates_of(here), coordinates_of(there)
        return FAR if start is None or end is None else great_circle_km(start, end)


def great_circle_km(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return the way over the Earth's surface between two points, each a latitude and a longitude in degrees."""
    (north, east), (other_north, other_east) = start, end
    half_north, half_east = radians(other_north - north) / 2, radians(other_east - east) / 2
    chord = sin(half_north) ** 2 + cos(radians(north)) * cos(radians(other_north)) * sin(half_east) ** 2
    return 2 * _EARTH_RADIUS_KM * asin(sqrt(min(1.0, chord)))
