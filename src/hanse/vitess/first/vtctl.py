"""Commands to Vitess as Jobs: vtctlclient speaks with the global vtctld. Pure."""

from __future__ import annotations

from hanse.api.vitess.kinds import COMPONENT_LABEL
from hanse.kube.manifest import Obj, name_of
from hanse.vitess.first.flags import GRPC_PORT, etcd_address
from hanse.vitess.first.levels import template_labels

IMAGE = "vitess/vtctlclient"
_COMPONENT = "vtctlclient"
_DEADLINE_SECONDS = 60


def cell_info_name(cell: Obj) -> str:
    """Return the name of the Job that registers a cell."""
    return f"{name_of(cell)}-cell-info"


def register_cell(cell: Obj) -> Obj:
    """Make the Job that tells Vitess where the topology of a cell is: in its own etcd, or else in the global one."""
    spec = cell["spec"]
    home = name_of(cell) if "etcd" in spec else f"{spec['cluster']}-global"
    command = ["UpdateCellInfo", "-server_address", etcd_address(home), "-root", f"/vitess/{spec['name']}"]
    return vtctl_job(cell, cell_info_name(cell), [*command, spec["name"]], _DEADLINE_SECONDS)


def vtctl_job(parent: Obj, name: str, command: list[str], seconds: int) -> Obj:
    """Make the Job of one command, which is tried again for so long."""
    labels = {**template_labels(parent), COMPONENT_LABEL: _COMPONENT}
    server = f"{parent['spec']['cluster']}-global-vtctld:{GRPC_PORT}"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "activeDeadlineSeconds": seconds,
            "backoffLimit": 10,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "restartPolicy": "OnFailure",
                    "containers": [
                        {
                            "name": _COMPONENT,
                            "image": IMAGE,
                            "command": [_COMPONENT, "-server", server, *command],
                        }
                    ],
                },
            },
        },
    }
