"""Ingresses, network policies, addresses and networks of services, endpoint slices."""

from __future__ import annotations

import re
from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, dig
from hanse.kube.names import name_problems

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD.pattern}')"
)
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_DOMAIN_PATH = 'must be a domain-prefixed path (such as "acme.io/foo")'


def _with_spec(obj: Obj) -> None:
    obj.setdefault("spec", {})


def _validate_ingress(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        told = "either `defaultBackend` or `rules` must be specified"
        return [invalid_value("spec", None, told)]
    problems = []
    for place, rule in enumerate(spec.get("rules") or ()):
        problems += _host_problems(rule.get("host"), f"spec.rules[{place}].host")
        if isinstance(rule.get("http"), dict):
            problems += _paths_problems(rule["http"].get("paths") or [], f"spec.rules[{place}].http.paths")
    if spec.get("defaultBackend"):
        problems += _backend_problems(spec["defaultBackend"], "spec.defaultBackend")
    if spec.get("ingressClassName"):
        problems += field_rules.named("spec.ingressClassName", spec["ingressClassName"])
    return problems


def _host_problems(host: Any, field: str) -> list[FieldProblem]:
    if not host:
        return []
    if not field_rules.address(field, host):
        return [invalid_value(field, host, "must be a DNS name, not an IP address")]
    if "*" in host:
        return [] if _WILDCARD.fullmatch(host) else [invalid_value(field, host, _WILDCARD_RULE)]
    return field_rules.named(field, host)


def _paths_problems(paths: list[Obj], field: str) -> list[FieldProblem]:
    if not paths:
        return [required_value(field)]
    problems = []
    for place, path in enumerate(paths):
        at = f"{field}[{place}]"
        problems += _path_problems(path, at) + _backend_problems(path.get("backend") or {}, f"{at}.backend")
    return problems


def _path_problems(path: Obj, field: str) -> list[FieldProblem]:
    kind, text = path.get("pathType"), str(path.get("path") or "")
    if not kind:
        return [required_value(f"{field}.pathType", "pathType must be specified")]
    if kind not in _PATH_TYPES:
        return [unsupported_value(f"{field}.pathType", kind, _PATH_TYPES)]
    if kind == "ImplementationSpecific":
        return []
    if not text.startswith("/"):
        return [invalid_value(f"{field}.path", text, "must be an absolute path")]
    told = [f"must not contain '{one}'" for one in _BAD_PARTS if one in text]
    told += [f"cannot end with '{one}'" for one in _BAD_ENDS if text.endswith(one)]
    return [invalid_value(f"{field}.path", text, one) for one in told]


def _backend_problems(backend: Obj, field: str) -> list[FieldProblem]:
    service = backend.get("service")
    if not isinstance(service, dict):
        if backend.get("resource"):
            return []
        return [invalid_value(field, "", "resource or service backend is required")]
    problems = []
    if not service.get("name"):
        problems.append(required_value(f"{field}.service.name"))
    name, number = dig(service, "port", "name"), dig(service, "port", "number")
    if name and number:
        problems.append(invalid_value(field, "", "cannot set both port name & port number"))
    elif not name and not number:
        problems.append(required_value(field, "port name or number is required"))
    return problems


def _validate_ingress_class(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    controller = str(spec.get("controller") or "")
    domain, slash, path = controller.partition("/")
    problems = []
    if controller and (not slash or not path or name_problems(domain, "subdomain")):
        problems.append(invalid_value("spec.controller", controller, _DOMAIN_PATH))
    if old is not None:
        problems += field_rules.unchanged(spec, old.get("spec") or {}, "spec.", "controller")
    return problems


def _default_network_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate_network_policy(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    problems = field_rules.label_selector(spec.get("podSelector"), "spec.podSelector")
    for listed, peers in (("ingress", "from"), ("egress", "to")):
        for place, rule in enumerate(spec.get(listed) or ()):
            field = f"spec.{listed}[{place}]"
            for at, port in enumerate(rule.get("ports") or ()):
                problems += _policy_port(port, f"{field}.ports[{at}]")
            for at, peer in enumerate(rule.get(peers) or ()):
                problems += _peer_problems(peer, f"{field}.{peers}[{at}]")
    for place, one in enumerate(spec.get("policyTypes") or ()):
        problems += field_rules.one_of(f"spec.policyTypes[{place}]", one, ("Ingress", "Egress"))
    return problems


def _policy_port(port: Obj, field: str) -> list[FieldProblem]:
    problems = field_rules.one_of(f"{field}.protocol", port.get("protocol"), ("TCP", "UDP", "SCTP"))
    number, last = port.get("port"), port.get("endPort")
    if number is None:
        if last is not None:
            told = "may not be specified when `port` is not specified"
            problems.append(invalid_value(f"{field}.endPort", last, told))
        return problems
    problems += field_rules.port(f"{field}.port", number)
    if last is not None and isinstance(number, str):
        told = "may not be specified when `port` is non-numeric"
        problems.append(invalid_value(f"{field}.endPort", last, told))
    elif last is not None and last < number:
        problems.append(invalid_value(f"{field}.endPort", last, "must be greater than or equal to `port`"))
    return problems


def _peer_problems(peer: Obj, field: str) -> list[FieldProblem]:
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    block = peer.get("ipBlock")
    if not selectors and block is None:
        return [required_value(field, "must specify a peer")]
    if selectors and block is not None:
        return [forbidden_value(field, "may not specify both ipBlock and another peer")]
    problems = [one for name in selectors for one in field_rules.label_selector(peer[name], f"{field}.{name}")]
    return problems + (_block_problems(block, f"{field}.ipBlock") if block is not None else [])


def _block_problems(block: Obj, field: str) -> list[FieldProblem]:
    problems = field_rules.cidr(f"{field}.cidr", block.get("cidr") or "")
    whole = field_rules.network(block.get("cidr"))
    for place, one in enumerate(block.get("except") or ()):
        at, part = f"{field}.except[{place}]", field_rules.network(one)
        if part is None:
            problems += field_rules.cidr(at, one)
        elif whole is not None and (part == whole or not _within(part, whole)):
            problems.append(invalid_value(at, one, "must be a strict subset of `cidr`"))
    return problems


def _within(part: Any, whole: Any) -> bool:
    return bool(part.version == whole.version and part.subnet_of(whole))


def _validate_address(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = field_rules.address("metadata.name", obj["metadata"].get("name") or "")
    parent = dig(obj, "spec", "parentRef")
    if parent is None:
        return [*problems, required_value("spec.parentRef")]
    problems += [required_value(f"spec.parentRef.{name}") for name in ("resource", "name") if not parent.get(name)]
    if old is not None and parent != dig(old, "spec", "parentRef"):
        shown = {name.capitalize(): parent.get(name) or "" for name in ("group", "resource", "namespace", "name")}
        problems.append(invalid_value("spec.parentRef", shown, field_rules.IMMUTABLE))
    return problems


def _validate_service_networks(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    cidrs = dig(obj, "spec", "cidrs", default=None) or []
    if old is not None:
        before = dig(old, "spec", "cidrs", default=None) or []
        return [
            invalid_value(f"spec.cidrs[{place}]", one, field_rules.IMMUTABLE)
            for place, one in enumerate(cidrs)
            if place < len(before) and one != before[place]
        ]
    if not cidrs:
        return [required_value("spec.cidrs", "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid_value("spec.cidrs", {"CIDRs": cidrs}, "may only hold up to 2 values")]
    problems = [one for place, cidr in enumerate(cidrs) for one in field_rules.cidr(f"spec.cidrs[{place}]", cidr)]
    if len(cidrs) == 2 and not problems and len({":" in one for one in cidrs}) == 1:
        told = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        problems.append(invalid_value("spec.cidrs", cidrs, told))
    return problems


def _default_slice(obj: Obj) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
    obj.setdefault("endpoints", None)
    obj.setdefault("ports", None)


def _validate_slice(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    kind, allowed = obj.get("addressType"), ("FQDN", "IPv4", "IPv6")
    if not kind:
        return [required_value("addressType")]
    if kind not in allowed:
        return [unsupported_value("addressType", kind, allowed)]
    problems = []
    for place, endpoint in enumerate(obj.get("endpoints") or ()):
        problems += _endpoint_problems(endpoint, f"endpoints[{place}].addresses", kind)
    names: set[str] = set()
    for place, port in enumerate(obj.get("ports") or ()):
        name = str(port.get("name") or "")
        if name in names:
            problems.append(duplicate_value(f"ports[{place}].name", name))
        names.add(name)
    return problems + (field_rules.unchanged(obj, old, "", "addressType") if old is not None else [])


def _endpoint_problems(endpoint: Obj, field: str, kind: str) -> list[FieldProblem]:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        return [required_value(field, "must contain at least 1 address")]
    check = field_rules.named if kind == "FQDN" else field_rules.address
    return [problem for place, one in enumerate(addresses) for problem in check(f"{field}[{place}]", one)]


INGRESS = Strategy(_with_spec, _validate_ingress, counts_generation=True, new_status={"loadBalancer": {}})
INGRESS_CLASS = Strategy(_with_spec, _validate_ingress_class, counts_generation=True)
NETWORK_POLICY = Strategy(_default_network_policy, _validate_network_policy, counts_generation=True)
SLICE = Strategy(_default_slice, _validate_slice, counts_generation=True)
ADDRESS = Strategy(_with_spec, _validate_address, name_rule="path")
SERVICE_NETWORKS = Strategy(_with_spec, _validate_service_networks, new_status={})
