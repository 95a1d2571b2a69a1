"""An entrance of Hanse's own balancers as a value, its object on the host, and the lines that a balancer is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import orjson

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.kube.manifest import Key, Obj, dig, key_of, name_of, namespace_of
from hanse.services.balancing.lines import Asking
from hanse.services.ingress.balancer import Standing
from hanse.services.ingress.manifest import Backend, Rule, default_backend, rules_of
from hanse.services.presence import FederatedService, Port, Presence

DEFAULT_LISTEN = 80
# Where clusters' own ingress controllers answer, unless it is said otherwise.
DEFAULT_CLUSTER_PORT = 80
UNKNOWN_ADDRESS = "(not told)"


@dataclass(frozen=True, slots=True)
class Reach:
    """How an entrance is reached, and its clusters from it: an address if the balancers share one, and ports."""

    address: str = ""
    listen: int = DEFAULT_LISTEN
    cluster_port: int = DEFAULT_CLUSTER_PORT


@dataclass(frozen=True, slots=True)
class Behind:
    """A cluster behind an entrance: how its ingress controller is reached, which Services are not ready there."""

    cluster: str
    addresses: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    # Why nobody is led there at all.
    why: str = ""


@dataclass(frozen=True, slots=True)
class Entrance:
    """One entrance: what it leads to by which rules, and the clusters behind it in order of name."""

    key: Key
    ingress: str
    clusters: tuple[Behind, ...]
    rules: tuple[Rule, ...] = ()
    default: Backend | None = None
    reach: Reach = Reach()

    @property
    def standing(self) -> Standing:
        """How it stands, for people."""
        return Standing(
            self.key.name, self.reach.address or UNKNOWN_ADDRESS, tuple(each.cluster for each in self.clusters)
        )

    @property
    def services(self) -> tuple[str, ...]:
        """The Services that its rules lead to, each once."""
        backends = {rule.backend for rule in self.rules} | ({self.default} if self.default is not None else set())
        return tuple(sorted({each.service for each in backends}))


def entrance_for(name: str, ingress: Obj, addresses: Mapping[str, Sequence[str]], reach: Reach) -> Entrance:
    """Return the entrance that an Ingress asks for."""
    return Entrance(
        key=Key(namespace_of(ingress), name),
        ingress=name_of(ingress),
        clusters=tuple(Behind(cluster, tuple(found)) for cluster, found in sorted(addresses.items())),
        rules=tuple(rules_of(ingress)),
        default=default_backend(ingress),
        reach=reach,
    )


def entrance_manifest(entrance: Entrance) -> Obj:
    """Write an entrance as the host keeps it."""
    spec: Obj = {
        "ingress": entrance.ingress,
        "listen": entrance.reach.listen,
        "clusterPort": entrance.reach.cluster_port,
        "rules": [_rule_entry(rule) for rule in entrance.rules],
        "clusters": [{"name": each.cluster, "addresses": list(each.addresses)} for each in entrance.clusters],
    }
    if entrance.reach.address:
        spec["address"] = entrance.reach.address
    if entrance.default is not None:
        spec["defaultBackend"] = _backend_entry(entrance.default)
    return {
        "apiVersion": GLOBAL_INGRESSES.api_version,
        "kind": GLOBAL_INGRESSES.kind,
        "metadata": {"name": entrance.key.name, "namespace": entrance.key.namespace},
        "spec": spec,
    }


def parse_entrance(obj: Obj) -> Entrance:
    """Read an entrance; what was told of a cluster last counts before what was written at first."""
    spec = obj["spec"]
    told = {each["name"]: each for each in dig(obj, "status", "clusters", default=[])}
    default = spec.get("defaultBackend")
    return Entrance(
        key=key_of(obj),
        ingress=spec["ingress"],
        clusters=tuple(_behind({**each, **told.get(each["name"], {})}) for each in spec["clusters"]),
        rules=tuple(
            Rule(each.get("host") or "", each.get("path") or "", Backend(each["service"], each["port"]))
            for each in spec.get("rules") or ()
        ),
        default=Backend(default["service"], default["port"]) if default else None,
        reach=Reach(
            spec.get("address") or "",
            spec.get("listen") or DEFAULT_LISTEN,
            spec.get("clusterPort") or DEFAULT_CLUSTER_PORT,
        ),
    )


def told_status(clusters: Sequence[Behind]) -> Obj:
    """Write what is known of clusters, as the status of an entrance keeps it."""
    entries = []
    for each in clusters:
        entry: Obj = {"name": each.cluster}
        listed = {"addresses": list(each.addresses), "missing": list(each.missing), "why": each.why}
        entries.append(entry | {name: value for name, value in listed.items() if value})
    return {"clusters": entries}


def _behind(entry: Obj) -> Behind:
    listed = tuple(entry.get("addresses") or ()), tuple(entry.get("missing") or ())
    return Behind(entry["name"], *listed, entry.get("why") or "")


def _rule_entry(rule: Rule) -> Obj:
    named = {"host": rule.host, "path": rule.path}
    return {**{name: text for name, text in named.items() if text}, **_backend_entry(rule.backend)}


def _backend_entry(backend: Backend) -> Obj:
    return {"service": backend.service, "port": backend.port}


def askings_of(entrance: Entrance, since: str = "") -> list[Asking]:
    """Return what a balancer is asked for by an entrance: a line for each host, and one for what names no other.

    Paths are told apart by the clusters' own ingress controllers. A cluster gets a host's requests while all Services
    of that host's rules are ready there, so that traffic follows workloads that move. Where no cluster has them all,
    each that is there goes on as it did: an error on one path is better than none on any.
    """
    found, reach = [], entrance.reach
    for number, (host, backends) in enumerate(_hosts(entrance).items()):
        wish = {"mode": "http", "listen": {str(reach.cluster_port): reach.listen}, "hosts": [host] if host else []}
        key = Key(entrance.key.namespace, f"{entrance.key.name}-{number}" if number else entrance.key.name)
        service = FederatedService(
            key, (Port("", "TCP", reach.cluster_port),), _presences(entrance, {each.service for each in backends})
        )
        found.append(Asking(service, orjson.dumps(wish).decode(), since=since))
    return found


def _hosts(entrance: Entrance) -> dict[str, set[Backend]]:
    """Return what each host's rules lead to; "" is any host of which nobody else speaks."""
    found: dict[str, set[Backend]] = {"": {entrance.default}} if entrance.default is not None else {}
    for rule in entrance.rules:
        # A balancer knows no wildcards; such a host is one of those without a line of their own.
        found.setdefault("" if "*" in rule.host else rule.host.lower(), set()).add(rule.backend)
    return found


def _presences(entrance: Entrance, services: set[str]) -> tuple[Presence, ...]:
    lacking = {each.cluster: each.why or _lack(services.intersection(each.missing)) for each in entrance.clusters}
    if all(lacking.values()):
        # Nobody has everything: those count that can be reached at all, and without any of them all.
        lacking = {each.cluster: each.why for each in entrance.clusters}
    if all(lacking.values()):
        lacking = dict.fromkeys(lacking, "")
    return tuple(
        Presence(
            each.cluster,
            tuple(filter(_is_number, each.addresses)),
            serving=not lacking[each.cluster],
            why=lacking[each.cluster],
        )
        for each in entrance.clusters
    )


def _lack(services: set[str]) -> str:
    return f"{', '.join(sorted(services))} has no endpoint there that is ready" if services else ""


def _is_number(address: str) -> bool:
    """Tell whether an address can be connected to as it is; a host name would have to be looked up, again and again."""
    try:
        ip_address(address)
    except ValueError:
        return False
    return True
