"""Rules of services."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.names import label_problems
from hanse.apiserver.status import FieldProblem, duplicate_value, forbidden_value, invalid_value, required_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.names import name_problems

NODE_PORTS = range(30000, 32768)
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LOCAL_OR_NOT = ("Cluster", "Local")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_LONGEST_AFFINITY_SECONDS = 86400


def validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a service."""
    spec = obj.get("spec") or {}
    problems = []
    if not spec.get("ports") and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        problems.append(required_value("spec.ports"))
    problems += _type_problems(spec, old) + _all_ports(spec)
    problems += label_problems(spec.get("selector") or {}, "spec.selector")
    problems += field_rules.one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    problems += _affinity_problems(spec)
    for place, one in enumerate(spec.get("externalIPs") or ()):
        problems += field_rules.address(f"spec.externalIPs[{place}]", one)
    return problems + _source_range_problems(spec) + _traffic_problems(spec)


def _type_problems(spec: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = field_rules.one_of("spec.type", spec["type"], _TYPES)
    if problems:
        return problems
    if spec["type"] == "ExternalName":
        if spec.get("clusterIP"):
            problems.append(forbidden_value("spec.clusterIPs", "may not be set for ExternalName services"))
        if spec.get("externalName"):
            return problems + field_rules.named("spec.externalName", spec["externalName"].rstrip("."))
        return [*problems, required_value("spec.externalName")]
    return problems + _family_problems(spec) + address_problems(spec, old)


def _family_problems(spec: Obj) -> list[FieldProblem]:
    problems = []
    for place, one in enumerate(spec.get("ipFamilies") or ()):
        problems += field_rules.one_of(f"spec.ipFamilies[{place}]", one, ("IPv4", "IPv6"))
    policy = spec.get("ipFamilyPolicy")
    return problems + (field_rules.one_of("spec.ipFamilyPolicy", policy, _POLICIES) if policy else [])


def address_problems(spec: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check the addresses that a service asks for."""
    given, listed = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if listed and given and listed[0] != given:
        return [invalid_value("spec.clusterIPs", listed, "first value must match `clusterIP`")]
    if given == "None" and spec["type"] != "ClusterIP":
        told = f"may not be set to 'None' for {spec['type']} services"
        return [invalid_value("spec.clusterIPs[0]", given, told)]
    problems = field_rules.address("spec.clusterIPs[0]", given) if given and given != "None" else []
    had = old["spec"].get("clusterIP") if old is not None and old["spec"].get("type") != "ExternalName" else None
    if had and given != had:
        problems.append(invalid_value("spec.clusterIPs[0]", [given], "may not change once set"))
    families = spec.get("ipFamilies") or []
    if (
        not problems
        and given not in (None, "", "None")
        and families[:1] in (["IPv4"], ["IPv6"])
        and _family_of(given) != families[0]
    ):
        told = f"expected an {families[0]} value as indicated by `ipFamilies[0]`"
        problems.append(invalid_value("spec.clusterIPs[0]", given, told))
    return problems


def _family_of(address: Any) -> str:
    return "IPv6" if ":" in str(address) else "IPv4"


def _all_ports(spec: Obj) -> list[FieldProblem]:
    problems = []
    names: set[str] = set()
    many = len(spec.get("ports") or ()) > 1
    for place, port in enumerate(spec.get("ports") or ()):
        problems += _port_problems(port, f"spec.ports[{place}]", names, many=many)
        if port.get("nodePort") and spec["type"] in ("ClusterIP", "ExternalName"):
            told = f"may not be used when `type` is '{spec['type']}'"
            problems.append(forbidden_value(f"spec.ports[{place}].nodePort", told))
    return problems + _doubled_ports(spec)


def _doubled_ports(spec: Obj) -> list[FieldProblem]:
    problems = []
    seen: set[tuple[Any, Any]] = set()
    for place, port in enumerate(spec.get("ports") or ()):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            # Upstream shows the two parts that stand twice, in its own type.
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            problems.append(duplicate_value(f"spec.ports[{place}]", shown))
        seen.add(key)
    return problems


def _port_problems(port: Obj, field: str, names: set[str], *, many: bool) -> list[FieldProblem]:
    problems = []
    name = str(port.get("name") or "")
    if many and not name:
        problems.append(required_value(f"{field}.name"))
    elif name:
        problems += [invalid_value(f"{field}.name", name, told) for told in name_problems(name, "label")]
        if name in names:
            problems.append(duplicate_value(f"{field}.name", name))
        names.add(name)
    problems += field_rules.port(f"{field}.port", port.get("port"))
    problems += field_rules.one_of(f"{field}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))
    problems += field_rules.port(f"{field}.targetPort", port.get("targetPort") or port.get("port"))
    node = port.get("nodePort")
    if node and node not in NODE_PORTS:
        told = f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
        problems.append(invalid_value(f"{field}.nodePort", node, told))
    return problems


def _affinity_problems(spec: Obj) -> list[FieldProblem]:
    seconds = dig(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if spec.get("sessionAffinity") != "ClientIP" or seconds is None or 0 < seconds <= _LONGEST_AFFINITY_SECONDS:
        return []
    told = f"must be greater than 0 and less than {_LONGEST_AFFINITY_SECONDS}"
    return [invalid_value("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, told)]


def _source_range_problems(spec: Obj) -> list[FieldProblem]:
    ranges, field = spec.get("loadBalancerSourceRanges") or (), "spec.LoadBalancerSourceRanges"
    if ranges and spec["type"] != "LoadBalancer":
        return [forbidden_value(field, "may only be used when `type` is 'LoadBalancer'")]
    return [
        problem for place, one in enumerate(ranges) for problem in field_rules.cidr(f"{field}[{place}]", one.strip())
    ]


def _traffic_problems(spec: Obj) -> list[FieldProblem]:
    problems = []
    outside, inside = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    if outside:
        open_to_all = spec["type"] in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))
        if not open_to_all:
            told = "may only be set for externally-accessible services"
            problems.append(invalid_value("spec.externalTrafficPolicy", outside, told))
        else:
            problems += field_rules.one_of("spec.externalTrafficPolicy", outside, _LOCAL_OR_NOT)
    if inside:
        problems += field_rules.one_of("spec.internalTrafficPolicy", inside, _LOCAL_OR_NOT)
    return problems
