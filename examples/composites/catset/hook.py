"""CatSet: pods with numbers and volumes of their own, as a StatefulSet has them.

Pods come one after the other, each when all before it are ready, and go from the last to the first. Volume claims stay
when pods go; they go with the CatSet.
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def sync(request: Obj) -> Obj:
    """Return the pods and volume claims that a CatSet shall have now, and its status."""
    return answer(request, request["parent"]["spec"]["replicas"])


def finalize(request: Obj) -> Obj:
    """Take the pods away in order, and let the CatSet go when none is left."""
    return answer(request, 0) | {"finalized": not request["children"]["Pod.v1"]}


def answer(request: Obj, replicas: int) -> Obj:
    """Return what a CatSet shall have on its way to so many replicas."""
    catset, claims = request["parent"], request["children"]["PersistentVolumeClaim.v1"]
    pods = by_ordinal(catset, request["children"]["Pod.v1"])
    ready = {ordinal for ordinal, pod in pods.items() if is_ready(pod)}
    # Children are made, and rolled out, in the order of the answer: claims before their pods, the last pod first.
    ordinals = sorted(wanted(catset, set(pods), ready, replicas), reverse=True)
    needed = [claim(catset, template, ordinal) for ordinal in ordinals for template in claim_templates(catset)]
    names = {each["metadata"]["name"] for each in needed}
    kept = [each for name, each in claims.items() if name not in names]
    return {
        "status": {"replicas": len(ordinals), "readyReplicas": len(ready)},
        "children": needed + kept + [new_pod(catset, ordinal) for ordinal in ordinals],
    }


def wanted(catset: Obj, present: set[int], ready: set[int], replicas: int) -> set[int]:
    """Tell which pods shall be there now: one more once all are ready, one less once the last one is gone."""
    started = catset.get("status", {}).get("replicas", 0)
    ordinals = {ordinal for ordinal in range(replicas) if ordinal < started or ordinal in present}
    missing = set(range(replicas)) - ordinals
    if missing and ordinals <= ready:
        ordinals.add(min(missing))
    surplus = sorted(ordinal for ordinal in present if ordinal >= replicas)
    # A pod that stops is still present, so that the one before it waits until it is gone.
    return ordinals | set(surplus[:-1])


def by_ordinal(catset: Obj, pods: Obj) -> dict[int, Obj]:
    """Return the pods by their numbers; one that is named otherwise was adopted by its labels, and is not wanted."""
    prefix = f"{catset['metadata']['name']}-"
    return {int(name.removeprefix(prefix)): pod for name, pod in pods.items() if name.removeprefix(prefix).isdecimal()}


def is_ready(pod: Obj) -> bool:
    """Tell whether a pod is ready and stays."""
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def new_pod(catset: Obj, ordinal: int) -> Obj:
    """Make the pod of a number from the template."""
    name, spec, template = f"{catset['metadata']['name']}-{ordinal}", catset["spec"], catset["spec"]["template"]
    volumes = [
        {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim_name(catset, each, ordinal)}}
        for each in claim_templates(catset)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": name},
        "spec": {
            **template["spec"],
            "hostname": name,
            "subdomain": spec["serviceName"],
            "volumes": template["spec"].get("volumes", []) + volumes,
        },
    }


def claim_templates(catset: Obj) -> list[Obj]:
    """Return the volumes that each pod gets."""
    templates: list[Obj] = catset["spec"].get("volumeClaimTemplates", [])
    return templates


def claim_name(catset: Obj, template: Obj, ordinal: int) -> str:
    """Name a volume of a pod as StatefulSets do."""
    return f"{template['metadata']['name']}-{catset['metadata']['name']}-{ordinal}"


def claim(catset: Obj, template: Obj, ordinal: int) -> Obj:
    """Make the claim of one volume; it carries the pods' labels, by which it is known as the CatSet's."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim_name(catset, template, ordinal),
            "labels": catset["spec"]["template"]["metadata"]["labels"],
        },
        "spec": template["spec"],
    }
