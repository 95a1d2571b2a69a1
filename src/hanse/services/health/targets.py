"""What is probed, and what a checker says of it: HealthReports read into values and written from them, pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple

from hanse.api.health_reports import HEALTH_REPORTS, report_key
from hanse.kube.manifest import Key, Obj, dig
from hanse.services.health.checks import Check, check_entry
from hanse.services.health.standing import Standing, State
from hanse.services.presence import FederatedService


class Target(NamedTuple):
    """One address of one Service in one cluster."""

    service: Key
    cluster: str
    address: str


@dataclass(frozen=True, slots=True)
class Report:
    """What one checker says of the addresses of one Service; what it has not judged yet is not among them."""

    service: Key
    checker: str
    # Which run of the checker says it.
    session: str = ""
    standings: Mapping[tuple[str, str], Standing] = field(default_factory=dict)


def targets_of(service: FederatedService) -> tuple[Target, ...]:
    """Return what there is to probe of a Service: also that to which nobody is led, since it may be well again."""
    if not service.published:
        return ()
    return tuple(
        Target(service.key, presence.cluster, address)
        for presence in service.presences
        for address in presence.addresses
        if _is_probed(address)
    )


def _is_probed(address: str) -> bool:
    """Tell whether an address is anybody else's but the prober's own network's.

    What Services say of their addresses is their authors' word: nobody may have us ask a cloud's metadata service.
    """
    ip = ip_address(address)
    return not (ip.is_link_local or ip.is_multicast or ip.is_unspecified)


def report_manifest(namespace: str, checker: str, service: Key, check: Check, targets: Iterable[Target]) -> Obj:
    """Write what a checker is asked to probe."""
    key = report_key(namespace, checker, service)
    return {
        "apiVersion": HEALTH_REPORTS.api_version,
        "kind": HEALTH_REPORTS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {
            "checker": checker,
            "service": {"namespace": service.namespace, "name": service.name},
            "check": check_entry(check),
            "targets": [_entry(target.cluster, target.address) for target in targets],
        },
    }


def service_of(report: Obj) -> Key:
    """Return the Service that a HealthReport is about."""
    spec = report["spec"]["service"]
    return Key(spec["namespace"], spec["name"])


def assigned_targets(report: Obj) -> tuple[Target, ...]:
    """Return what a HealthReport asks to be probed."""
    service = service_of(report)
    return tuple(Target(service, entry["cluster"], entry["address"]) for entry in report["spec"]["targets"])


def told_status(session: str, standings: Mapping[tuple[str, str], Standing]) -> Obj:
    """Write what a checker sees in one run of it; what it cannot tell yet is left out."""
    alive = sorted(place for place, standing in standings.items() if standing.state is State.ALIVE)
    dead = sorted(place for place, standing in standings.items() if standing.state is State.DEAD)
    return {
        "session": session,
        "alive": [_entry(*place) for place in alive],
        "dead": [_entry(*place) | {"why": standings[place].why} for place in dead],
        "aliveCount": len(alive),
        "deadCount": len(dead),
    }


def read_report(obj: Obj) -> Report:
    """Read what a checker says; what it is not asked about any more does not count."""
    asked = {(target.cluster, target.address) for target in assigned_targets(obj)}
    told = {_place(entry): Standing(State.ALIVE) for entry in dig(obj, "status", "alive", default=[])}
    for entry in dig(obj, "status", "dead", default=[]):
        told[_place(entry)] = Standing(State.DEAD, entry.get("why") or "")
    standings = {place: standing for place, standing in told.items() if place in asked}
    session = dig(obj, "status", "session", default="")
    return Report(service_of(obj), obj["spec"]["checker"], session, standings)


def _entry(cluster: str, address: str) -> Obj:
    return {"cluster": cluster, "address": address}


def _place(entry: Obj) -> tuple[str, str]:
    return entry["cluster"], entry["address"]
