"""Services and Ingresses: the addresses of every member, sorted, each once."""

from __future__ import annotations

from hanse.api.names import SERVICE_INGRESSES_ANNOTATION
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.propagation.report import Report
from hanse.propagation.statuses.conditions import members_of


def service_status(source: Obj, report: Report, _now: str) -> Obj:
    """Return the status of a Service; only one of type LoadBalancer has addresses.

    Of one with a name in DNS that name is told in their place, by those who know it.
    """
    if SERVICE_INGRESSES_ANNOTATION in annotations_of(source):
        return {"loadBalancer": {}, **(source.get("status") or {})}
    balanced = dig(source, "spec", "type") == "LoadBalancer"
    return _with_addresses(source, _addresses(report) if balanced else [])


def ingress_status(source: Obj, report: Report, _now: str) -> Obj:
    """Return the status of an Ingress."""
    return _with_addresses(source, _addresses(report))


def _addresses(report: Report) -> list[Obj]:
    found: list[Obj] = []
    for obj in members_of(report):
        for entry in dig(obj, "status", "loadBalancer", "ingress", default=[]):
            if entry not in found:
                found.append(entry)
    return sorted(found, key=lambda entry: (entry.get("ip") or "", entry.get("hostname") or ""))


def _with_addresses(source: Obj, addresses: list[Obj]) -> Obj:
    status = dict(source.get("status") or {})
    if not _shown(dig(status, "loadBalancer", "ingress", default=[]), addresses):
        status["loadBalancer"] = {"ingress": addresses} if addresses else {}
    status.setdefault("loadBalancer", {})
    return status


def _shown(before: list[Obj], addresses: list[Obj]) -> bool:
    """Tell whether these addresses are there already; the host's server may have added to them, such as an ipMode."""
    return len(before) == len(addresses) and all(
        entry.items() <= old.items() for entry, old in zip(_bare(addresses), _bare(before), strict=True)
    )


def _bare(addresses: list[Obj]) -> list[Obj]:
    # What is listed cannot be compared as items; of an address these are only its ports.
    return [{name: str(value) for name, value in entry.items()} for entry in addresses]
