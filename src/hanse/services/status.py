"""What a Service of the federation tells of itself: its hostname, the addresses of each cluster, and what is missing.

All pure. The annotation and its form are federation v1's; conditions are of the Kubernetes API.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from hanse.api.names import SERVICE_INGRESSES_ANNOTATION
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.services.judging import Judgement
from hanse.services.observing import Sighting, Wish
from hanse.services.presence import FederatedService, Presence

DNS_PUBLISHED = "hanse.dev/DNSPublished"
ENDPOINTS_HEALTHY = "hanse.dev/EndpointsHealthy"
_CONDITIONS = (DNS_PUBLISHED, ENDPOINTS_HEALTHY)

# The addresses of one cluster as the annotation has them; None where no endpoint behind them is ready.
Ingresses = Mapping[str, Sequence[Obj] | None]


def ingresses_of(presences: Iterable[Presence], sightings: Mapping[str, Sighting], told: Ingresses) -> Ingresses:
    """Return what the annotation lists: each cluster with an address; one that cannot be asked as it was `told`."""
    found: dict[str, Sequence[Obj] | None] = {}
    for presence in presences:
        sighting = sightings.get(presence.cluster)
        if sighting is None:
            found[presence.cluster] = told.get(presence.cluster, [])
        elif sighting.balancers:
            entries = [{kind: value} for kind, value in sighting.balancers]
            found[presence.cluster] = None if presence.backends == 0 else entries
    return found


def ingresses_text(ingresses: Ingresses) -> str:
    """Write the annotation, as federation v1 spelt it."""
    items = [
        {"cluster": cluster, "items": entries if entries is None else list(entries)}
        for cluster, entries in sorted(ingresses.items())
    ]
    return json.dumps({"items": items} if items else {}, separators=(",", ":"))


def told_ingresses(source: Obj) -> Ingresses:
    """Read the annotation; what cannot be read says nothing."""
    try:
        items = json.loads(annotations_of(source).get(SERVICE_INGRESSES_ANNOTATION, "{}")).get("items") or []
        return {str(item["cluster"]): item.get("items") for item in items}
    except (ValueError, AttributeError, KeyError, TypeError):
        return {}


def with_ingresses(source: Obj, text: str | None) -> Obj:
    """Return a Service with the annotation, or without it; the same one where that is so already."""
    if annotations_of(source).get(SERVICE_INGRESSES_ANNOTATION) == text:
        return source
    kept = {name: each for name, each in annotations_of(source).items() if name != SERVICE_INGRESSES_ANNOTATION}
    if text is not None:
        kept[SERVICE_INGRESSES_ANNOTATION] = text
    metadata = {name: each for name, each in source["metadata"].items() if name != "annotations"}
    return {**source, "metadata": {**metadata, "annotations": kept} if kept else metadata}


def published_status(source: Obj, service: FederatedService, hostname: str, conditions: Sequence[Obj], now: str) -> Obj:
    """Return the status of a Service with names in DNS: its hostname, once any cluster has an address."""
    status = dict(source.get("status") or {})
    named = dig(source, "spec", "type") == "LoadBalancer" and any(each.addresses for each in service.presences)
    before = dig(status, "loadBalancer", "ingress", default=[])
    if not named:
        status["loadBalancer"] = {}
    elif len(before) != 1 or before[0].get("hostname") != hostname or before[0].get("ip"):
        status["loadBalancer"] = {"ingress": [{"hostname": hostname}]}
    status["conditions"] = merge_conditions(status.get("conditions"), list(conditions), now)
    return status


def unpublished_status(source: Obj) -> Obj:
    """Return the status of a Service without names in DNS: none of what was said about them stays."""
    status = dict(source.get("status") or {})
    before = status.get("conditions") or []
    if any(each.get("type") in _CONDITIONS for each in before):
        status["conditions"] = [each for each in before if each.get("type") not in _CONDITIONS]
        if not status["conditions"]:
            del status["conditions"]
    return status


def conditions_of(service: FederatedService, judgement: Judgement, wish: Wish, hostname: str) -> list[Obj]:
    """Say whether clients find the service, and whether it is healthy wherever it is."""
    return [_found(service, wish, hostname), _healthy(judgement)]


def _found(service: FederatedService, wish: Wish, hostname: str) -> Obj:
    if wish.problem:
        return condition(DNS_PUBLISHED, bool(service.serving), "BadAnnotation", wish.problem)
    if service.serving:
        return condition(DNS_PUBLISHED, True, "Published", f"clients find it at {hostname}")
    if any(each.addresses for each in service.presences):
        return condition(DNS_PUBLISHED, False, "NoEndpoints", f"{hostname} does not exist: {_left_out(service)}")
    return condition(DNS_PUBLISHED, False, "NoAddresses", "no cluster has an address for it yet")


def _healthy(judgement: Judgement) -> Obj:
    presences = judgement.presences
    if judgement.failed_open:
        kept = "; ".join(f"{each.cluster}: {each.why}" for each in presences if each.serving)
        return condition(ENDPOINTS_HEALTHY, False, "FailedOpen", f"clients are led where nobody may answer: {kept}")
    troubled = [each for each in presences if not each.serving or each.dead or each.why]
    if troubled:
        reason = "SomeOut" if any(each.live for each in presences) else "AllOut"
        return condition(ENDPOINTS_HEALTHY, False, reason, "; ".join(map(_trouble, troubled)))
    if not presences:
        return condition(ENDPOINTS_HEALTHY, None, "Nowhere", "no cluster has the Service yet")
    return condition(ENDPOINTS_HEALTHY, True, "AllServe", "clients are led to every cluster that has it")


def _trouble(presence: Presence) -> str:
    if presence.serving and presence.dead:
        return f"{presence.cluster}: nobody is led to {', '.join(presence.dead)}"
    return f"{presence.cluster}: {presence.why}"


def _left_out(service: FederatedService) -> str:
    return "; ".join(f"{each.cluster}: {each.why}" for each in service.presences if each.addresses)
