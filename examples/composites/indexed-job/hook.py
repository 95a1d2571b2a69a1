"""IndexedJob: one pod for each piece of work, a few at a time; each is told its number in JOB_INDEX."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def sync(request: Obj) -> Obj:
    """Return the pods that shall run now and those that are done, and how far the work is."""
    job, pods = request["parent"], request["children"]["Pod.v1"]
    indexes = range(job["spec"]["completions"])
    phases = {index: phase(pods.get(pod_name(job, index))) for index in indexes}
    # What was done once stays done, even if somebody deletes the pod that did it.
    earlier = job.get("status", {}).get("completedIndexes", [])
    done = [index for index in indexes if index in earlier or phases[index] == "Succeeded"]
    # A failed pod is left out, so that it is deleted; then its index is as free as one that never ran.
    todo = [index for index in indexes if index not in done and phases[index] != "Failed"]
    started_first = sorted(todo, key=lambda index: (phases[index] == "", index))
    active = started_first[: job["spec"]["parallelism"]]
    kept = [index for index in done if phases[index] != ""]
    complete = len(done) == len(indexes)
    return {
        "status": {
            "active": len(active),
            "succeeded": len(done),
            "completedIndexes": done,
            "conditions": [{"type": "Complete", "status": "True" if complete else "False"}],
        },
        "children": [new_pod(job, index) for index in sorted([*active, *kept])],
    }


def phase(pod: Obj | None) -> str:
    """Return where a pod is in its life, "" where there is none."""
    return "" if pod is None else str(pod.get("status", {}).get("phase", "Pending"))


def pod_name(job: Obj, index: int) -> str:
    """Name the pod of a piece of work."""
    return f"{job['metadata']['name']}-{index}"


def new_pod(job: Obj, index: int) -> Obj:
    """Make the pod of a piece of work from the template."""
    template = job["spec"]["template"]
    own = {"name": "JOB_INDEX", "value": str(index)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template.get("metadata", {}), "name": pod_name(job, index)},
        "spec": {
            **template["spec"],
            # Its node tries again, ever more slowly; only a pod that is lost as a whole comes back here.
            "restartPolicy": "OnFailure",
            "containers": [each | {"env": [*each.get("env", []), own]} for each in template["spec"]["containers"]],
        },
    }
