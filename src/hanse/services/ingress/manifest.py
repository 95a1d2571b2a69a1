"""Reading an Ingress for a global load balancer: one form whatever its API version, and the defaults of kubemci."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import Obj, annotations_of, dig, namespace_of

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
STATIC_IP_ANNOTATION = "kubernetes.io/ingress.global-static-ip-name"
ALLOW_HTTP_ANNOTATION = "kubernetes.io/ingress.allow-http"
PRE_SHARED_CERT_ANNOTATION = "ingress.gcp.kubernetes.io/pre-shared-cert"
MULTI_CLUSTER_CLASS = "gce-multi-cluster"
DEFAULT_NAMESPACE = "default"
_FORMER_VERSIONS = ("extensions/v1beta1", "networking.k8s.io/v1beta1")


class IngressError(ValueError):
    """An Ingress, or what is asked of it, cannot be used; its text is the sentence that says why."""


@dataclass(frozen=True, slots=True, order=True)
class Backend:
    """What a rule leads to: a port of a Service, by number or by name."""

    service: str
    port: str

    def __str__(self) -> str:
        return f"{self.service}:{self.port}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One path of one host; "" is every host, and every path."""

    host: str
    path: str
    backend: Backend
    exact: bool = False


def modern_ingress(document: Any) -> Obj:
    """Return an Ingress of any API version as one of networking.k8s.io/v1."""
    if not isinstance(document, dict) or document.get("kind") != INGRESSES.kind:
        raise IngressError("the file must hold one Ingress")
    metadata, version = document.get("metadata"), document.get("apiVersion")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise IngressError("metadata.name: an Ingress needs a name")
    spec = document.get("spec") or {}
    if version in _FORMER_VERSIONS:
        spec = _modern_spec(spec)
    elif version != INGRESSES.api_version:
        raise IngressError(f"apiVersion: {version} has no Ingress; write {INGRESSES.api_version}")
    return {"apiVersion": INGRESSES.api_version, "kind": INGRESSES.kind, "metadata": dict(metadata), "spec": spec}


def in_namespace(ingress: Obj, namespace: str) -> Obj:
    """Return the Ingress in its namespace: that of the file, else the one that was asked for, else `default`."""
    own = namespace_of(ingress)
    if own and namespace and own != namespace:
        raise IngressError(
            f'the namespace from the provided ingress "{own}" does not match the namespace "{namespace}". '
            f"You must pass '--namespace={own}' to perform this operation"
        )
    chosen = own or namespace or DEFAULT_NAMESPACE
    return {**ingress, "metadata": {**ingress["metadata"], "namespace": chosen}}


def of_many_clusters(ingress: Obj) -> Obj:
    """Return the Ingress with the class by which clusters leave the load balancer to somebody outside."""
    if name := dig(ingress, "spec", "ingressClassName"):
        raise IngressError(f"spec.ingressClassName is {name}; leave it out, the class must be {MULTI_CLUSTER_CLASS}")
    given = annotations_of(ingress).get(CLASS_ANNOTATION)
    if given and given != MULTI_CLUSTER_CLASS:
        raise IngressError(f"ingress class is {given}, must be {MULTI_CLUSTER_CLASS}")
    return _annotated(ingress, CLASS_ANNOTATION, MULTI_CLUSTER_CLASS)


def with_static_ip(ingress: Obj, asked: str) -> Obj:
    """Return the Ingress with the name of its reserved address, by the file or as it was asked for."""
    own = annotations_of(ingress).get(STATIC_IP_ANNOTATION)
    if own and asked and own != asked:
        raise IngressError(
            f'the "{STATIC_IP_ANNOTATION}" from the provided ingress "{own}" does not match --static-ip={asked}. '
            f"You must pass '--static-ip={own}' to perform this operation"
        )
    if not own and not asked:
        raise IngressError(
            f'ingress spec must provide a Global Static IP through annotation of "{STATIC_IP_ANNOTATION}" '
            "(alternatively, use --static-ip flag)"
        )
    return _annotated(ingress, STATIC_IP_ANNOTATION, own or asked)


def default_backend(ingress: Obj) -> Backend | None:
    """Return where goes what no rule speaks of."""
    given = dig(ingress, "spec", "defaultBackend")
    return None if given is None else _backend(given, "spec.defaultBackend")


def rules_of(ingress: Obj) -> list[Rule]:
    """Return every path of every host, in order; what is not HTTP has none."""
    return [
        Rule(
            rule.get("host") or "",
            path.get("path") or "",
            _backend(path.get("backend") or {}, f"spec.rules[{number}].http.paths[{place}].backend"),
            exact=path.get("pathType") == "Exact",
        )
        for number, rule in enumerate(_mappings(dig(ingress, "spec", "rules"), "spec.rules"))
        for place, path in enumerate(_mappings(dig(rule, "http", "paths"), f"spec.rules[{number}].http.paths"))
    ]


def _mappings(given: Any, field: str) -> list[Obj]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise IngressError(f"{field} must be a list of mappings")
    return given


def backends_of(ingress: Obj) -> list[Backend]:
    """Return every port of a Service that the Ingress leads to, each once, the default one first."""
    return list(dict.fromkeys(_backends(ingress)))


def _backends(ingress: Obj) -> Iterator[Backend]:
    if (default := default_backend(ingress)) is not None:
        yield default
    for rule in rules_of(ingress):
        yield rule.backend


def _backend(given: Obj, field: str) -> Backend:
    port = dig(given, "service", "port", default={})
    name, number = dig(given, "service", "name"), port.get("number") or port.get("name")
    if not name or not number:
        raise IngressError(f"{field}: it must name a service and its port")
    return Backend(str(name), str(number))


def _annotated(ingress: Obj, annotation: str, text: str) -> Obj:
    annotations = {**annotations_of(ingress), annotation: text}
    return {**ingress, "metadata": {**ingress["metadata"], "annotations": annotations}}


def _modern_spec(spec: Obj) -> Obj:
    modern = {name: value for name, value in spec.items() if name not in ("backend", "rules")}
    if spec.get("backend"):
        modern["defaultBackend"] = _modern_backend(spec["backend"])
    if spec.get("rules"):
        modern["rules"] = [_modern_rule(rule) for rule in spec["rules"]]
    return modern


def _modern_rule(rule: Obj) -> Obj:
    if not rule.get("http"):
        return rule
    paths = [
        {"pathType": "ImplementationSpecific", **path, "backend": _modern_backend(path.get("backend") or {})}
        for path in rule["http"].get("paths") or ()
    ]
    return {**rule, "http": {"paths": paths}}


def _modern_backend(backend: Obj) -> Obj:
    if "serviceName" not in backend:
        return backend
    port = backend.get("servicePort")
    return {
        "service": {
            "name": backend["serviceName"],
            "port": {"number": port} if isinstance(port, int) else {"name": port},
        }
    }
