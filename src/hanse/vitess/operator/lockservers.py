"""An EtcdLockserver: three members that find each other by name, or the one of them that stands in this cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hanse.api.planetscale.kinds import (
    COMPONENT_LABEL,
    DESIRED_STATE_ANNOTATION,
    LOCKSERVER_INDEX_LABEL,
    LOCKSERVER_LABEL,
)
from hanse.api.planetscale.reading import ETCD_IMAGE, ETCD_RESOURCES, read_extras, read_service
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of
from hanse.kube.resources import PODS, SERVICES
from hanse.vitess.naming import (
    lockserver_budget,
    lockserver_client_service,
    lockserver_member,
    lockserver_peer_service,
)
from hanse.vitess.operator.claims import claim
from hanse.vitess.operator.flags import flag_arguments, merged_flags
from hanse.vitess.operator.keeping import kept, kept_with
from hanse.vitess.operator.kinds import BUDGETS, CLAIMS
from hanse.vitess.operator.pods import has_failed, is_ready, state_hash
from hanse.vitess.operator.shaping import (
    ZONE_LABEL,
    Settings,
    added,
    apart,
    by_name,
    object_of,
    service,
    spread_affinity,
    with_annotations,
)
from hanse.vitess.operator.validation import LOCKSERVER_MEMBERS, lockserver_problems
from hanse.vitess.operator.verdicts import Observed, Tri, Verdict, ready_condition, refused

CLIENT_PORT = 2379
PEER_PORT = 2380
QUORUM = 2
_DATA = "/var/etcd"
_VOLUME = "data"
_CLAIM: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_ENV = {
    "ETCDCTL_API": "3",
    "ETCD_AUTO_COMPACTION_MODE": "revision",
    "ETCD_AUTO_COMPACTION_RETENTION": "1000",
    "ETCD_QUOTA_BACKEND_BYTES": "8589934592",
    "ETCD_MAX_REQUEST_BYTES": "8388608",
}


def sync_lockserver(parent: Obj, observed: Observed, settings: Settings) -> Verdict:
    """Return what an EtcdLockserver consists of, and whether it serves."""
    spec = parent.get("spec") or {}
    if problems := [*lockserver_problems(spec), *_stranded(parent, observed)]:
        return refused(parent, observed, problems)
    template = spec.get("dataVolumeClaimTemplate") or _CLAIM
    claims = observed.of(CLAIMS)
    children = [
        *_services(parent, observed),
        *(claim(name, _labels(parent, index), template, claims.get(name)) for index, name in _members(parent)),
        *_pods(parent, observed, settings),
        *_budget(parent, observed),
    ]
    return Verdict(tuple(children), _status(parent, observed))


def _stranded(parent: Obj, observed: Observed) -> Iterator[str]:
    """Say which members stand here that nobody asks for any more: with two of their disks topology would be lost."""
    wanted = {name for _, name in _members(parent)}
    if left := sorted(set(observed.of(CLAIMS)) - wanted):
        yield (
            f"localMemberIndex: {', '.join(left)} stand here already and hold topology, which is never removed by "
            "itself; set it back, or take the members out of etcd and delete their claims by hand"
        )


def _members(parent: Obj) -> list[tuple[int, str]]:
    """Return the members that stand in this cluster, with their names."""
    local = (parent.get("spec") or {}).get("localMemberIndex")
    indexes = range(1, LOCKSERVER_MEMBERS + 1) if local is None else (int(local),)
    return [(index, lockserver_member(name_of(parent), index)) for index in indexes]


def _labels(parent: Obj, index: int | None = None) -> dict[str, str]:
    labels = {name: value for name, value in labels_of(parent).items() if name.startswith("planetscale.com/")}
    labels |= {COMPONENT_LABEL: "etcd", LOCKSERVER_LABEL: name_of(parent)}
    return labels if index is None else {**labels, LOCKSERVER_INDEX_LABEL: str(index)}


def _services(parent: Obj, observed: Observed) -> Iterator[Obj]:
    """Return the Services; one that is switched off later stays, since somebody may use it."""
    spec, name = parent.get("spec") or {}, name_of(parent)
    selector = {LOCKSERVER_LABEL: name}
    for switch, service_name, overrides, ports, peers in (
        ("createClientService", lockserver_client_service(name), "clientService", {"client": CLIENT_PORT}, False),
        ("createPeerService", lockserver_peer_service(name), "peerService", {"peer": PEER_PORT}, True),
    ):
        live = observed.of(SERVICES).get(service_name)
        if spec.get(switch) is not False:
            made = service(
                service_name, selector, ports, read_service(spec.get(overrides)), headless=peers, not_ready_too=peers
            )
            yield {**made, "metadata": {**made["metadata"], "labels": _labels(parent)}}
        elif live is not None:
            yield kept(live)


def _budget(parent: Obj, observed: Observed) -> Iterator[Obj]:
    name = lockserver_budget(name_of(parent))
    live = observed.of(BUDGETS).get(name)
    if (parent.get("spec") or {}).get("createPDB") is not False:
        body = {"minAvailable": QUORUM, "selector": {"matchLabels": {LOCKSERVER_LABEL: name_of(parent)}}}
        yield object_of("policy/v1", "PodDisruptionBudget", name, _labels(parent), spec=body)
    elif live is not None:
        yield kept(live)


def _pods(parent: Obj, observed: Observed, settings: Settings) -> Iterator[Obj]:
    """Return the members' pods; of those that differ one at a time goes, and only while all others are ready."""
    live = observed.of(PODS)
    wanted = {name: member_pod(parent, index, settings) for index, name in _members(parent)}
    differing = [name for name in wanted if name in live and not _same(live[name], wanted[name])]
    all_ready = all(name in live and is_ready(live[name]) for name in wanted)
    recreated = differing[0] if differing and (all_ready or len(wanted) == 1) else ""
    for name, pod in wanted.items():
        if name in live and has_failed(live[name]):
            continue
        if name not in live:
            yield pod
        elif name != recreated:
            annotations = {**annotations_of(pod), DESIRED_STATE_ANNOTATION: _hash_of(live[name])}
            yield kept_with(live[name], labels_of(pod), annotations)


def _hash_of(pod: Obj) -> str:
    return annotations_of(pod).get(DESIRED_STATE_ANNOTATION, "")


def _same(live: Obj, wanted: Obj) -> bool:
    return _hash_of(live) == _hash_of(wanted)


def peer_urls(parent: Obj) -> list[str]:
    """Return where the members reach each other."""
    given = (parent.get("spec") or {}).get("advertisePeerURLs")
    if given:
        return list(given)
    name, domain = name_of(parent), f"{lockserver_peer_service(name_of(parent))}.{parent['metadata']['namespace']}.svc"
    members = [lockserver_member(name, index) for index in range(1, LOCKSERVER_MEMBERS + 1)]
    return [f"http://{member}.{domain}:{PEER_PORT}" for member in members]


def member_pod(parent: Obj, index: int, settings: Settings) -> Obj:
    """Return the pod of one member."""
    spec, name = parent.get("spec") or {}, name_of(parent)
    member, namespace = lockserver_member(name, index), parent["metadata"]["namespace"]
    extras, labels = read_extras(spec), _labels(parent, index)
    peers = peer_urls(parent)
    initial = ",".join(f"{lockserver_member(name, number)}={url}" for number, url in enumerate(peers, 1))
    flags = merged_flags(
        {
            "name": member,
            "data-dir": _DATA,
            "listen-client-urls": f"http://0.0.0.0:{CLIENT_PORT}",
            "advertise-client-urls": f"http://{member}.{lockserver_peer_service(name)}.{namespace}.svc:{CLIENT_PORT}",
            "listen-peer-urls": f"http://0.0.0.0:{PEER_PORT}",
            "initial-advertise-peer-urls": peers[index - 1],
            "initial-cluster": initial,
            "initial-cluster-token": name,
            "initial-cluster-state": "new",
        },
        extras.flags,
    )
    container: Obj = {
        "name": "etcd",
        "image": spec.get("image") or ETCD_IMAGE,
        "command": ["etcd"],
        "args": flag_arguments(flags),
        "env": [{"name": key, "value": value} for key, value in _ENV.items()],
        "ports": [
            {"name": "client", "containerPort": CLIENT_PORT, "protocol": "TCP"},
            {"name": "peer", "containerPort": PEER_PORT, "protocol": "TCP"},
        ],
        "resources": spec.get("resources") or ETCD_RESOURCES,
        "readinessProbe": _asked("health", periodSeconds=5, failureThreshold=1, timeoutSeconds=5),
        "livenessProbe": _asked("status", initialDelaySeconds=300, failureThreshold=30, timeoutSeconds=5),
        "volumeMounts": [{"name": _VOLUME, "mountPath": _DATA, "subPath": "etcd"}],
    }
    if policy := spec.get("imagePullPolicy"):
        container["imagePullPolicy"] = policy
    pod = object_of(
        "v1", "Pod", member, {**extras.labels, **labels}, spec=_pod_spec(parent, member, container, settings)
    )
    pod = with_annotations(pod, extras.annotations)
    return with_annotations(pod, {DESIRED_STATE_ANNOTATION: state_hash(pod)})


def _asked(question: str, **timing: int) -> Obj:
    return {"exec": {"command": ["etcdctl", "endpoint", question]}, **timing}


def _pod_spec(parent: Obj, member: str, container: Obj, settings: Settings) -> Obj:
    spec = parent.get("spec") or {}
    extras, zone = read_extras(spec), str(spec.get("zone") or "")
    others: Mapping[str, str] = {LOCKSERVER_LABEL: name_of(parent)}
    wishes = [apart(2, others)] if zone else [apart(2, others), apart(1, others, ZONE_LABEL)]
    volume = {"name": _VOLUME, "persistentVolumeClaim": {"claimName": member}}
    everything: Obj = {
        "hostname": member,
        "subdomain": lockserver_peer_service(name_of(parent)),
        "containers": [added(container, extras), *extras.sidecars],
        "initContainers": list(extras.init_containers),
        "volumes": by_name([volume, *extras.volumes]),
        "affinity": extras.affinity or spread_affinity(zone, *wishes),
        "tolerations": list(extras.tolerations),
        "imagePullSecrets": list(spec.get("imagePullSecrets") or ()),
        "priorityClassName": settings.priority_class,
        "securityContext": settings.security_context,
        "restartPolicy": "Always",
    }
    return {name: value for name, value in everything.items() if value}


def _status(parent: Obj, observed: Observed) -> Obj:
    members = _members(parent)
    ready = sum(is_ready(observed.of(PODS)[name]) for _, name in members if name in observed.of(PODS))
    available = ready >= min(QUORUM, len(members))
    said = f"{ready} of {len(members)} members in this cluster are ready"
    condition = ready_condition(parent, available, "MembersReady" if available else "MembersNotReady", said)
    return {
        "available": Tri.of(available),
        "clientServiceName": lockserver_client_service(name_of(parent)),
        "conditions": [condition],
    }
