"""Services: defaults, addresses from the cluster's own network, rules."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address
from typing import TYPE_CHECKING

from hanse.apiserver import status
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.names import name_problems
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj

if TYPE_CHECKING:
    from hanse.apiserver.core import Core

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_NODE_PORTS = range(30000, 32768)
_PORT_RULE = "must be between 1 and 65535, inclusive"


def defaults(obj: Obj) -> None:
    """Fill in a service."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port")
    if kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def prepare_update(new: Obj, old: Obj) -> None:
    """Keep what the server gave, and drop what the new type no longer has."""
    spec, before = new["spec"], old["spec"]
    kind = spec["type"]
    if kind != "ExternalName":
        _keep_addresses(spec, before)
    if kind == "ClusterIP" and before.get("type") != "ClusterIP":
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
        _drop_unchanged(spec, before, ("externalTrafficPolicy", "healthCheckNodePort"))
    elif kind in ("NodePort", "LoadBalancer"):
        _keep_node_ports(spec, before)
    if kind != "LoadBalancer" and before.get("type") == "LoadBalancer":
        new["status"] = {"loadBalancer": {}}
        _drop_unchanged(spec, before, ("allocateLoadBalancerNodePorts",))


def _keep_addresses(spec: Obj, before: Obj) -> None:
    if not spec.get("clusterIP") and before.get("type") != "ExternalName":
        spec |= {name: before[name] for name in ("clusterIP", "clusterIPs") if name in before}
    for name in ("ipFamilies", "ipFamilyPolicy"):
        if name in before:
            spec.setdefault(name, before[name])


def _drop_unchanged(spec: Obj, before: Obj, names: tuple[str, ...]) -> None:
    for name in names:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _keep_node_ports(spec: Obj, before: Obj) -> None:
    had = {_port_key(port): port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
    for port in spec.get("ports") or ():
        if not port.get("nodePort") and _port_key(port) in had:
            port["nodePort"] = had[_port_key(port)]


def _port_key(port: Obj) -> tuple[object, object]:
    return port.get("protocol") or "TCP", port.get("port")


def allocate(core: Core, obj: Obj, old: Obj | None) -> None:
    """Give a service its cluster address and node ports."""
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(name, None)
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    _give_address(core, obj, old)
    wants_ports = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    )
    if wants_ports:
        _give_node_ports(core, obj)
    if spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        if not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = _free_node_port(core, _used_node_ports(core) | _own_ports(spec))
    else:
        spec.pop("healthCheckNodePort", None)


def _give_address(core: Core, obj: Obj, old: Obj | None) -> None:
    spec = obj["spec"]
    address = spec.get("clusterIP") or ""
    if address in ("None", ""):
        if not address:
            address = spec["clusterIP"] = _free_address(core)
        spec["clusterIPs"] = [address]
        return
    spec["clusterIPs"] = [address]
    if old is not None and old["spec"].get("clusterIP") == address:
        return
    network = IPv4Network(core.service_network)
    problem = None
    try:
        if ip_address(address) not in network:
            problem = f"failed to allocate IP {address}: the provided network does not match the current range"
        elif address in _used_addresses(core):
            problem = f"failed to allocate IP {address}: provided IP is already allocated"
    except ValueError:
        return  # refused by validation
    if problem:
        found = invalid_value("spec.clusterIPs", [address], problem)
        raise status.invalid("", "Service", obj["metadata"]["name"], [found])


def _specs(core: Core) -> list[Obj]:
    served = core.registry.find("", "v1", "services")
    if served is None:
        return []
    return [core.stored_form(served, record.value)["spec"] for record in core.storage.scan(served.bucket)]


def _used_addresses(core: Core) -> set[str]:
    return {str(spec.get("clusterIP")) for spec in _specs(core)}


def _free_address(core: Core) -> str:
    network = IPv4Network(core.service_network)
    used = _used_addresses(core)
    size = network.num_addresses - 2
    start = int(core.runtime.uniform(1, size))
    for step in range(size):
        address = str(network[1 + (start + step) % size])
        if address not in used:
            return address
    raise status.internal("failed to allocate a serviceIP: range is full")


def _own_ports(spec: Obj) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _used_node_ports(core: Core) -> set[int]:
    used: set[int] = set()
    for spec in _specs(core):
        used |= _own_ports(spec)
        if spec.get("healthCheckNodePort"):
            used.add(spec["healthCheckNodePort"])
    return used


def _free_node_port(core: Core, used: set[int]) -> int:
    start = int(core.runtime.uniform(0, len(_NODE_PORTS)))
    for step in range(len(_NODE_PORTS)):
        candidate = _NODE_PORTS[(start + step) % len(_NODE_PORTS)]
        if candidate not in used:
            return candidate
    raise status.internal("failed to allocate a nodePort: range is full")


def _give_node_ports(core: Core, obj: Obj) -> None:
    used = _used_node_ports(core) | _own_ports(obj["spec"])
    for port in obj["spec"].get("ports") or ():
        if not port.get("nodePort"):
            port["nodePort"] = _free_node_port(core, used)
            used.add(port["nodePort"])


def validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a service."""
    spec = obj.get("spec") or {}
    problems = _type_problems(spec, old)
    if not spec.get("ports") and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        problems.append(required_value("spec.ports"))
    names: set[str] = set()
    many = len(spec.get("ports") or ()) > 1
    for place, port in enumerate(spec.get("ports") or ()):
        problems += _port_problems(port, f"spec.ports[{place}]", names, many=many)
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        problems.append(unsupported_value("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None")))
    return problems


def _type_problems(spec: Obj, old: Obj | None) -> list[FieldProblem]:
    if spec["type"] not in _TYPES:
        return [unsupported_value("spec.type", spec["type"], _TYPES)]
    if spec["type"] == "ExternalName":
        return [] if spec.get("externalName") else [required_value("spec.externalName")]
    if old is None or old["spec"].get("type") == "ExternalName":
        return []
    had = old["spec"].get("clusterIP")
    if had and spec.get("clusterIP") != had:
        return [invalid_value("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set")]
    return []


def _port_problems(port: Obj, field: str, names: set[str], *, many: bool) -> list[FieldProblem]:
    problems = []
    name, number = str(port.get("name") or ""), port.get("port")
    if many and not name:
        problems.append(required_value(f"{field}.name"))
    elif name:
        problems += [invalid_value(f"{field}.name", name, told) for told in name_problems(name, "label")]
        if name in names:
            problems.append(duplicate_value(f"{field}.name", name))
        names.add(name)
    if not isinstance(number, int) or not 0 < number < 65536:
        problems.append(invalid_value(f"{field}.port", number or 0, _PORT_RULE))
    target = port.get("targetPort")
    if isinstance(target, int) and not 0 < target < 65536:
        problems.append(invalid_value(f"{field}.targetPort", target, _PORT_RULE))
    if port.get("protocol") not in ("TCP", "UDP", "SCTP"):
        problems.append(unsupported_value(f"{field}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP")))
    node = port.get("nodePort")
    if node and node not in _NODE_PORTS:
        told = (
            f"provided port is not in the valid range. The range of valid ports is {_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
        )
        problems.append(invalid_value(f"{field}.nodePort", node, told))
    return problems


STRATEGY = Strategy(
    defaults,
    validate,
    prepare_update=prepare_update,
    name_rule="label",
    new_status={"loadBalancer": {}},
    selectable={
        "spec.clusterIP": lambda obj: str(obj["spec"].get("clusterIP") or ""),
        "spec.type": lambda obj: str(obj["spec"].get("type") or ""),
    },
)
