"""EtcdCluster: an etcd of a fixed number of members, each a pod with a volume. Pure.

It takes the place of the archived etcd-operator. Members keep their names and their data, so that one that comes back
is the one that left; another version is rolled out member by member.
"""

from __future__ import annotations

from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.levels import holds, of_kind

CLIENT_PORT = 2379
PEER_PORT = 2380
_REPOSITORY = "quay.io/coreos/etcd"
_VOLUME: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_DATA = "/var/etcd"


def sync(request: Obj) -> Obj:
    """Return the Services, volumes and pods of an etcd, and its status: available with a quorum."""
    etcd = request["parent"]
    size = etcd["spec"]["size"]
    names = [f"{name_of(etcd)}-{index}" for index in range(size)]
    pods = of_kind(request["children"], "Pod.v1")
    ready = sorted(name_of(each) for each in pods if holds(each, "Ready") and name_of(each) in names)
    return {
        "status": {
            "size": len(pods),
            "members": {"ready": ready, "unready": [each for each in names if each not in ready]},
            "serviceName": f"{name_of(etcd)}-client",
            "clientPort": CLIENT_PORT,
            "conditions": [_available(len(ready), size)],
        },
        "children": [
            _service(etcd, f"{name_of(etcd)}-client", CLIENT_PORT, {}),
            _service(etcd, name_of(etcd), PEER_PORT, {"clusterIP": "None", "publishNotReadyAddresses": True}),
            *(_claim(etcd, each) for each in names),
            *(_pod(etcd, each, names) for each in names),
        ],
    }


def _available(ready: int, size: int) -> Obj:
    has_quorum = ready > size // 2
    return {
        "type": "Available",
        "status": "True" if has_quorum else "False",
        "reason": "Quorum" if has_quorum else "NoQuorum",
        "message": f"{ready} of {size} members are ready",
    }


def _labels(etcd: Obj) -> dict[str, str]:
    return {"app": "etcd", "etcd_cluster": name_of(etcd)}


def _service(etcd: Obj, name: str, port: int, more: Obj) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": _labels(etcd)},
        "spec": {
            "selector": _labels(etcd),
            "ports": [{"name": "client" if port == CLIENT_PORT else "peer", "port": port}],
            **more,
        },
    }


def _claim(etcd: Obj, name: str) -> Obj:
    pod = etcd["spec"].get("pod") or {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": _labels(etcd)},
        "spec": pod.get("persistentVolumeClaimSpec") or _VOLUME,
    }


def _pod(etcd: Obj, name: str, names: list[str]) -> Obj:
    spec, service = etcd["spec"], name_of(etcd)
    pod = spec.get("pod") or {}
    members = ",".join(f"{each}=http://{each}.{service}:{PEER_PORT}" for each in names)
    resources = {"resources": pod["resources"]} if "resources" in pod else {}
    container = {
        "name": "etcd",
        "image": f"{spec.get('repository') or _REPOSITORY}:v{spec['version']}",
        "command": [
            "etcd",
            f"--name={name}",
            f"--data-dir={_DATA}/data",
            f"--initial-cluster={members}",
            "--initial-cluster-state=new",
            f"--initial-cluster-token={service}",
            f"--initial-advertise-peer-urls=http://{name}.{service}:{PEER_PORT}",
            f"--listen-peer-urls=http://0.0.0.0:{PEER_PORT}",
            f"--advertise-client-urls=http://{name}.{service}:{CLIENT_PORT}",
            f"--listen-client-urls=http://0.0.0.0:{CLIENT_PORT}",
        ],
        "ports": [{"name": "client", "containerPort": CLIENT_PORT}, {"name": "peer", "containerPort": PEER_PORT}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": CLIENT_PORT}, "periodSeconds": 5},
        "volumeMounts": [{"name": "data", "mountPath": _DATA}],
        **resources,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {**(pod.get("labels") or {}), **_labels(etcd)}},
        "spec": {
            "hostname": name,
            "subdomain": service,
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }
