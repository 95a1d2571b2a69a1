"""VTOrc: keeps one shard in order, from every cell that may hold its primary."""

from __future__ import annotations

from hanse.api.planetscale.kinds import CELL_LABEL, COMPONENT_LABEL
from hanse.api.planetscale.reading import VTORC_RESOURCES, read_extras
from hanse.api.planetscale.values import Pool, PoolType
from hanse.kube.manifest import Obj
from hanse.vitess.naming import vtorc_name
from hanse.vitess.operator.flags import flag_arguments, go_max_procs, merged_flags, topology_flags
from hanse.vitess.operator.shaping import (
    READINESS,
    WEB,
    WEB_PORT,
    Surroundings,
    added,
    deployment,
    http_probe,
    pod_spec,
    zone_affinity,
)
from hanse.vitess.operator.tablets import ShardPlace

VTORC = "vtorc"


def orchestrator_cells(pools: tuple[Pool, ...]) -> list[str]:
    """Return the cells with a replica pool of the shard."""
    return sorted({pool.cell for pool in pools if pool.type is PoolType.REPLICA})


def orchestrator(around: Surroundings, place: ShardPlace, cell: str, spec: Obj) -> Obj:
    """Return the Deployment of a shard's VTOrc in one cell."""
    extras, resources = read_extras(spec), spec.get("resources") or VTORC_RESOURCES
    flags = merged_flags(
        {
            "cell": cell,
            "clusters_to_watch": f"{place.keyspace}/{place.key_range}",
            "port": str(WEB_PORT),
            "logtostderr": "true",
        },
        topology_flags(around.lockserver),
        around.flags,
        extras.flags,
    )
    container: Obj = {
        "name": VTORC,
        "image": around.images.vtorc,
        **around.pull_policy(VTORC),
        "command": ["/vt/bin/vtorc"],
        "args": flag_arguments(flags),
        "env": go_max_procs(resources),
        "ports": [WEB],
        "resources": resources,
        "readinessProbe": READINESS,
        "livenessProbe": http_probe("/debug/liveness", initialDelaySeconds=300, failureThreshold=30),
    }
    labels = {COMPONENT_LABEL: VTORC, **place.labels, CELL_LABEL: cell}
    body = pod_spec(around, [added(container, extras)], (), extras, affinity=zone_affinity(around.zones.get(cell, "")))
    return deployment(
        vtorc_name(place.cluster, place.keyspace, place.key_range.safe_name, cell), labels, 1, extras, body
    )
