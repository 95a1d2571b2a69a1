"""Which cluster each cell is in: the one that it names, or the only one that has its zone or its region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj
from hanse.vitess.federated.reading import CLUSTER_FIELD, REGION_FIELD, cells_of
from hanse.vitess.federated.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Site:
    """A registered cluster as far as cells are matched with it; one that is `lost` cannot be reached now."""

    name: str
    region: str = ""
    zones: tuple[str, ...] = ()
    lost: bool = False


def find_homes(spec: Obj, sites: Sequence[Site], before: Mapping[str, str]) -> tuple[dict[str, str], list[Refusal]]:
    """Return the cluster of every cell, and what is wrong with those that have none.

    A cell that was matched stays where it was found `before`: relabelling a cluster moves no data.
    """
    homes: dict[str, str] = {}
    refusals: list[Refusal] = []
    known = {site.name for site in sites}
    for place, cell in enumerate(cells_of(spec)):
        name, field = str(cell.get("name", "")), f"spec.cells[{place}]"
        home = _home(cell, sites, before.get(name), field)
        if isinstance(home, Refusal):
            refusals.append(home)
        elif home not in known and before.get(name) != home:
            sentence = f"no cluster {home!r} is registered; join it, or name another"
            refusals.append(Refusal(f"{field}.{CLUSTER_FIELD}", sentence))
        elif homes.get(name, home) != home:
            sentence = f"cell {name} is in clusters {homes[name]} and {home}; a cell is in one cluster"
            refusals.append(Refusal(f"{field}.{CLUSTER_FIELD}", sentence))
        elif name in homes:
            refusals.append(Refusal(f"{field}.name", f"cell {name} is listed twice; name each once"))
        else:
            homes[name] = home
    return homes, refusals


def _home(cell: Obj, sites: Sequence[Site], before: str | None, field: str) -> str | Refusal:
    if named := cell.get(CLUSTER_FIELD):
        return str(named)
    if before is not None:
        return before
    zone, region = cell.get("zone") or "", cell.get(REGION_FIELD) or ""
    found = [
        site.name
        for site in sites
        if (zone or region) and (not zone or zone in site.zones) and (not region or region == site.region)
    ]
    if len(found) == 1:
        return found[0]
    name = cell.get("name", "")
    asked = " and ".join(f"{what} {value}" for what, value in (("zone", zone), ("region", region)) if value)
    if not asked:
        return Refusal(f"{field}.{CLUSTER_FIELD}", f"name the cluster of cell {name}, or give its zone or region")
    if not found:
        return Refusal(
            f"{field}.{CLUSTER_FIELD}", f"no registered cluster has {asked}; name the cluster of cell {name}"
        )
    several = ", ".join(sorted(found))
    return Refusal(f"{field}.{CLUSTER_FIELD}", f"{asked} is in several clusters ({several}); name that of cell {name}")
