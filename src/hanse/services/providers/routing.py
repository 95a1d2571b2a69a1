"""Values of a record set by place, for providers that answer askers by where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hanse.services.records import Datum


def placed(routing: str, data: Sequence[Datum], place: Callable[[str], str], *, spread: bool = True) -> list[Datum]:
    """Return the values by the place of their cluster, each place being one set `ROUTING/PLACE`.

    Those of clusters that are in no place that the provider knows are in every set, unless they must not be spread;
    nothing is returned where no cluster is in a known place.
    """
    by_place: dict[str, list[str]] = {}
    unplaced: list[str] = []
    for each in data:
        at = place(each.cluster)
        (by_place.setdefault(at, []) if at else unplaced).append(each.value)
    return [
        Datum(value, f"{routing}/{at}")
        for at, values in sorted(by_place.items())
        for value in sorted({*values, *(unplaced if spread else ())})
    ]
