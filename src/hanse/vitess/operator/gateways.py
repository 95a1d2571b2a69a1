"""vtgate: the door through which applications reach a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    SECRET_HASH_ANNOTATION,
    VITESS_CELLS,
)
from hanse.api.planetscale.values import Cell, Gateway
from hanse.kube.manifest import Obj
from hanse.vitess.naming import cell_name, cell_vtgate_name
from hanse.vitess.operator.flags import flag_arguments, go_max_procs, merged_flags, topology_flags
from hanse.vitess.operator.shaping import (
    GRPC,
    GRPC_PORT,
    LIVENESS,
    MYSQL,
    MYSQL_PORT,
    READINESS,
    WEB,
    WEB_PORT,
    SecretMount,
    Surroundings,
    added,
    deployment,
    object_of,
    pod_spec,
    secret_mount,
    secret_names,
    secrets_digest,
    service,
    zone_affinity,
)

VTGATE = "vtgate"
_MESSAGE_BYTES = str(64 * 1024 * 1024)


def gateway_labels(cluster: str, cell: str = "") -> dict[str, str]:
    """Return the labels of vtgates, of one cell or of all."""
    labels = {COMPONENT_LABEL: VTGATE, CLUSTER_LABEL: cluster}
    return {**labels, CELL_LABEL: cell} if cell else labels


def gateway_service(cluster: str, cell: Cell) -> Obj:
    """Return the Service of a cell's vtgates."""
    name = cell_vtgate_name(cluster, cell.name)
    return service(name, gateway_labels(cluster, cell.name), GATEWAY_PORTS, cell.gateway.service)


GATEWAY_PORTS = {"web": WEB_PORT, "grpc": GRPC_PORT, "mysql": MYSQL_PORT}


def counted_secrets(gateway: Gateway) -> list[str]:
    """Return the Secrets whose change restarts vtgate; it reads static credentials again by itself."""
    sources = (gateway.tls_cert, gateway.tls_key, gateway.tls_client_ca) if gateway.tls else ()
    return secret_names(sources, gateway.extras.volumes)


def gateway_deployment(around: Surroundings, cell: Cell, cells: Sequence[str], secrets: Mapping[str, Obj]) -> Obj:
    """Return the Deployment of a cell's vtgates."""
    gateway, mounts = cell.gateway, _mounts(cell.gateway)
    flags = merged_flags(
        {
            "cell": cell.name,
            "cells_to_watch": ",".join(cells),
            "tablet_types_to_wait": "MASTER,REPLICA",
            "enable_buffer": "true",
            "buffer_min_time_between_failovers": "20s",
            "buffer_max_failover_duration": "10s",
            "buffer_size": "1000",
            "grpc_max_message_size": _MESSAGE_BYTES,
            "mysql_server_port": str(MYSQL_PORT),
            "mysql_auth_server_impl": "none",
            "service_map": "grpc-vtgateservice",
            "port": str(WEB_PORT),
            "grpc_port": str(GRPC_PORT),
            "logtostderr": "true",
        },
        topology_flags(around.lockserver),
        _secret_flags(gateway, mounts),
        around.flags,
        gateway.extras.flags,
    )
    container: Obj = {
        "name": VTGATE,
        "image": around.images.vtgate,
        **around.pull_policy(VTGATE),
        "command": ["/vt/bin/vtgate"],
        "args": flag_arguments(flags),
        "env": go_max_procs(gateway.resources),
        "ports": [WEB, GRPC, MYSQL],
        "resources": gateway.resources,
        "readinessProbe": READINESS,
        "livenessProbe": LIVENESS,
        "volumeMounts": [mount.mount for mount in mounts.values()],
    }
    extras = gateway.extras
    if hashed := secrets_digest(counted_secrets(gateway), secrets):
        extras = replace(extras, annotations={**extras.annotations, SECRET_HASH_ANNOTATION: hashed})
    volumes = [volume for mount in mounts.values() for volume in mount.volumes]
    spec = pod_spec(around, [added(container, extras)], volumes, extras, affinity=zone_affinity(cell.zone))
    return deployment(
        cell_vtgate_name(around.cluster, cell.name),
        gateway_labels(around.cluster, cell.name),
        gateway.replicas,
        extras,
        spec,
        gateway.strategy,
    )


def _mounts(gateway: Gateway) -> dict[str, SecretMount]:
    sources = {"vtgate-static-auth": gateway.static_auth}
    if gateway.tls:
        sources |= {
            "vtgate-tls-cert": gateway.tls_cert,
            "vtgate-tls-key": gateway.tls_key,
            "vtgate-tls-client-ca": gateway.tls_client_ca,
        }
    return {name: secret_mount(name, source) for name, source in sources.items() if source}


def _secret_flags(gateway: Gateway, mounts: Mapping[str, SecretMount]) -> dict[str, str]:
    flags: dict[str, str] = {}
    if auth := mounts.get("vtgate-static-auth"):
        flags |= {
            "mysql_auth_server_impl": "static",
            "mysql_auth_server_static_file": auth.path,
            "mysql_auth_static_reload_interval": "30s",
        }
    if gateway.tls:
        flags |= {
            "mysql_server_ssl_cert": mounts["vtgate-tls-cert"].path,
            "mysql_server_ssl_key": mounts["vtgate-tls-key"].path,
            "mysql_server_require_secure_transport": str(gateway.tls_required).lower(),
        }
        if client := mounts.get("vtgate-tls-client-ca"):
            flags["mysql_server_ssl_ca"] = client.path
    return flags


def gateway_autoscaler(cluster: str, cell: Cell) -> Obj | None:
    """Return the autoscaler that sets a VitessCell's number of vtgates, None where nobody asks for one."""
    wish = cell.gateway.autoscaler
    if wish is None:
        return None
    name = cell_name(cluster, cell.name)
    spec: Obj = {
        "scaleTargetRef": {"apiVersion": VITESS_CELLS.api_version, "kind": VITESS_CELLS.kind, "name": name},
        "maxReplicas": int(wish.get("maxReplicas") or 1),
    }
    spec |= {field: wish[field] for field in ("minReplicas", "metrics", "behavior") if wish.get(field) is not None}
    return object_of("autoscaling/v2", "HorizontalPodAutoscaler", name, gateway_labels(cluster, cell.name), spec=spec)
