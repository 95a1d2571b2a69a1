"""VitessCluster: from the cells and keyspaces of a spec to one VitessCell each. Pure."""

from __future__ import annotations

from hanse.api.vitess.kinds import CELL_LABEL, VITESS_CELLS
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.levels import absent, holds, inherited, named, of_kind, ready_condition

_CELLS = f"{VITESS_CELLS.kind}.{VITESS_CELLS.api_version}"


def sync(request: Obj) -> Obj:
    """Return the cells of a VitessCluster, in its order, and its status."""
    cluster = request["parent"]
    wanted = cluster["spec"]["cells"]
    observed = of_kind(request["children"], _CELLS)
    ready = named(each for each in observed if holds(each, "Ready"))
    missing = absent("cell", (each["name"] for each in wanted), ready)
    return {
        "status": {"cells": named(observed), "readyCells": ready, "conditions": [ready_condition(missing)]},
        "children": [cell_of(cluster, each) for each in wanted],
    }


def cell_of(cluster: Obj, cell: Obj) -> Obj:
    """Make the object of a cell: what the cluster says of it, and the keyspaces that have tablets there."""
    spec, name = cluster["spec"], cell["name"]
    family = inherited(cluster, CELL_LABEL, name)
    return {
        "apiVersion": VITESS_CELLS.api_version,
        "kind": VITESS_CELLS.kind,
        "metadata": {"name": f"{name_of(cluster)}-{name}", "labels": family["template"]["metadata"]["labels"]},
        "spec": {
            **cell,
            **family,
            "cluster": name_of(cluster),
            "backupFlags": spec.get("backupFlags") or {},
            "keyspaces": [each for each in spec.get("keyspaces") or () if name in each["cells"]],
        },
    }
