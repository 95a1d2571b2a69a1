"""What a VitessCluster shows: its parts, who answers, and in one sentence what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.planetscale.kinds import (
    ETCD_LOCKSERVERS,
    SCHEDULED_ANNOTATION,
    VITESS_CELLS,
    VITESS_KEYSPACES,
)
from hanse.api.planetscale.reading import read_admin, read_images, read_lockserver
from hanse.kube.conditions import condition, find_condition, is_true
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.kube.resources import DEPLOYMENTS
from hanse.vitess.naming import (
    cell_name,
    cluster_service_name,
    global_lockserver_name,
    keyspace_name,
    lockserver_client_service,
)
from hanse.vitess.operator.verdicts import READY, Observed, Tri, ready_condition

UPDATED = "Updated"


def pending_of(live: Obj | None) -> Obj:
    """Return what an object waits for, as a status shows it."""
    pending = annotations_of(live).get(SCHEDULED_ANNOTATION) if live is not None else None
    return {"pendingChanges": pending} if pending else {}


def is_deployed(live: Obj | None) -> bool:
    """Tell whether a Deployment serves."""
    return live is not None and is_true(dig(live, "status", "conditions"), "Available")


def any_available(observed: Observed, component: str) -> Tri:
    """Tell whether any Deployment of a component serves; Unknown where there is none."""
    found = [
        each
        for each in observed.of(DEPLOYMENTS).values()
        if dig(each, "metadata", "labels", default={}).get("planetscale.com/component") == component
    ]
    return Tri.of(any(map(is_deployed, found)) if found else None)


def cluster_status(parent: Obj, observed: Observed, orphans: Mapping[str, Mapping[str, Obj]]) -> Obj:
    """Return the status of a VitessCluster."""
    cluster, spec = name_of(parent), parent["spec"]
    status: Obj = {
        "gatewayServiceName": cluster_service_name(cluster, "vtgate"),
        "vitessDashboard": {
            "available": any_available(observed, "vtctld"),
            "serviceName": cluster_service_name(cluster, "vtctld"),
        },
        "cells": {str(raw["name"]): _cell(observed, cluster, str(raw["name"])) for raw in spec.get("cells") or ()},
        "keyspaces": {
            str(raw["name"]): _keyspace(observed, cluster, str(raw["name"])) for raw in spec.get("keyspaces") or ()
        },
        **{kind: dict(those) for kind, those in orphans.items()},
    }
    if read_lockserver(spec.get("globalLockserver")).external is None:
        name = global_lockserver_name(cluster)
        live = observed.of(ETCD_LOCKSERVERS).get(name)
        status["globalLockserver"] = {
            "etcd": {
                "available": str(dig(live or {}, "status", "available", default=Tri.UNKNOWN)),
                "clientServiceName": lockserver_client_service(name),
            }
        }
    if read_admin(spec) is not None and read_images(spec).vtadmin:
        status["vtadmin"] = {
            "available": any_available(observed, "vtadmin"),
            "serviceName": cluster_service_name(cluster, "vtadmin"),
        }
    status["conditions"] = [_ready(parent, status), _updated(observed)]
    return status


def _cell(observed: Observed, cluster: str, cell: str) -> Obj:
    live = observed.of(VITESS_CELLS).get(cell_name(cluster, cell))
    available = dig(live or {}, "status", "gateway", "available", default=Tri.UNKNOWN)
    return {**pending_of(live), "gatewayAvailable": str(available)}


_COUNTS = ("shards", "readyShards", "updatedShards", "desiredTablets", "tablets", "readyTablets", "updatedTablets")


def _keyspace(observed: Observed, cluster: str, keyspace: str) -> Obj:
    live = observed.of(VITESS_KEYSPACES).get(keyspace_name(cluster, keyspace))
    shards: Mapping[str, Obj] = dig(live or {}, "status", "shards", default={})
    ready = [each for each in shards.values() if each.get("readyTablets") == each.get("desiredTablets")]
    updated = [each for each in shards.values() if each.get("updatedTablets") == each.get("desiredTablets")]
    sums = {
        name: sum(int(each.get(name) or 0) for each in shards.values())
        for name in ("desiredTablets", "tablets", "readyTablets", "updatedTablets")
    }
    is_ready = find_condition(dig(live or {}, "status", "conditions"), READY) or {}
    return {
        **pending_of(live),
        "ready": str(is_ready.get("status") or Tri.UNKNOWN),
        "desiredShards": int(dig(live or {}, "status", "desiredShards", default=0)),
        "shards": len(shards),
        "readyShards": len(ready),
        "updatedShards": len(updated),
        **sums,
        "cells": sorted({cell for each in shards.values() for cell in each.get("cells") or ()}),
    }


def _ready(parent: Obj, status: Obj) -> Obj:
    missing: list[str] = []
    if dig(status, "globalLockserver", "etcd", "available", default=Tri.TRUE) != Tri.TRUE:
        missing.append("the global lockserver has no quorum yet")
    missing += [
        f"vtgate in cell {name} is not available"
        for name, cell in status["cells"].items()
        if cell["gatewayAvailable"] != Tri.TRUE
    ]
    if status["cells"] and status["vitessDashboard"]["available"] != Tri.TRUE:
        missing.append("vtctld is not available")
    missing += [
        f"keyspace {name} is not ready ({each['readyTablets']} of {each['desiredTablets']} tablets are)"
        for name, each in status["keyspaces"].items()
        if each["ready"] != Tri.TRUE
    ]
    if missing:
        return ready_condition(parent, False, "NotReady", "; ".join(missing))
    return ready_condition(parent, True, "AllReady", "every cell and every keyspace is ready")


def _updated(observed: Observed) -> Obj:
    """Say whether everything below has what is asked for, and if not, what waits to be released."""
    children = [*observed.of(VITESS_CELLS).values(), *observed.of(VITESS_KEYSPACES).values()]
    waiting = sorted(
        f"{each['kind']} {name_of(each)}" for each in children if SCHEDULED_ANNOTATION in annotations_of(each)
    )
    behind = sorted(
        f"{each['kind']} {name_of(each)}"
        for each in children
        if dig(each, "status", "observedGeneration") != dig(each, "metadata", "generation")
        or dig(find_condition(dig(each, "status", "conditions"), UPDATED) or {}, "status") == "False"
    )
    if waiting:
        said = f"changes wait to be released (annotation rollout.planetscale.com/released): {', '.join(waiting)}"
        return condition(UPDATED, False, "Scheduled", said)
    if behind:
        return condition(UPDATED, False, "Rolling", f"changes are under way: {', '.join(behind)}")
    return condition(UPDATED, True, "UpToDate", "everything below is as it is asked for")
