"""vtctld and vtadmin: where people and tools look after a VitessCluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from hanse.api.planetscale.kinds import CELL_LABEL, CLUSTER_LABEL, COMPONENT_LABEL
from hanse.api.planetscale.values import Admin, BackupLocation, Dashboard
from hanse.kube.manifest import Obj
from hanse.vitess.naming import cell_deployment_name, cell_vtgate_name, cluster_service_name, vtadmin_secret_name
from hanse.vitess.operator.backup_storage import storage_parts
from hanse.vitess.operator.flags import flag_arguments, go_max_procs, merged_flags, topology_flags
from hanse.vitess.operator.shaping import (
    ADMIN_API_PORT,
    GRPC,
    GRPC_PORT,
    LIVENESS,
    READINESS,
    WEB,
    WEB_PORT,
    SecretMount,
    Surroundings,
    added,
    deployment,
    http_probe,
    object_of,
    pod_spec,
    secret_mount,
    service,
    zone_affinity,
)

VTCTLD = "vtctld"
VTADMIN = "vtadmin"
DASHBOARD_PORTS = {"web": WEB_PORT, "grpc": GRPC_PORT}


def component_labels(cluster: str, component: str, cell: str = "") -> dict[str, str]:
    """Return the labels of a component's pods, of one cell or of all."""
    labels = {COMPONENT_LABEL: component, CLUSTER_LABEL: cluster}
    return {**labels, CELL_LABEL: cell} if cell else labels


def dashboard_service(cluster: str, dashboard: Dashboard) -> Obj:
    """Return the Service of vtctld in all cells."""
    name = cluster_service_name(cluster, VTCTLD)
    return service(name, component_labels(cluster, VTCTLD), DASHBOARD_PORTS, dashboard.service)


def dashboard_deployment(
    around: Surroundings, cell: str, dashboard: Dashboard, locations: Sequence[BackupLocation], engine: str
) -> Obj:
    """Return the Deployment of vtctld in one cell; it lists and makes backups where the first location is."""
    storage = storage_parts(locations[0], around.cluster) if locations else None
    flags = merged_flags(
        {
            "cell": cell,
            "service_map": "grpc-vtctl,grpc-vtctld",
            "port": str(WEB_PORT),
            "grpc_port": str(GRPC_PORT),
            "logtostderr": "true",
        },
        topology_flags(around.lockserver),
        {**storage.flags, "backup_engine_implementation": engine} if storage else {},
        around.flags,
        dashboard.extras.flags,
    )
    container: Obj = {
        "name": VTCTLD,
        "image": around.images.vtctld,
        **around.pull_policy(VTCTLD),
        "command": ["/vt/bin/vtctld"],
        "args": flag_arguments(flags),
        "env": [*go_max_procs(dashboard.resources), *(storage.env if storage else ())],
        "ports": [WEB, GRPC],
        "resources": dashboard.resources,
        "readinessProbe": READINESS,
        "livenessProbe": LIVENESS,
        "volumeMounts": list(storage.mounts) if storage else [],
    }
    volumes = storage.volumes if storage else ()
    affinity = zone_affinity(around.zones.get(cell, ""))
    spec = pod_spec(around, [added(container, dashboard.extras)], volumes, dashboard.extras, affinity=affinity)
    return deployment(
        cell_deployment_name(around.cluster, cell, VTCTLD),
        component_labels(around.cluster, VTCTLD, cell),
        dashboard.replicas,
        dashboard.extras,
        spec,
    )


@dataclass(frozen=True, slots=True)
class AdminParts:
    """vtadmin in all its cells, or the sentence that says why there is none."""

    objects: tuple[Obj, ...] = ()
    problem: str = ""
    deployments: tuple[str, ...] = field(default=())


def admin_parts(around: Surroundings, admin: Admin | None, cells: Sequence[str]) -> AdminParts:
    """Return everything of vtadmin; where it has no image nobody wants it."""
    if admin is None or not around.images.vtadmin:
        return AdminParts()
    chosen = [cell for cell in admin.cells if cell in cells] if admin.cells else list(cells)
    if len(admin.api_addresses) not in {1, len(chosen)} or not admin.api_addresses:
        said = (
            f"spec.vtadmin.apiAddresses: give one, or one for each of the {len(chosen)} cells with vtadmin, and not "
            f"{len(admin.api_addresses)}; vtadmin is not deployed"
        )
        return AdminParts(problem=said)
    ports = {"web": WEB_PORT, "api": ADMIN_API_PORT}
    name = cluster_service_name(around.cluster, VTADMIN)
    objects = [service(name, component_labels(around.cluster, VTADMIN), ports, admin.service)]
    for place, cell in enumerate(chosen):
        address = admin.api_addresses[place if len(admin.api_addresses) > 1 else 0]
        objects += [*_admin_secrets(around, admin, cell, address), _admin_deployment(around, admin, cell)]
    names = tuple(cell_deployment_name(around.cluster, cell, VTADMIN) for cell in chosen)
    return AdminParts(tuple(objects), deployments=names)


def _admin_secrets(around: Surroundings, admin: Admin, cell: str, address: str) -> list[Obj]:
    """Return what vtadmin reads: where its cluster is, how to list it, and what its pages need."""
    vtctld = f"{cluster_service_name(around.cluster, VTCTLD)}.{around.namespace}.svc"
    vtgate = f"{cell_vtgate_name(around.cluster, cell)}.{around.namespace}.svc"
    discovery = {
        "vtctlds": [{"host": {"fqdn": f"{vtctld}:{WEB_PORT}", "hostname": f"{vtctld}:{GRPC_PORT}"}}],
        "vtgates": [{"host": {"fqdn": f"{vtgate}:{WEB_PORT}", "hostname": f"{vtgate}:{GRPC_PORT}"}}],
    }
    clusters = (
        f"defaults:\n  {around.cluster}:\n    name: {around.cluster}\n    discovery: staticfile\n"
        f"    discovery-staticfile-path: {_folder('discovery')}/discovery.json\n"
        f"    tablet-fqdn-tmpl: 'http://{{{{ .Tablet.Hostname }}}}:{WEB_PORT}'\n"
    )
    web = (
        "window.env = "
        + json.dumps(
            {
                "REACT_APP_VTADMIN_API_ADDRESS": address,
                "REACT_APP_FETCH_CREDENTIALS": admin.fetch_credentials,
                "REACT_APP_ENABLE_EXPERIMENTAL_TABLET_DEBUG_VARS": True,
                "REACT_APP_READONLY_MODE": admin.read_only,
            },
            sort_keys=True,
        )
        + ";\n"
    )
    content = {"discovery": json.dumps(discovery, sort_keys=True), "clusterConfig": clusters, "webConfig": web}
    labels = component_labels(around.cluster, VTADMIN, cell)
    return [
        object_of(
            "v1",
            "Secret",
            vtadmin_secret_name(around.cluster, cell, name),
            labels,
            data={_ADMIN_FILES[name]: base64.b64encode(text.encode()).decode()},
        )
        for name, text in content.items()
    ]


_ADMIN_FILES = {"discovery": "discovery.json", "clusterConfig": "clusters.yaml", "webConfig": "config.js"}


def _folder(name: str) -> str:
    return f"/vt/vtadmin/{name.lower()}"


def _admin_deployment(around: Surroundings, admin: Admin, cell: str) -> Obj:
    rbac: SecretMount | None = secret_mount("vtadmin-rbac", admin.rbac) if admin.rbac else None
    flags = merged_flags(
        {
            "addr": f":{ADMIN_API_PORT}",
            "http-origin": "*",
            "cluster-config": f"{_folder('clusterConfig')}/{_ADMIN_FILES['clusterConfig']}",
            "logtostderr": "true",
        },
        {"rbac": "true", "rbac-config": rbac.path} if rbac else {"no-rbac": "true"},
        admin.extras.flags,
    )
    mounts = {name: {"name": name.lower(), "mountPath": _folder(name), "readOnly": True} for name in _ADMIN_FILES}
    api: Obj = {
        "name": "vtadmin-api",
        "image": around.images.vtadmin,
        **around.pull_policy(VTADMIN),
        "command": ["/vt/bin/vtadmin"],
        "args": flag_arguments(flags),
        "env": go_max_procs(admin.api_resources),
        "ports": [{"name": "api", "containerPort": ADMIN_API_PORT, "protocol": "TCP"}],
        "resources": admin.api_resources,
        "readinessProbe": http_probe("/health", "api"),
        "livenessProbe": http_probe("/health", "api", initialDelaySeconds=300, failureThreshold=30),
        "volumeMounts": [mounts["discovery"], mounts["clusterConfig"], *([rbac.mount] if rbac else [])],
    }
    web: Obj = {
        "name": "vtadmin-web",
        "image": around.images.vtadmin,
        **around.pull_policy(VTADMIN),
        "command": ["/vt/web/vtadmin/node_modules/.bin/serve", "--no-clipboard", "-l", str(WEB_PORT)],
        "args": ["-s", "/vt/web/vtadmin/build"],
        "ports": [WEB],
        "resources": admin.web_resources,
        "readinessProbe": http_probe("/"),
        "livenessProbe": http_probe("/", initialDelaySeconds=300, failureThreshold=30),
        "volumeMounts": [
            {**mounts["webConfig"], "mountPath": "/vt/web/vtadmin/build/config", "readOnly": True},
        ],
    }
    volumes = [
        {
            "name": name.lower(),
            "secret": {"secretName": vtadmin_secret_name(around.cluster, cell, name)},
        }
        for name in _ADMIN_FILES
    ]
    volumes += rbac.volumes if rbac else ()
    affinity = zone_affinity(around.zones.get(cell, ""))
    spec = pod_spec(around, [added(api, admin.extras), web], volumes, admin.extras, affinity=affinity)
    labels = component_labels(around.cluster, VTADMIN, cell)
    name = cell_deployment_name(around.cluster, cell, VTADMIN)
    return deployment(name, labels, admin.replicas, admin.extras, spec)
