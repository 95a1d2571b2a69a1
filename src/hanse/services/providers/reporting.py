"""What a DNSZone and the Services tell of publishing: pure, from outcomes to statuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Key, Obj
from hanse.services.providers.publishing import Conflict

READY = "Ready"
# On a Service: False while a zone does not have all its names; absent where that has never been so.
ZONES_PUBLISHED = "hanse.dev/DNSZonesPublished"
_TOLD_CONFLICTS = 10


def zone_status(present: Obj, told: Obj, now: str, *, generation: int, **facts: object) -> Obj:
    """Return the status of a DNSZone with a Ready condition; facts that are None stay as they were."""
    status = dict(present)
    status["conditions"] = merge_conditions(present.get("conditions"), [told], now)
    status["observedGeneration"] = generation
    status |= {name: value for name, value in facts.items() if value is not None}
    return status


def published(records: int, conflicts: Sequence[Conflict], held: str) -> Obj:
    """Say how a zone is that could be written: complete, or what is missing or waits."""
    if conflicts:
        more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
        return condition(READY, False, "Conflicts", f"{conflicts[0]}{more}")
    if held:
        return condition(READY, False, "ChangeHeld", held)
    return condition(READY, True, "Published", f"the zone has all names of this federation in {records} record sets")


def conflict_names(conflicts: Sequence[Conflict]) -> list[str]:
    """Return the first names that cannot be had, for the status."""
    return [each.name for each in conflicts[:_TOLD_CONFLICTS]]


def held_sentence(what: str, name: str) -> str:
    """Say that services keep their names although nobody wants them."""
    return f"{what}; `hanse approve {name}` takes them out of the zone"


def failed(sentence: str) -> Obj:
    """Say why a zone could not be read or written; it stays as it is meanwhile."""
    return condition(READY, False, "ProviderFailed", f"{sentence}; what was published stays as it is")


def troubles(conflicts: Iterable[Conflict], zone: str) -> dict[Key, str]:
    """Return what each Service lacks in a zone, in one sentence."""
    found: dict[Key, str] = {}
    for each in conflicts:
        found.setdefault(each.service, f"in the zone {zone}: {each}")
    return found


def service_conditions(service: Obj, sentences: Sequence[str], now: str) -> list[Obj] | None:
    """Return the conditions of a Service that lacks these, None where it says so already."""
    present = (service.get("status") or {}).get("conditions") or []
    before = find_condition(present, ZONES_PUBLISHED)
    if sentences:
        told = condition(ZONES_PUBLISHED, False, "Incomplete", "; ".join(sentences))
    elif before is None:
        return None
    else:
        told = condition(ZONES_PUBLISHED, True, "Published", "every zone has all names of the Service")
    if before is not None and _says(before, told):
        return None
    return merge_conditions(present, [told], now)


def _says(before: Mapping[str, object], told: Mapping[str, object]) -> bool:
    return all(before.get(name) == value for name, value in told.items())
