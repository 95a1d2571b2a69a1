"""DaemonJob: a Job that runs once on every node, on those that come later too.

Nodes are in no namespace and DaemonJobs are: the hooks are of version v2, which shows them all the same.
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"


def customize(request: Obj) -> Obj:
    """Ask to see the nodes that the selector matches; no selector matches all."""
    labels = request["parent"]["spec"].get("nodeSelector", {})
    rule = {"apiVersion": "v1", "resource": "nodes", "labelSelector": {"matchLabels": labels}}
    return {"relatedResources": [rule]}


def sync(request: Obj) -> Obj:
    """Return one Job for each node, and how many have run."""
    parent, nodes, jobs = request["parent"], request["related"]["Node.v1"], request["children"]["Job.batch/v1"]
    succeeded = sum(is_complete(job) for job in jobs.values())
    complete = succeeded == len(nodes) == len(jobs)
    return {
        "status": {
            "nodes": len(nodes),
            "succeeded": succeeded,
            "conditions": [{"type": "Complete", "status": "True" if complete else "False"}],
        },
        "children": [new_job(parent, node) for node in nodes.values()],
    }


def is_complete(job: Obj) -> bool:
    """Tell whether a Job has run to its good end."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)


def new_job(parent: Obj, node: Obj) -> Obj:
    """Make the Job that runs the template on one node."""
    template = parent["spec"]["template"]
    spec = {
        "restartPolicy": "OnFailure",
        **template["spec"],
        "nodeSelector": {HOSTNAME: node["metadata"]["labels"][HOSTNAME]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{parent['metadata']['name']}-{node['metadata']['name']}"},
        "spec": {"template": {**template, "spec": spec}},
    }
