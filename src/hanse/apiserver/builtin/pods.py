"""Pods: defaults, and which of their fields may change."""

from __future__ import annotations

from hanse.apiserver.builtin.pod_admission import tolerate_failing_nodes
from hanse.apiserver.builtin.pod_spec import default_pod_spec, pod_spec_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

_IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def defaults(obj: Obj) -> None:
    """Fill in a pod."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("enableServiceLinks", True)
    default_pod_spec(spec)
    told = obj.get("status")
    if isinstance(told, dict) and told.get("podIP") and not told.get("podIPs"):
        told["podIPs"] = [{"ip": told["podIP"]}]
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        limits = dig(container, "resources", "limits")
        if limits:
            requests = container["resources"].setdefault("requests", {})
            for name, amount in limits.items():
                requests.setdefault(name, amount)
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort"))


def prepare_create(obj: Obj) -> None:
    """Begin a pod's life as pending."""
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}


def qos_class(spec: Obj) -> str:
    """Return a pod's quality-of-service class."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = False
    guaranteed = True
    for container in containers:
        requests = _amounts(dig(container, "resources", "requests"))
        limits = _amounts(dig(container, "resources", "limits"))
        asked = asked or bool(requests or limits)
        if set(limits) != {"cpu", "memory"} or any(requests.get(name, limits[name]) != limits[name] for name in limits):
            guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _amounts(listed: Obj | None) -> dict[str, object]:
    amounts: dict[str, object] = {}
    for name, amount in (listed or {}).items():
        value = parse_quantity(amount)
        if name in ("cpu", "memory") and value:
            amounts[name] = value
    return amounts


def validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a pod; of an existing one only images, deadline and added tolerations may change."""
    spec = obj.get("spec") or {}
    problems = pod_spec_problems(spec, "spec")
    if old is None:
        if spec.get("ephemeralContainers"):
            problems.append(forbidden_value("spec.ephemeralContainers", "cannot be set on create"))
        return problems
    resized = [
        forbidden_value(f"spec.{listed}", "pod updates may not add or remove containers")
        for listed in ("containers", "initContainers")
        if len(spec.get(listed) or ()) != len(old["spec"].get(listed) or ())
    ]
    if resized:
        return problems + resized
    if _frozen(spec) != _frozen(old["spec"]):
        problems.append(forbidden_value("spec", _IMMUTABLE))
    return problems


def _validate_bound(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a pod that gets its node, and nothing else."""
    named = {**obj["spec"], "nodeName": ""}
    return validate({**obj, "spec": named}, {**old, "spec": {**old["spec"], "nodeName": ""}} if old else None)


def _only_sizes(new: Obj, old: Obj) -> None:
    """Leave of an update nothing but the resources of containers."""
    spec: Obj = {**old["spec"]}
    for listed in ("containers", "initContainers"):
        if listed in spec:
            given = {one.get("name"): one for one in dig(new, "spec", listed, default=None) or []}
            spec[listed] = [_resized(one, given.get(one["name"], one)) for one in spec[listed]]
    new["spec"] = spec


def _resized(container: Obj, given: Obj) -> Obj:
    sized: Obj = {name: given[name] for name in ("resources", "resizePolicy") if name in given}
    return {**container, **sized}


def _validate_resize(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a pod whose containers get other resources."""
    problems = pod_spec_problems(obj.get("spec") or {}, "spec")
    if old is None:
        return problems
    if qos_class(obj["spec"]) != qos_class(old["spec"]):
        told = "Pod QOS Class may not change as a result of resizing"
        problems.append(invalid_value("spec", dig(obj, "status", "qosClass", default=""), told))
    for place, (new, was) in enumerate(zip(obj["spec"]["containers"], old["spec"]["containers"], strict=True)):
        for kind in ("requests", "limits"):
            if set(dig(was, "resources", kind) or {}) - set(dig(new, "resources", kind) or {}):
                field = f"spec.containers[{place}].resources.{kind}"
                problems.append(forbidden_value(field, f"resource {kind} cannot be removed"))
    return problems


def _only_ephemeral(new: Obj, old: Obj) -> None:
    """Leave of an update nothing but the ephemeral containers."""
    given = dig(new, "spec", "ephemeralContainers", default=None)
    kept = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    new["spec"] = {**kept, "ephemeralContainers": given} if given else kept


def _validate_ephemeral(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a pod that gets ephemeral containers; those that it has stay as they are."""
    problems = pod_spec_problems(obj.get("spec") or {}, "spec")
    present = {one["name"]: one for one in dig(obj, "spec", "ephemeralContainers", default=None) or []}
    for one in dig(old, "spec", "ephemeralContainers", default=None) or []:
        kept = present.get(one["name"])
        if kept != one:
            told = (
                f'existing ephemeral containers "{one["name"]}" may not be {"removed" if kept is None else "changed"}\n'
            )
            problems.append(forbidden_value("spec.ephemeralContainers", told))
    return problems


def _frozen(spec: Obj) -> Obj:
    kept = {name: value for name, value in spec.items() if name not in ("activeDeadlineSeconds", "tolerations")}
    if spec.get("schedulingGates") is not None:
        kept.pop("schedulingGates", None)
    for listed in ("containers", "initContainers"):
        kept[listed] = [
            {name: value for name, value in one.items() if name != "image"} for one in spec.get(listed) or ()
        ]
    return kept


def _prepare_update(new: Obj, _old: Obj) -> None:
    # An apply that lists tolerations would otherwise take the cluster's own away.
    tolerate_failing_nodes(new)


STRATEGY = Strategy(
    defaults=defaults,
    validate=validate,
    part_rules={"binding": _validate_bound, "ephemeralcontainers": _validate_ephemeral, "resize": _validate_resize},
    narrow={"ephemeralcontainers": _only_ephemeral, "resize": _only_sizes},
    prepare_create=prepare_create,
    prepare_update=_prepare_update,
    counts_generation=True,
    selectable={
        "spec.nodeName": lambda obj: str(dig(obj, "spec", "nodeName", default="")),
        "spec.restartPolicy": lambda obj: str(dig(obj, "spec", "restartPolicy", default="")),
        "spec.schedulerName": lambda obj: str(dig(obj, "spec", "schedulerName", default="")),
        "spec.serviceAccountName": lambda obj: str(dig(obj, "spec", "serviceAccountName", default="")),
        "spec.hostNetwork": lambda obj: str(bool(dig(obj, "spec", "hostNetwork"))).lower(),
        "status.phase": lambda obj: str(dig(obj, "status", "phase", default="")),
        "status.podIP": lambda obj: str(dig(obj, "status", "podIP", default="")),
        "status.nominatedNodeName": lambda obj: str(dig(obj, "status", "nominatedNodeName", default="")),
    },
)
