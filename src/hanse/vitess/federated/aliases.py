"""Which cells are one to vtgates: all of them, or those of each region, written by nobody but the federation.

Two operators that each write the alias with their own cells overwrite each other for ever; and a cell is in one alias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import cell_names
from hanse.vitess.federated.refusal import Refusal

# The name that upstream's operators give theirs.
DEFAULT_ALIAS = "planetscale_operator_default"
FIELD = "spec.federation.aliases"


@dataclass(frozen=True, slots=True)
class AliasChange:
    """An alias that shall have these cells; without any it goes."""

    name: str
    cells: tuple[str, ...]


def wanted_aliases(spec: Obj, homes: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the cells of every alias; cells that are leaving stay in theirs until they are gone.

    Where groups are given, cells that are in none of them are in the default one.
    """
    if dig(spec, "topologyReconciliation", "registerCellsAliases") is False:
        return {}
    everywhere = sorted({*cell_names(spec), *homes})
    groups = {
        str(each.get("name", "")): tuple(sorted(cell for cell in each.get("cells") or () if cell in everywhere))
        for each in dig(spec, "federation", "aliases", default=())
    }
    grouped = {cell for cells in groups.values() for cell in cells}
    rest = tuple(cell for cell in everywhere if cell not in grouped)
    found = {**groups, **({DEFAULT_ALIAS: rest} if rest else {})}
    return {name: cells for name, cells in sorted(found.items()) if cells}


def alias_changes(wanted: Mapping[str, tuple[str, ...]], stored: Mapping[str, tuple[str, ...]]) -> list[AliasChange]:
    """Return what has to be written, nothing where all is as it shall be.

    Aliases lose cells before others gain them, since a cell may be in one only. Aliases of other names that have none
    of the cells are somebody else's.
    """
    own = {cell for cells in wanted.values() for cell in cells}
    shrinking, growing = [], []
    for name, cells in sorted(stored.items()):
        if name in wanted:
            kept = tuple(cell for cell in cells if cell in wanted[name])
        elif set(cells) & own:
            kept = tuple(cell for cell in cells if cell not in own)
        else:
            continue
        if set(kept) != set(cells):
            shrinking.append(AliasChange(name, tuple(sorted(kept))))
    for name, cells in sorted(wanted.items()):
        if set(stored.get(name, ())) != set(cells):
            growing.append(AliasChange(name, cells))
    # One write is enough where nobody else waits for the cells that go.
    settled = {change.name for change in growing}
    taken = {cell for name, cells in wanted.items() for cell in cells if cell not in stored.get(name, ())}
    shrinking = [
        change
        for change in shrinking
        if change.name not in settled or (set(stored[change.name]) - set(change.cells)) & taken
    ]
    return [*shrinking, *growing]


def alias_refusals(spec: Obj) -> list[Refusal]:
    """Say which groups name a cell twice, or one that is not there."""
    found, seen, known = [], dict[str, str](), cell_names(spec)
    for place, group in enumerate(dig(spec, "federation", "aliases", default=())):
        for cell in group.get("cells") or ():
            if cell not in known:
                found.append(
                    Refusal(f"{FIELD}[{place}].cells", f"no cell {cell!r} is listed in spec.cells; take it out")
                )
            elif cell in seen:
                sentence = f"cell {cell} is in alias {seen[cell]} already, and may be in one only"
                found.append(Refusal(f"{FIELD}[{place}].cells", sentence))
            else:
                seen[cell] = str(group.get("name", ""))
    return found
