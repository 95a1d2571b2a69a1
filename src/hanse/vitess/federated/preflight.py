"""What must hold before a Vitess can span clusters, checked by what is known of each: networks, routes and names.

Nothing is probed: facts are given for each cluster, in annotations of its Cluster object. What nobody said is told as
unknown, and stops nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.quorum import read_quorum
from hanse.vitess.federated.reaching import host_of
from hanse.vitess.federated.reading import all_shards, cells_of, keyspaces_of

# On a Cluster: the networks of its pods, and the clusters whose pods its own reach ("*" for all), by commas.
POD_NETWORKS_ANNOTATION = "hanse.dev/pod-networks"
REACHES_ANNOTATION = "hanse.dev/reaches-pods-of"
# On a Cluster: the DNS domains that its pods resolve beside their own, by commas; the federation's is one.
RESOLVES_ANNOTATION = "hanse.dev/resolves"


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """What is known of a cluster's network; None where nothing is."""

    networks: tuple[str, ...] | None = None
    reaches: tuple[str, ...] | None = None
    resolves: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `wrong` stops, otherwise it is told as unknown."""

    clusters: tuple[str, ...]
    sentence: str
    wrong: bool = True

    def __str__(self) -> str:
        return f"{' and '.join(self.clusters)}: {self.sentence}"


def facts_of(annotations: Mapping[str, str]) -> NetworkFacts:
    """Read what the annotations of a Cluster say."""

    def words(name: str) -> tuple[str, ...] | None:
        text = annotations.get(name)
        return None if text is None else tuple(word for each in text.split(",") if (word := each.strip()))

    return NetworkFacts(words(POD_NETWORKS_ANNOTATION), words(REACHES_ANNOTATION), words(RESOLVES_ANNOTATION))


def preflight(spec: Obj, facts: Mapping[str, NetworkFacts]) -> list[Finding]:
    """Return what speaks against a Vitess over these clusters, and what is not known."""
    if len(facts) < 2:
        return []
    found = list(_overlaps(facts))
    found += _routes(facts)
    found += _names(lockserver_addresses(spec), facts)
    return found


def advice(spec: Obj, homes: Mapping[str, str]) -> list[Finding]:
    """Return what works, and not as well as it could: told, and stops nothing.

    Without backups a shard's first primary is chosen when the tablets of every cluster are up; and writes that have to
    be acknowledged in another cell wait for ever where there is none.
    """
    found, waiting = [], dict[tuple[str, ...], list[str]]()
    backups = bool(dig(spec, "backup", "locations"))
    for shard in all_shards(spec):
        cells = [pool.cell for pool in shard.pools if pool.eligible and pool.replicas > 0]
        members = tuple(sorted({homes[cell] for cell in cells if cell in homes}))
        if not backups and len(members) > 1:
            waiting.setdefault(members, []).append(str(shard.id))
        if len(set(cells)) == 1 and _durability(spec, shard.id.keyspace).startswith("cross_cell"):
            sentence = f"{shard.id} has replicas in {cells[0]} alone, and cross_cell asks for one in another cell"
            found.append(Finding(members, sentence, wrong=False))
    for members, shards in waiting.items():
        more = f" and {len(shards) - 1} more shards begin" if len(shards) > 1 else " begins"
        sentence = f"{shards[0]}{more} when the tablets of all of them are up; with spec.backup none needs to wait"
        found.append(Finding(members, sentence, wrong=False))
    return found


def _durability(spec: Obj, keyspace: str) -> str:
    found = (each.get("durabilityPolicy") for each in keyspaces_of(spec) if each.get("name") == keyspace)
    return str(next(found, "") or "")


def lockserver_addresses(spec: Obj) -> tuple[str, ...]:
    """Return every host that pods of all clusters have to find, each once."""
    quorum = read_quorum(spec)
    addresses = [dig(spec, "globalLockserver", "external", "address"), quorum.client_address if quorum else None]
    for cell in cells_of(spec):
        external = dig(cell, "lockserver", "external", "address")
        addresses.append(dig(cell, "lockserver", "cellInfoAddress") or external)
    hosts = (host_of(part) for address in addresses if address for part in str(address).split(","))
    return tuple(dict.fromkeys(host for host in hosts if host))


def _overlaps(facts: Mapping[str, NetworkFacts]) -> Iterator[Finding]:
    read: dict[str, list[ipaddress.IPv4Network | ipaddress.IPv6Network]] = {}
    if unknown := tuple(cluster for cluster, known in sorted(facts.items()) if known.networks is None):
        sentence = f"the pod networks there are not known; give them in the annotation {POD_NETWORKS_ANNOTATION}"
        yield Finding(unknown, sentence, wrong=False)
    for cluster, known in sorted(facts.items()):
        if known.networks is None:
            continue
        for text in known.networks:
            try:
                read.setdefault(cluster, []).append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                yield Finding((cluster,), f"{text!r} in {POD_NETWORKS_ANNOTATION} is no network; write 10.1.0.0/16")
    for (one, ours), (other, theirs) in combinations(sorted(read.items()), 2):
        for a, b in ((a, b) for a in ours for b in theirs):
            if a.version == b.version and a.overlaps(b):
                sentence = (
                    f"pod networks {a} and {b} overlap, so that an address may mean a pod of either; renumber one"
                )
                yield Finding((one, other), sentence)


def _routes(facts: Mapping[str, NetworkFacts]) -> Iterator[Finding]:
    if unknown := tuple(cluster for cluster, known in sorted(facts.items()) if known.reaches is None):
        sentence = f"whose pods are reached from there is not known; say it in the annotation {REACHES_ANNOTATION}"
        yield Finding(unknown, sentence, wrong=False)
    for cluster, known in sorted(facts.items()):
        if known.reaches is None:
            continue
        missing = sorted(other for other in facts if other != cluster and not {"*", other} & set(known.reaches))
        if missing:
            sentence = "its pods do not reach those of the others; Vitess replicates by pod addresses, so route them"
            yield Finding((cluster, *missing), sentence)


def _names(hosts: Sequence[str], facts: Mapping[str, NetworkFacts]) -> Iterator[Finding]:
    named = [host for host in hosts if not _is_address(host)]
    unknown = [cluster for cluster, known in sorted(facts.items()) if known.resolves is None]
    if named and unknown:
        more = f" and {len(named) - 1} more names" if len(named) > 1 else ""
        sentence = (
            f"whether pods there resolve {named[0]}{more} is not known; list the domains in {RESOLVES_ANNOTATION}"
        )
        yield Finding(tuple(unknown), sentence, wrong=False)
    for host in named:
        for cluster, known in sorted(facts.items()):
            domains = known.resolves
            if domains is not None and not any(host == domain or host.endswith(f".{domain}") for domain in domains):
                sentence = f"its pods do not resolve {host}; give its DNS the federation's domain, or use another name"
                yield Finding((cluster,), sentence)


def federated_address(service: str, namespace: str, federation: str, domain: str, port: int = 2379) -> str:
    """Return the name under which a federated Service is found from every cluster, as a lockserver's address."""
    return f"{service}.{namespace}.{federation}.svc.{domain}:{port}"


def is_ready(findings: Sequence[Finding]) -> bool:
    """Tell whether nothing that was found stops it."""
    return not any(finding.wrong for finding in findings)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
