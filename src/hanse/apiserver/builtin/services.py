"""Services: defaults, and addresses from the cluster's own network."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address
from typing import TYPE_CHECKING

from hanse.apiserver import status
from hanse.apiserver.builtin.service_rules import NODE_PORTS, address_problems, validate
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import invalid_value
from hanse.kube.manifest import Obj

if TYPE_CHECKING:
    from hanse.apiserver.core import Core


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
    if kind in ("ClusterIP", "ExternalName") and before.get("type") != kind:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
        _drop_unchanged(spec, before, ("externalTrafficPolicy", "healthCheckNodePort"))
        if kind == "ExternalName":
            _drop_unchanged(spec, before, ("clusterIP", "clusterIPs", "internalTrafficPolicy"))
    elif kind in ("NodePort", "LoadBalancer"):
        _keep_node_ports(spec, before)
    if kind != "LoadBalancer" and before.get("type") == "LoadBalancer":
        new["status"] = {"loadBalancer": {}}
        _drop_unchanged(spec, before, ("allocateLoadBalancerNodePorts",))


def _keep_addresses(spec: Obj, before: Obj) -> None:
    given, listed = spec.get("clusterIP"), spec.get("clusterIPs")
    if given and given != before.get("clusterIP") and listed == before.get("clusterIPs"):
        # Who changes one of the two means the other as well.
        spec["clusterIPs"] = [given]
    if not given and before.get("type") != "ExternalName":
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
        if old is not None:
            for name in ("ipFamilies", "ipFamilyPolicy"):
                spec.pop(name, None)
        return
    if address_problems(spec, old):
        return  # refused by validation, in better words
    if core.cluster_ips or spec.get("clusterIP"):
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        _check_families(obj)
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


def _check_families(obj: Obj) -> None:
    wrong = [
        invalid_value(f"spec.ipFamilies[{place}]", one, "not configured on this cluster")
        for place, one in enumerate(obj["spec"]["ipFamilies"])
        if one == "IPv6"
    ]
    if wrong and not obj["spec"].get("clusterIP"):
        raise status.invalid("", "Service", obj["metadata"].get("name") or "", wrong)


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
            problem = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {network}"
            )
        elif address in _used_addresses(core):
            problem = f"failed to allocate IP {address}: provided IP is already allocated"
    except ValueError:
        return  # refused by validation
    if problem:
        found = invalid_value("spec.clusterIPs", [address], problem)
        raise status.invalid("", "Service", obj["metadata"].get("name") or "", [found])


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
    start = int(core.runtime.uniform(0, len(NODE_PORTS)))
    for step in range(len(NODE_PORTS)):
        candidate = NODE_PORTS[(start + step) % len(NODE_PORTS)]
        if candidate not in used:
            return candidate
    raise status.internal("failed to allocate a nodePort: range is full")


def _give_node_ports(core: Core, obj: Obj) -> None:
    used = _used_node_ports(core) | _own_ports(obj["spec"])
    for port in obj["spec"].get("ports") or ():
        if not port.get("nodePort"):
            port["nodePort"] = _free_node_port(core, used)
            used.add(port["nodePort"])


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
