"""The kinds of KubeFed's multi-cluster DNS: domains, records for services and ingresses, endpoints for DNS servers."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.cluster_kind import record, text
from hanse.api.kubefed.forms import FORM_C, FORM_D, FORM_D0, Form
from hanse.api.kubefed.serving import kubefed_definition
from hanse.api.kubefed.template_schemas import ANYTHING
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

_TEXTS: Obj = {"type": "array", "items": text()}
_TTL: Obj = {"type": "integer", "format": "int64", "minimum": 0, "description": "Seconds; 180 where it is not given"}
_ANSWERS: Obj = {
    "type": "array",
    "items": record(
        {
            "cluster": text(),
            "region": text(),
            "zone": text(),
            "zones": _TEXTS,
            "loadBalancer": {"type": "object", **ANYTHING},
        }
    ),
}
_SERVICE_SPEC = record(
    {
        "domainRef": text("The Domain in which the service is published", minLength=1),
        "recordTTL": _TTL,
        "dnsPrefix": text(),
        "externalName": text(),
        "allowServiceWithoutEndpoints": {"type": "boolean"},
    },
    required=["domainRef"],
)
_INGRESS_SPEC = record({"hosts": _TEXTS, "recordTTL": _TTL})
_ENDPOINT = record(
    {
        "dnsName": text(),
        "targets": _TEXTS,
        "recordType": text(),
        "recordTTL": _TTL,
        "labels": {"type": "object", "additionalProperties": text()},
    }
)
_FIRST_SERVICE_SPEC = record({"federationName": text(), "dnsSuffix": text(), "recordTTL": _TTL})


def dns_resource(form: Form, kind: str) -> Resource:
    """Return a kind of multi-cluster DNS, such as ServiceDNSRecord, in the group of a form."""
    return Resource(f"multiclusterdns.{form.family}", "v1alpha1", f"{kind.lower()}s", kind)


def _definitions(form: Form) -> Iterator[Obj]:
    yield kubefed_definition(
        dns_resource(form, "Domain"), {"domain": text(minLength=1), "nameServer": text()}, required=["domain"]
    )
    answered = record({"domain": text(), "dns": _ANSWERS})
    for kind, spec in (("ServiceDNSRecord", _SERVICE_SPEC), ("IngressDNSRecord", _INGRESS_SPEC)):
        yield kubefed_definition(dns_resource(form, kind), {"spec": spec}, status=answered)
    observed = record({"observedGeneration": {"type": "integer", "format": "int64"}})
    endpoints = record({"endpoints": {"type": "array", "items": _ENDPOINT}})
    yield kubefed_definition(dns_resource(form, "DNSEndpoint"), {"spec": endpoints}, status=observed)
    if form == FORM_C:
        for kind, spec in (
            ("MultiClusterServiceDNSRecord", _FIRST_SERVICE_SPEC),
            ("MultiClusterIngressDNSRecord", _INGRESS_SPEC),
        ):
            yield kubefed_definition(dns_resource(form, kind), {"spec": spec}, status=answered)


DNS_CRDS: tuple[Obj, ...] = tuple(one for form in (FORM_D, FORM_D0, FORM_C) for one in _definitions(form))
