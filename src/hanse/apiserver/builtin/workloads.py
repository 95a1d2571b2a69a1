"""apps/v1 and ReplicationController: defaults, rules and immutable fields."""

from __future__ import annotations

import re
from typing import Any

from hanse.apiserver.builtin.pod_spec import default_template, template_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import (
    FieldProblem,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import LabelSelector

_AT_LEAST_ZERO = "must be greater than or equal to 0"
_STATEFULSET_IMMUTABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFULSET_MUTABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _default_deployment(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec.setdefault("template", {}))


def _default_replicaset(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.setdefault("template", {}))


def _default_replication_controller(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.setdefault("template", {})
    default_template(template)
    labels = dig(template, "metadata", "labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def _default_statefulset(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _default_daemonset(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.setdefault("template", {}))
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations.setdefault("deprecated.daemonset.template.generation", "1")


def _count_template_generation(new: Obj, old: Obj) -> None:
    before = (old["metadata"].get("annotations") or {}).get("deprecated.daemonset.template.generation", "1")
    changed = new["spec"].get("template") != old["spec"].get("template")
    count = int(before) + 1 if changed else int(before)
    new["metadata"].setdefault("annotations", {})["deprecated.daemonset.template.generation"] = str(count)


def _selector_problems(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    selector = spec.get("selector")
    if selector is None:
        problems = [required_value("spec.selector")]
        return [*problems, _mismatch(spec)]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        told = (
            "empty selector is invalid for deployment"
            if obj["kind"] == "Deployment"
            else (f"empty selector is invalid for {obj['kind'].lower()}")
        )
        return [invalid_value("spec.selector", selector, told)]
    problems = []
    try:
        if not LabelSelector.from_object(selector).matches(dig(spec, "template", "metadata", "labels", default={})):
            problems.append(_mismatch(spec))
    except ValueError as error:
        problems.append(invalid_value("spec.selector", selector, str(error)))
    if old is not None and selector != old["spec"].get("selector"):
        problems.append(invalid_value("spec.selector", selector, "field is immutable"))
    return problems


def _mismatch(spec: Obj) -> FieldProblem:
    labels = dig(spec, "template", "metadata", "labels")
    return invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _count_problems(spec: Obj, *names: str) -> list[FieldProblem]:
    return [
        invalid_value(f"spec.{name}", spec[name], _AT_LEAST_ZERO)
        for name in names
        if isinstance(spec.get(name), int) and spec[name] < 0
    ]


def _validate_deployment(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = _count_problems(spec, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    problems += _selector_problems(obj, old)
    problems += template_problems(spec.get("template") or {}, "spec.template")
    problems += _deployment_strategy_problems(spec.get("strategy") or {})
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if isinstance(deadline, int) and deadline <= ready:
        problems.append(invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return problems


def _deployment_strategy_problems(strategy: Obj) -> list[FieldProblem]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        shown = {"Type": kind, "RollingUpdate": None}
        return [unsupported_value("spec.strategy", shown, ("Recreate", "RollingUpdate"))]
    if kind == "Recreate":
        told = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_value("spec.strategy.rollingUpdate", told)] if rolling is not None else []
    problems = []
    for name in ("maxUnavailable", "maxSurge"):
        problems += _share_problems(f"spec.strategy.rollingUpdate.{name}", (rolling or {}).get(name))
    if not problems and _is_zero((rolling or {}).get("maxUnavailable")) and _is_zero((rolling or {}).get("maxSurge")):
        told = "may not be 0 when `maxSurge` is 0"
        problems.append(invalid_value("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], told))  # type: ignore[index]
    return problems


def _share_problems(field: str, value: Any) -> list[FieldProblem]:
    if isinstance(value, str) and not re.fullmatch(r"[0-9]+%", value):
        told = (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        return [invalid_value(field, value, told)]
    if isinstance(value, int) and value < 0:
        return [invalid_value(field, value, _AT_LEAST_ZERO)]
    return []


def _is_zero(value: Any) -> bool:
    return value in (0, "0%")


def _validate_replicaset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = _count_problems(spec, "replicas", "minReadySeconds") + _selector_problems(obj, old)
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def _validate_replication_controller(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - as every rule
    spec = obj["spec"]
    problems = _count_problems(spec, "replicas", "minReadySeconds")
    selector = spec.get("selector") or {}
    labels = dig(spec, "template", "metadata", "labels", default={})
    if not selector:
        problems.append(required_value("spec.selector"))
    elif any(labels.get(name) != value for name, value in selector.items()):
        problems.append(_mismatch(spec))
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def _validate_statefulset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = _count_problems(spec, "replicas", "minReadySeconds")
    problems += [one for one in _selector_problems(obj, old) if "immutable" not in one.message]
    problems += template_problems(spec.get("template") or {}, "spec.template")
    if old is not None and _fixed_part(spec) != _fixed_part(old["spec"]):
        problems.append(forbidden_value("spec", _STATEFULSET_IMMUTABLE))
    return problems


def _fixed_part(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in _STATEFULSET_MUTABLE}


def _validate_daemonset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = [_mismatch(spec)] if spec.get("selector") is None else _selector_problems(obj, old)
    problems += _count_problems(spec, "minReadySeconds")
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def _validate_revision(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    if old is not None and obj.get("data") != old.get("data"):
        return [invalid_value("data", obj.get("data"), "field is immutable")]
    return []


DEPLOYMENT = Strategy(_default_deployment, _validate_deployment, counts_generation=True, new_status={})
REPLICASET = Strategy(
    _default_replicaset,
    _validate_replicaset,
    counts_generation=True,
    new_status={"replicas": 0},
    selectable={"status.replicas": lambda obj: str(dig(obj, "status", "replicas", default=0))},
)
STATEFULSET = Strategy(
    _default_statefulset,
    _validate_statefulset,
    counts_generation=True,
    new_status={"replicas": 0, "availableReplicas": 0},
)
DAEMONSET = Strategy(
    _default_daemonset,
    _validate_daemonset,
    prepare_update=_count_template_generation,
    counts_generation=True,
    new_status={"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0},
)
REPLICATION_CONTROLLER = Strategy(
    _default_replication_controller,
    _validate_replication_controller,
    counts_generation=True,
    new_status={"replicas": 0},
    selectable={"status.replicas": lambda obj: str(dig(obj, "status", "replicas", default=0))},
    default_propagation="Orphan",
)
CONTROLLER_REVISION = Strategy(validate=_validate_revision)
