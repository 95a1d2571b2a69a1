"""What of each plain kind does not travel: what the host's server added, and every other adds for itself."""

from __future__ import annotations

from collections.abc import Callable

from hanse.kube.manifest import Obj

_GENERATED_LABELS = frozenset(
    {"batch.kubernetes.io/controller-uid", "controller-uid", "batch.kubernetes.io/job-name", "job-name"}
)


def travelling(source: Obj) -> Obj:
    """Return what a kind has beside its metadata, less what the host's server added and every other adds itself."""
    body = {name: value for name, value in source.items() if name not in ("metadata", "status")}
    rule = _RULES.get((str(source.get("apiVersion")), str(source["kind"])))
    return rule(body) if rule is not None else body


def _namespace(body: Obj) -> Obj:
    return _without(body, "spec")


def _service(body: Obj) -> Obj:
    spec = body.get("spec") or {}
    allocated = {"clusterIPs", "ipFamilies", "healthCheckNodePort"}
    if spec.get("clusterIP") != "None":
        allocated.add("clusterIP")
    if spec.get("ipFamilyPolicy") == "SingleStack":
        allocated.add("ipFamilyPolicy")
    kept = _without(spec, *allocated)
    if "ports" in kept:
        kept["ports"] = [_without(port or {}, "nodePort") for port in kept["ports"] or ()]
    return {**body, "spec": kept}


def _service_account(body: Obj) -> Obj:
    # The tokens of an account are the host's; every cluster makes its own.
    return _without(body, "secrets")


def _claim(body: Obj) -> Obj:
    return {**body, "spec": _without(body.get("spec") or {}, "volumeName")}


def _stateful_set(body: Obj) -> Obj:
    spec = body.get("spec") or {}
    if not spec.get("volumeClaimTemplates"):
        return body
    claims = [_without(claim, "status") for claim in spec["volumeClaimTemplates"]]
    return {**body, "spec": {**spec, "volumeClaimTemplates": claims}}


def _job(body: Obj) -> Obj:
    """Leave out the selector that names the host's own Job, and the end of a copy that would be begun again."""
    spec = _without(body.get("spec") or {}, "ttlSecondsAfterFinished")
    if spec.get("manualSelector"):
        return {**body, "spec": spec}
    spec = _without(spec, "selector", "manualSelector")
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    labels = _without(metadata.get("labels") or {}, *_GENERATED_LABELS)
    kept = {**_without(metadata, "labels"), **({"labels": labels} if labels else {})}
    return {**body, "spec": {**spec, "template": {**template, "metadata": kept}}}


def _without(fields: Obj, *names: str) -> Obj:
    return {name: value for name, value in fields.items() if name not in names}


_RULES: dict[tuple[str, str], Callable[[Obj], Obj]] = {
    ("v1", "Namespace"): _namespace,
    ("v1", "Service"): _service,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _job,
}
