"""Record sets as Route 53 has them: one for each set identifier where answers differ by asker.

Pure. A routed record set keeps the set identifier in the `cluster` of its values, and the identifier says all that
makes the set what it is (`weighted/CLUSTER`, with `/RELEASE` where several serve there, `latency/REGION`,
`geolocation/CODE`, `multivalue/ADDRESS`, and behind a `|` what its health check asks), so that record sets compare
equal exactly when Route 53 would answer alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.api.dns_zones import GEOLOCATION, LATENCY, MULTIVALUE, SIMPLE, WEIGHTED, HealthCheckSettings, Route53Settings
from hanse.services.providers.interface import plain
from hanse.services.providers.route53_api import ApiSet, SetKey
from hanse.services.providers.routing import placed
from hanse.services.providers.texts import canonical_value, dotted, undotted, without_octal
from hanse.services.records import AAAA, TXT, A, Datum, RecordSet

_LARGEST_WEIGHT = 255
_AWS_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_CONTINENTS = {
    "af": "AF",
    "ap": "AS",
    "il": "AS",
    "me": "AS",
    "ca": "NA",
    "us": "NA",
    "mx": "NA",
    "eu": "EU",
    "sa": "SA",
}
_CONTINENT_CODES = ("AF", "AN", "AS", "EU", "OC", "NA", "SA")
_EVERYWHERE = "*"
_DECIMAL = re.compile(r"\\(\d{3})")


@dataclass(frozen=True, slots=True)
class Routing:
    """How answers differ by asker: the settings, and in which region of the federation each cluster is."""

    settings: Route53Settings
    region_of: Callable[[str], str]

    def stored(self, wanted: RecordSet) -> RecordSet:
        """Return a record set with the identifiers of the sets that it becomes; only addresses are routed."""
        if self.settings.routing == SIMPLE or wanted.type not in (A, AAAA):
            return plain(wanted)
        data = self._routed(wanted.data)
        if not data:
            return plain(wanted)
        check = check_text(self.settings.health)
        return replace(wanted, data=tuple(sorted({replace(each, cluster=each.cluster + check) for each in data})))

    def _routed(self, data: Sequence[Datum]) -> list[Datum]:
        match self.settings.routing:
            case "Multivalue":
                return [Datum(each.value, f"{MULTIVALUE.lower()}/{each.value}") for each in data]
            case "Weighted":
                most = max(each.weight for each in data)
                return [Datum(each.value, _weighted_identifier(each), _weight(each.weight, most)) for each in data]
            case "Latency":
                return placed(LATENCY.lower(), data, self._latency_region)
            case _:
                everywhere = [Datum(each.value, f"{GEOLOCATION.lower()}/{_EVERYWHERE}") for each in data]
                return [*everywhere, *placed(GEOLOCATION.lower(), data, self._location, spread=False)]

    def _latency_region(self, cluster: str) -> str:
        region = self.region_of(cluster)
        return self.settings.regions.get(region) or (region if _AWS_REGION.fullmatch(region) else "")

    def _location(self, cluster: str) -> str:
        region = self.region_of(cluster)
        told = self.settings.regions.get(region)
        if told:
            return told
        return _CONTINENTS.get(region[:2], "") if _AWS_REGION.fullmatch(region) else ""


def _weighted_identifier(datum: Datum) -> str:
    return "/".join(filter(None, (WEIGHTED.lower(), datum.cluster, datum.release)))


def _weight(weight: int, most: int) -> int:
    """Return a weight within Route 53's bounds, in proportion; nobody who serves gets nothing."""
    return max(1, min(weight, round(weight * _LARGEST_WEIGHT / most))) if most > _LARGEST_WEIGHT else max(1, weight)


def check_text(health: HealthCheckSettings | None) -> str:
    """Return what an identifier says of its set's health check, "" for none."""
    if health is None:
        return ""
    path = health.path if health.protocol != "TCP" else ""
    return f"|{health.protocol}:{health.port}{path} {health.interval_seconds}s {health.failures}"


def api_sets(record: RecordSet, checks: Mapping[SetKey, str]) -> dict[SetKey, ApiSet]:
    """Return a stored record set as Route 53 has it; `checks` are the health checks of the sets that want one."""
    groups: dict[str, list[Datum]] = {}
    for datum in record.data:
        groups.setdefault(datum.cluster, []).append(datum)
    made: dict[SetKey, ApiSet] = {}
    for identifier, data in groups.items():
        key = (record.name, record.type, identifier)
        made[key] = {
            "Name": dotted(record.name),
            "Type": record.type,
            "TTL": record.ttl,
            "ResourceRecords": [{"Value": _octal(each.value) if record.type == TXT else each.value} for each in data],
            **_routing(identifier, data[0].weight),
            **({"HealthCheckId": checks[key]} if key in checks else {}),
        }
    return made


def _routing(identifier: str, weight: int) -> ApiSet:
    if not identifier:
        return {}
    kind, _, what = identifier.partition("|")[0].partition("/")
    told: ApiSet = {"SetIdentifier": identifier}
    match kind:
        case "multivalue":
            told["MultiValueAnswer"] = True
        case "weighted":
            told["Weight"] = weight
        case "latency":
            told["Region"] = what
        case _:
            told["GeoLocation"] = _geolocation(what)
    return told


def _geolocation(code: str) -> dict[str, str]:
    sort, _, named = code.rpartition("/")
    continent = sort == "continent" if sort else named in _CONTINENT_CODES
    return {"ContinentCode" if continent else "CountryCode": named}


def read_sets(sets: Iterable[ApiSet]) -> list[RecordSet]:
    """Read what a hosted zone has, by whomever, into record sets."""
    found: dict[tuple[str, str], list[tuple[int, Datum]]] = {}
    for each in sets:
        name, kind, identifier = key_of_set(each)
        for value in _values(each):
            datum = Datum(value, identifier, int(each.get("Weight", 1)))
            found.setdefault((name, kind), []).append((int(each.get("TTL", 0)), datum))
    return sorted(
        RecordSet(name, kind, min(ttl for ttl, _ in data), tuple(sorted(datum for _, datum in data)))
        for (name, kind), data in found.items()
    )


def key_of_set(each: ApiSet) -> SetKey:
    """Return what Route 53 knows a set by."""
    return undotted(without_octal(each["Name"])), str(each["Type"]), str(each.get("SetIdentifier", ""))


def _values(each: ApiSet) -> list[str]:
    if "AliasTarget" in each:
        return [f"ALIAS {each['AliasTarget'].get('DNSName', '')}"]
    kind, values = each["Type"], [str(entry["Value"]) for entry in each.get("ResourceRecords", ())]
    return [canonical_value(kind, _decimal(value) if kind == TXT else value) for value in values]


def _octal(value: str) -> str:
    """Spell bytes that are not printable as Route 53 does, in octal where zone files have decimal."""
    return _DECIMAL.sub(lambda found: f"\\{int(found[1]):03o}", value)


def _decimal(value: str) -> str:
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: f"\\{int(found[1], 8):03d}", value)
