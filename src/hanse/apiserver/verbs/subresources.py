"""Parts of objects with paths of their own: binding, eviction, finalize."""

from __future__ import annotations

from dataclasses import replace

from hanse.apiserver import admission, objects, status
from hanse.apiserver.answers import Answer, answer_object, answer_plain
from hanse.apiserver.core import Call
from hanse.apiserver.verbs.bodies import check_name, read_manifest, read_part
from hanse.apiserver.verbs.delete import delete_object, options_from
from hanse.apiserver.verbs.disruption import allow_eviction
from hanse.apiserver.verbs.writing import change_object
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from hanse.kube.runtime import timestamp


async def bind(call: Call) -> Answer:
    """Assign a pod to a node."""
    binding = read_part(call, "", "v1", "Binding")
    name = call.path.name or str(dig(binding, "metadata", "name", default=""))
    node = str(dig(binding, "target", "name", default=""))
    if not node:
        problem = status.required_value("target.name")
        raise status.invalid("", "Binding", name, [problem])
    pods = call.core.registry.find("", "v1", "pods")
    assert pods is not None  # noqa: S101 - built in
    on_pod = replace(call, served=pods, path=replace(call.path, plural="pods", name=name, subresource="binding"))
    binding = await admission.admit_part(on_pod, _completed(on_pod, binding, "v1", "Binding"))
    node = str(dig(binding, "target", "name", default=""))

    def bound(pod: Obj) -> Obj:
        assigned = dig(pod, "spec", "nodeName")
        if assigned:
            raise status.conflict(
                replace(PODS, plural="pods/binding"), name, f'pod {name} is already assigned to node "{assigned}"'
            )
        if pod["metadata"].get("deletionTimestamp"):
            told = f"pod {name} is being deleted, cannot be assigned to a host"
            raise status.conflict(replace(PODS, plural="pods/binding"), name, told)
        pod["spec"]["nodeName"] = node
        extra = dig(binding, "metadata", "annotations", default={})
        if isinstance(extra, dict) and extra:
            pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **extra}
        _set_scheduled(pod, timestamp(call.core.runtime.now()))
        return pod

    await change_object(on_pod, bound, subresource="binding", tracked=False)
    return answer_plain(
        call, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201
    )


def _completed(call: Call, given: Obj, version: str, kind: str) -> Obj:
    """Return what was sent with the type and the place that its path tells."""
    metadata = {"name": call.path.name, "namespace": call.namespace, **(given.get("metadata") or {})}
    return {"kind": kind, "apiVersion": version, **given, "metadata": metadata}


def _set_scheduled(pod: Obj, now: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions[:] = [one for one in conditions if one.get("type") != "PodScheduled"] + [scheduled]


async def evict(call: Call) -> Answer:
    """Delete a pod unless a disruption budget forbids it."""
    eviction = read_part(call, "policy", "v1", "Eviction")
    named = dig(eviction, "metadata", "name", default=call.path.name)
    if named != call.path.name:
        raise status.bad_request(f"name in URL does not match name in Eviction object: {call.path.name} vs {named}")
    pod = call.core.read(call.served, call.namespace, call.path.name)
    if pod is None:
        raise status.not_found(call.served.resource, call.path.name)
    eviction = await admission.admit_part(call, _completed(call, eviction, "policy/v1", "Eviction"))
    options = options_from(call, eviction.get("deleteOptions") or {})
    await allow_eviction(call, pod, dry_run=options.dry_run)
    await delete_object(call, options)
    return answer_plain(
        call, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201
    )


async def finalize(call: Call) -> Answer:
    """Write a namespace's own finalizers."""
    wanted = read_manifest(call)
    check_name(call, wanted)

    def finalized(live: Obj) -> Obj:
        version = wanted["metadata"].get("resourceVersion")
        if version:
            live["metadata"]["resourceVersion"] = version
        live["spec"] = objects.copy(wanted.get("spec") or {})
        return live

    return answer_object(call, await change_object(call, finalized, subresource="finalize"))
