"""VitessCell: etcd, vtctld, vtgate, orchestrator, the tablets' Service, the cell's registration, its keyspaces. Pure.

The order of the answer is the order in which a change is rolled out: keyspaces are the last.
"""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.vitess.kinds import COMPONENT_LABEL, ETCD_CLUSTERS, GLOBAL_CELL, KEYSPACE_LABEL, VITESS_KEYSPACES
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.components import orchestrator, tablet_service, vtctld, vtgate
from hanse.vitess.first.levels import (
    Children,
    absent,
    holds,
    inherited,
    named,
    of_kind,
    ready_condition,
    template_labels,
    with_label,
)
from hanse.vitess.first.vtctl import cell_info_name, register_cell

_KEYSPACES = f"{VITESS_KEYSPACES.kind}.{VITESS_KEYSPACES.api_version}"
_ETCDS = f"{ETCD_CLUSTERS.kind}.{ETCD_CLUSTERS.api_version}"
_COMPONENTS = ("vtctld", "vtgate", "orchestrator")


def sync(request: Obj) -> Obj:
    """Return what a cell consists of, and its status."""
    cell = request["parent"]
    status = observed_status(cell, request["children"])
    return {
        "status": {**status, "conditions": [ready_condition(_missing(cell["spec"], status))]},
        "children": list(_children(cell, request["children"])),
    }


def _children(cell: Obj, observed: Children) -> Iterator[Obj]:
    spec = cell["spec"]
    if "etcd" in spec:
        yield _etcd(cell)
    for component, make in (("vtctld", vtctld), ("vtgate", vtgate), ("orchestrator", orchestrator)):
        if component in spec:
            yield from make(cell)
    if spec["name"] != GLOBAL_CELL:
        yield tablet_service(cell)
        # One that failed, say because vtctld was not there yet, goes, and another one is made in its place.
        if not _job_has(cell, observed, "Failed"):
            yield register_cell(cell)
    for keyspace in spec.get("keyspaces") or ():
        yield _keyspace(cell, keyspace)


def _etcd(cell: Obj) -> Obj:
    wanted = cell["spec"]["etcd"]
    return {
        "apiVersion": ETCD_CLUSTERS.api_version,
        "kind": ETCD_CLUSTERS.kind,
        "metadata": {"name": f"{name_of(cell)}-etcd", "labels": template_labels(cell)},
        "spec": {"version": wanted["version"], "size": wanted["size"]},
    }


def _keyspace(cell: Obj, keyspace: Obj) -> Obj:
    spec, name = cell["spec"], keyspace["name"]
    family = inherited(cell, KEYSPACE_LABEL, name)
    return {
        "apiVersion": VITESS_KEYSPACES.api_version,
        "kind": VITESS_KEYSPACES.kind,
        "metadata": {"name": f"{name_of(cell)}-{name}", "labels": family["template"]["metadata"]["labels"]},
        "spec": {
            **keyspace,
            **family,
            "cluster": spec["cluster"],
            "cell": spec["name"],
            "backupFlags": spec.get("backupFlags") or {},
        },
    }


def observed_status(cell: Obj, children: Children) -> Obj:
    """Return what exists of a cell, and what of that works."""
    keyspaces, etcds = of_kind(children, _KEYSPACES), of_kind(children, _ETCDS)
    services, deployments = of_kind(children, "Service.v1"), of_kind(children, "Deployment.apps/v1")
    status: Obj = {
        "keyspaces": named(keyspaces),
        "readyKeyspaces": named(each for each in keyspaces if holds(each, "Ready")),
        "etcd": {"clusters": len(etcds), "availableClusters": sum(holds(each, "Available") for each in etcds)},
        "vttablet": {"services": len(with_label(services, COMPONENT_LABEL, "vttablet"))},
        "cellInfoRegistered": cell["spec"]["name"] == GLOBAL_CELL or _job_has(cell, children, "Complete"),
    }
    for component in _COMPONENTS:
        own = with_label(deployments, COMPONENT_LABEL, component)
        status[component] = {
            "services": len(with_label(services, COMPONENT_LABEL, component)),
            "deployments": len(own),
            "availableDeployments": sum(holds(each, "Available") for each in own),
        }
    config_maps = with_label(of_kind(children, "ConfigMap.v1"), COMPONENT_LABEL, "vtctld")
    status["vtctld"]["configMaps"] = len(config_maps)
    return status


def _job_has(cell: Obj, children: Children, condition: str) -> bool:
    """Tell whether a condition holds of the Job that registers a cell."""
    job = children["Job.batch/v1"].get(cell_info_name(cell))
    return job is not None and holds(job, condition)


def _missing(spec: Obj, status: Obj) -> Iterator[str]:
    """Say what a cell still lacks."""
    if "etcd" in spec and not status["etcd"]["availableClusters"]:
        yield "etcd"
    for component in _COMPONENTS:
        if component not in spec:
            continue
        found = status[component]
        if not (found["services"] and found["availableDeployments"] and found.get("configMaps", 1)):
            yield component
    if status["vttablet"]["services"] != int(spec["name"] != GLOBAL_CELL):
        yield "the Service of the tablets"
    if not status["cellInfoRegistered"]:
        yield "the registration of the cell"
    wanted = (each["name"] for each in spec.get("keyspaces") or ())
    yield from absent("keyspace", wanted, status["readyKeyspaces"])
