"""The pods and claims of a StatefulSet: their ordinals, names, labels, volumes, and who owns the claims."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hanse.kube.manifest import Obj, dig, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.resources import PODS
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.controller_revisions import POD_REVISION, template_of
from hanse.simulator.workloads.kinds import PERSISTENT_VOLUME_CLAIMS
from hanse.simulator.workloads.pod_writes import new_pod
from hanse.simulator.workloads.replicas import wanted_replicas

_POD_NAME = re.compile(r"(.*)-([0-9]+)")
_POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"


def ordinal_of(stateful_set: Obj, pod_name: str) -> int | None:
    """Return a pod's ordinal; None where its name is not one of the StatefulSet's."""
    match = _POD_NAME.fullmatch(pod_name)
    if match is None or match.group(1) != name_of(stateful_set):
        return None
    return int(match.group(2))


def ordinals_of(stateful_set: Obj) -> range:
    """Return the ordinals that shall exist."""
    start = int(dig(stateful_set, "spec", "ordinals", "start", default=0))
    return range(start, start + wanted_replicas(stateful_set))


def pod_of(stateful_set: Obj, ordinal: int, revision: Obj) -> Obj:
    """Return the pod with an ordinal, made from a revision's template."""
    pod = new_pod(stateful_set, template_of(revision))
    name = f"{name_of(stateful_set)}-{ordinal}"
    metadata = pod["metadata"]
    labels = {
        **(metadata.get("labels") or {}),
        _POD_NAME_LABEL: name,
        _POD_INDEX_LABEL: str(ordinal),
        POD_REVISION: name_of(revision),
    }
    spec = {**pod["spec"], "hostname": name}
    if dig(stateful_set, "spec", "serviceName"):
        spec["subdomain"] = stateful_set["spec"]["serviceName"]
    if volumes := _volumes(stateful_set, ordinal, spec.get("volumes") or []):
        spec["volumes"] = volumes
    return {**pod, "metadata": {**metadata, "name": name, "labels": labels}, "spec": spec}


def _volumes(stateful_set: Obj, ordinal: int, declared: list[Obj]) -> list[Obj]:
    claims = {template["metadata"]["name"]: template for template in _claim_templates(stateful_set)}
    claimed = [
        {"name": name, "persistentVolumeClaim": {"claimName": _claim_name(stateful_set, template, ordinal)}}
        for name, template in claims.items()
    ]
    return claimed + [volume for volume in declared if volume["name"] not in claims]


def _claim_templates(stateful_set: Obj) -> list[Obj]:
    templates: list[Obj] = dig(stateful_set, "spec", "volumeClaimTemplates", default=[])
    return templates


def _claim_name(stateful_set: Obj, template: Obj, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{name_of(stateful_set)}-{ordinal}"


def claims_of(stateful_set: Obj, ordinal: int) -> list[Obj]:
    """Return the claims that the pod with an ordinal needs."""
    selected = dig(stateful_set, "spec", "selector", "matchLabels", default={})
    found = []
    for template in _claim_templates(stateful_set):
        metadata = template["metadata"]
        made: Obj = {
            "apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version,
            "kind": PERSISTENT_VOLUME_CLAIMS.kind,
            "metadata": {
                **{field: metadata[field] for field in ("annotations",) if metadata.get(field)},
                "name": _claim_name(stateful_set, template, ordinal),
                "namespace": namespace_of(stateful_set),
                "labels": {**(metadata.get("labels") or {}), **selected},
            },
            "spec": template["spec"],
        }
        if _policy(stateful_set, "whenDeleted") == "Delete":
            made["metadata"]["ownerReferences"] = [owner_reference(stateful_set)]
        found.append(made)
    return found


def _policy(stateful_set: Obj, when: str) -> str:
    policy: str = dig(stateful_set, "spec", "persistentVolumeClaimRetentionPolicy", when, default="Retain")
    return policy


def claim_owners(stateful_set: Obj, claim: Obj, pod: PodFacts, *, condemned: bool) -> list[Obj] | None:
    """Return who shall own a claim by the retention policy; None where that is so, or where others' hands are in it.

    A claim that goes with the set belongs to the set; one that goes on scaling down belongs to its pod, once that is
    condemned.
    """
    owners: list[Obj] = claim["metadata"].get("ownerReferences") or []
    ours = {uid_of(stateful_set), pod.uid}
    names = {("StatefulSet", name_of(stateful_set)), (PODS.kind, pod.key.name)}
    for owner in owners:
        named = (owner.get("kind"), owner.get("name")) in names
        if (named or owner.get("controller")) and owner.get("uid") not in ours:
            return None
    wanted = _wanted_owner(stateful_set, pod, condemned=condemned)
    present = [owner for owner in owners if owner.get("uid") in ours]
    if [owner.get("uid") for owner in present if owner.get("controller")] == [owner["uid"] for owner in wanted]:
        return None
    return [owner for owner in owners if owner.get("uid") not in ours] + wanted


def _wanted_owner(stateful_set: Obj, pod: PodFacts, *, condemned: bool) -> list[Obj]:
    if condemned and _policy(stateful_set, "whenScaled") == "Delete":
        identity = {"name": pod.key.name, "uid": pod.uid}
        return [owner_reference({"apiVersion": PODS.api_version, "kind": PODS.kind, "metadata": identity})]
    if _policy(stateful_set, "whenDeleted") == "Delete":
        return [owner_reference(stateful_set)]
    return []


def is_stale(claim: Obj, pod_name: str) -> bool:
    """Tell whether a claim goes with an earlier pod of that name: a new one must wait for its end."""
    owners: Iterable[Obj] = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == PODS.kind and owner.get("name") == pod_name for owner in owners)
