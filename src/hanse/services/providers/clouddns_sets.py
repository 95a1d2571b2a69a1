"""Record sets as Google Cloud DNS has them: one for each name and type, with a routing policy where answers differ.

Pure. A routed record set keeps its item in the `cluster` of its values: `geo/REGION`, or `wrr/NUMBER` in the order of
the items, so that record sets compare equal exactly when Cloud DNS would answer alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hanse.api.dns_zones import GEOLOCATION, SIMPLE, CloudDnsSettings
from hanse.services.providers.interface import plain
from hanse.services.providers.routing import placed
from hanse.services.providers.texts import canonical_value, dotted, undotted
from hanse.services.records import AAAA, A, Datum, RecordSet

ApiSet = dict[str, Any]
_GOOGLE_REGION = re.compile(r"[a-z]+-[a-z]+\d+")


@dataclass(frozen=True, slots=True)
class Routing:
    """How answers differ by asker: the settings, and in which region of the federation each cluster is."""

    settings: CloudDnsSettings
    region_of: Callable[[str], str]

    def stored(self, wanted: RecordSet) -> RecordSet:
        """Return a record set with the items of the policy that it gets; only addresses are routed."""
        if self.settings.routing == SIMPLE or wanted.type not in (A, AAAA):
            return plain(wanted)
        by_place = self.settings.routing == GEOLOCATION
        data = placed("geo", wanted.data, self._location) if by_place else _weighted(wanted.data)
        return replace(wanted, data=tuple(sorted(data))) if data else plain(wanted)

    def _location(self, cluster: str) -> str:
        region = self.region_of(cluster)
        return self.settings.regions.get(region) or (region if _GOOGLE_REGION.fullmatch(region) else "")


def _weighted(data: Sequence[Datum]) -> list[Datum]:
    items = sorted({(each.cluster, each.release) for each in data})
    return [Datum(each.value, f"wrr/{items.index((each.cluster, each.release)):03}", each.weight) for each in data]


def api_set(record: RecordSet) -> ApiSet:
    """Return a stored record set as Cloud DNS has it."""
    made: ApiSet = {"name": dotted(record.name), "type": record.type, "ttl": record.ttl}
    items: dict[str, list[Datum]] = {}
    for datum in record.data:
        items.setdefault(datum.cluster, []).append(datum)
    if set(items) == {""}:
        return made | {"rrdatas": list(record.values)}
    if next(iter(items)).startswith("geo/"):
        located = [
            {"location": item.removeprefix("geo/"), "rrdatas": [each.value for each in data]}
            for item, data in sorted(items.items())
        ]
        return made | {"routingPolicy": {"geo": {"items": located}}}
    shared = [
        {"weight": float(data[0].weight), "rrdatas": [each.value for each in data]} for _, data in sorted(items.items())
    ]
    return made | {"routingPolicy": {"wrr": {"items": shared}}}


def read_sets(sets: Iterable[ApiSet]) -> list[RecordSet]:
    """Read what a managed zone has, by whomever, into record sets."""
    return sorted(
        RecordSet(undotted(each["name"]), each["type"], int(each.get("ttl", 0)), tuple(sorted(_data(each))))
        for each in sets
    )


def _data(each: ApiSet) -> list[Datum]:
    policy = each.get("routingPolicy") or {}
    if "geo" in policy:
        return [
            Datum(canonical_value(each["type"], value), f"geo/{item.get('location', '')}")
            for item in policy["geo"].get("items", ())
            for value in item.get("rrdatas", ())
        ]
    if "wrr" in policy:
        return [
            Datum(canonical_value(each["type"], value), f"wrr/{index:03}", int(item.get("weight", 1)))
            for index, item in enumerate(policy["wrr"].get("items", ()))
            for value in item.get("rrdatas", ())
        ]
    values = each.get("rrdatas", ())
    return [Datum(canonical_value(each["type"], value)) for value in values]
