"""apps/v1 and ReplicationController: defaults, rules and immutable fields."""

from __future__ import annotations

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.claims import claim_spec_problems
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
    template = spec.get("template")
    if not template:
        return
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
    fixed = []
    if old is not None and selector != old["spec"].get("selector"):
        fixed = [invalid_value("spec.selector", selector, field_rules.IMMUTABLE)]
    if selector is None:
        return [required_value("spec.selector"), _mismatch(spec), *fixed]
    problems = field_rules.label_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        # Replica sets are told the same: upstream took the sentence over from deployments.
        kind = "deployment" if obj["kind"] == "ReplicaSet" else obj["kind"].lower()
        return [*problems, invalid_value("spec.selector", selector, f"empty selector is invalid for {kind}"), *fixed]
    if problems:
        return [*problems, invalid_value("spec.selector", selector, "invalid label selector"), *fixed]
    if not LabelSelector.from_object(selector).matches(dig(spec, "template", "metadata", "labels", default={})):
        problems.append(_mismatch(spec))
    return problems + fixed


def _mismatch(spec: Obj) -> FieldProblem:
    labels = dig(spec, "template", "metadata", "labels")
    return invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _validate_deployment(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = field_rules.counts(
        spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"
    )
    problems += _selector_problems(obj, old)
    problems += template_problems(spec.get("template") or {}, "spec.template")
    problems += _deployment_strategy_problems(spec.get("strategy") or {})
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if isinstance(deadline, int) and deadline <= ready:
        problems.append(invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    # What has changed is told after what is wrong in itself.
    return sorted(problems, key=lambda one: field_rules.IMMUTABLE in one.message)


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
        at_most_all = name == "maxUnavailable"
        value = (rolling or {}).get(name)
        problems += field_rules.share(f"spec.strategy.rollingUpdate.{name}", value, at_most_all=at_most_all)
    if (
        not problems
        and rolling
        and all(field_rules.is_zero_share(rolling.get(n)) for n in ("maxUnavailable", "maxSurge"))
    ):
        told = "may not be 0 when `maxSurge` is 0"
        problems.append(invalid_value("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], told))
    return problems


def _validate_replicaset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = field_rules.counts(spec, "spec", "replicas", "minReadySeconds") + _selector_problems(obj, old)
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def _validate_replication_controller(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - as every rule
    spec = obj["spec"]
    problems = field_rules.counts(spec, "spec", "replicas", "minReadySeconds")
    selector = spec.get("selector") or {}
    labels = dig(spec, "template", "metadata", "labels", default={})
    if not spec.get("template"):
        return [*problems, required_value("spec.template")]
    if not selector:
        problems.append(required_value("spec.selector"))
    elif any(labels.get(name) != value for name, value in selector.items()):
        problems.append(_mismatch(spec))
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def _validate_statefulset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = _statefulset_policies(spec)
    problems += field_rules.counts(spec, "spec", "replicas", "minReadySeconds")
    problems += field_rules.counts(spec.get("ordinals") or {}, "spec.ordinals", "start")
    problems += [one for one in _selector_problems(obj, old) if field_rules.IMMUTABLE not in one.message]
    problems += template_problems(spec.get("template") or {}, "spec.template")
    for place, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        problems += claim_spec_problems(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{place}].spec")
    if old is not None and _fixed_part(spec) != _fixed_part(old["spec"]):
        problems.append(forbidden_value("spec", _STATEFULSET_IMMUTABLE))
    return problems


def _statefulset_policies(spec: Obj) -> list[FieldProblem]:
    problems = []
    policy, strategy = spec.get("podManagementPolicy"), spec.get("updateStrategy") or {}
    if policy not in ("OrderedReady", "Parallel"):
        told = "must be 'OrderedReady' or 'Parallel'"
        problems.append(invalid_value("spec.podManagementPolicy", policy, told))
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "RollingUpdate":
        problems += field_rules.counts(rolling or {}, "spec.updateStrategy.rollingUpdate", "partition")
    elif strategy.get("type") != "OnDelete":
        shown = {"Type": strategy.get("type"), "RollingUpdate": None}
        problems.append(invalid_value("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'"))
    elif rolling is not None:
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
        told = "only allowed for updateStrategy 'RollingUpdate'"
        problems.append(invalid_value("spec.updateStrategy.rollingUpdate", shown, told))
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        field = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
        problems += field_rules.one_of(field, retention.get(name), ("Retain", "Delete"))
    return problems


def _fixed_part(spec: Obj) -> Obj:
    return {name: value for name, value in spec.items() if name not in _STATEFULSET_MUTABLE}


def _validate_daemonset(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = [_mismatch(spec)] if spec.get("selector") is None else _selector_problems(obj, old)
    # Of a daemon set the change is told first.
    problems.sort(key=lambda one: field_rules.IMMUTABLE not in one.message)
    problems += template_problems(spec.get("template") or {}, "spec.template")
    problems += field_rules.counts(spec, "spec", "minReadySeconds")
    problems += _daemonset_strategy_problems(spec.get("updateStrategy") or {})
    return problems + field_rules.counts(spec, "spec", "revisionHistoryLimit")


def _daemonset_strategy_problems(strategy: Obj) -> list[FieldProblem]:
    field, rolling = "spec.updateStrategy.rollingUpdate", strategy.get("rollingUpdate") or {}
    if strategy.get("type") == "OnDelete":
        return []
    if strategy.get("type") != "RollingUpdate":
        shown = {"Type": strategy.get("type"), "RollingUpdate": None}
        return [unsupported_value("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))]
    problems = []
    for name in ("maxUnavailable", "maxSurge"):
        problems += field_rules.share(f"{field}.{name}", rolling.get(name), at_most_all=True)
    down, up = (field_rules.is_zero_share(rolling.get(name)) for name in ("maxUnavailable", "maxSurge"))
    if problems:
        return problems
    if down and up:
        return [required_value(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0")]
    if not down and not up:
        told = "may not be set when maxUnavailable is non-zero"
        return [invalid_value(f"{field}.maxSurge", rolling.get("maxSurge"), told)]
    return []


def _validate_deployment_status(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - as every rule
    told = obj.get("status") or {}
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    problems = field_rules.counts(told, "status", *names)
    total, available = told.get("replicas") or 0, told.get("availableReplicas") or 0
    problems += [
        invalid_value(f"status.{name}", told.get(name) or 0, "cannot be greater than status.replicas")
        for name in names[1:4]
        if (told.get(name) or 0) > total
    ]
    if available > (told.get("readyReplicas") or 0):
        problems.append(invalid_value("status.availableReplicas", available, "cannot be greater than readyReplicas"))
    return problems


def _validate_revision(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = [] if obj.get("data") is not None else [required_value("data", "data is mandatory")]
    problems += field_rules.at_least_zero("revision", obj.get("revision"))
    if problems:
        return problems
    if old is not None and obj.get("data") != old.get("data"):
        return [invalid_value("data", obj.get("data"), "field is immutable")]
    return []


DEPLOYMENT = Strategy(
    _default_deployment,
    _validate_deployment,
    counts_generation=True,
    new_status={},
    part_rules={"status": _validate_deployment_status},
)
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
