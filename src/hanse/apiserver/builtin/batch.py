"""Jobs and CronJobs."""

from __future__ import annotations

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.cron_schedules import schedule_problem, zone_problem
from hanse.apiserver.builtin.pod_spec import default_template, template_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, invalid_value, required_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import LabelSelector

_RESTART = ("OnFailure", "Never")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_UID_LABEL = "batch.kubernetes.io/controller-uid"
_LONGEST_NAME = 52
_CONCURRENCY = ("Allow", "Forbid", "Replace")


def _default_job_spec(spec: Obj) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    default_template(spec.setdefault("template", {}))


def _default_job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _default_job_spec(spec)
    _default_labels(obj)


def _default_labels(obj: Obj) -> None:
    labels = dig(obj, "spec", "template", "metadata", "labels")
    if labels and not obj["metadata"].get("labels"):
        # One mapping for both, as upstream: what is generated into the template is then the Job's as well.
        obj["metadata"]["labels"] = labels


def _generate_selector(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("manualSelector"):
        return
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name", "")
    template = spec.setdefault("template", {})
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    labels |= {
        _UID_LABEL: uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector[_UID_LABEL] = uid
    _default_labels(obj)


def _validate_job(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = _job_spec_problems(spec, "spec")
    if not spec.get("manualSelector"):
        problems += _generated_selector_problems(obj)
    problems += _selection_problems(spec)
    if old is not None:
        problems += _job_changes(spec, old["spec"])
    return problems


def _job_changes(spec: Obj, old: Obj) -> list[FieldProblem]:
    fixed = ["completionMode", "selector"]
    if not old.get("suspend"):
        fixed.append("template")
    # The completions of an indexed job may change together with its parallelism.
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic:
        fixed.insert(0, "completions")
    return field_rules.unchanged(spec, old, "spec.", *fixed)


def _job_spec_problems(spec: Obj, field: str) -> list[FieldProblem]:
    names = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    problems = field_rules.counts(spec, field, *names, "backoffLimitPerIndex", "maxFailedIndexes")
    problems += _mode_problems(spec, field) + _failure_policy_problems(spec, field)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        allowed = ("Failed", "TerminatingOrFailed")
        problems += field_rules.one_of(f"{field}.podReplacementPolicy", replacement, allowed)
    return problems + _template_problems(spec, f"{field}.template")


def _mode_problems(spec: Obj, field: str) -> list[FieldProblem]:
    mode = spec.get("completionMode")
    problems = []
    if mode is not None:
        problems += field_rules.one_of(f"{field}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if spec.get("completions") is None:
            problems.append(required_value(f"{field}.completions", "when completion mode is Indexed"))
    elif spec.get("backoffLimitPerIndex") is not None:
        told = "requires indexed completion mode"
        problems.append(invalid_value(f"{field}.backoffLimitPerIndex", spec["backoffLimitPerIndex"], told))
    return problems


def _failure_policy_problems(spec: Obj, field: str) -> list[FieldProblem]:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return []
    problems = []
    restart = dig(spec, "template", "spec", "restartPolicy")
    if restart != "Never":
        told = 'only "Never" is supported when podFailurePolicy is specified'
        problems.append(invalid_value(f"{field}.template.spec.restartPolicy", restart, told))
    for place, rule in enumerate(policy.get("rules") or ()):
        at = f"{field}.podFailurePolicy.rules[{place}]"
        problems += field_rules.one_of(f"{at}.action", rule.get("action") or "", _ACTIONS)
        if bool(rule.get("onExitCodes")) == bool(rule.get("onPodConditions")):
            told = "specifying one of OnExitCodes and OnPodConditions is required"
            problems.append(invalid_value(at, "", told))
    return problems


def _generated_selector_problems(obj: Obj) -> list[FieldProblem]:
    selector = obj["spec"].get("selector")
    if selector == {"matchLabels": {_UID_LABEL: obj["metadata"].get("uid")}}:
        return []
    return [invalid_value("spec.selector", _sorted(selector), "`selector` not auto-generated")]


def _sorted(selector: Obj | None) -> Obj | None:
    # Upstream prints maps in the order of their keys.
    labels = (selector or {}).get("matchLabels")
    return {**(selector or {}), "matchLabels": dict(sorted(labels.items()))} if labels else selector


def _selection_problems(spec: Obj) -> list[FieldProblem]:
    selector = spec.get("selector")
    labels = dig(spec, "template", "metadata", "labels")
    told = invalid_value("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if selector is None:
        return [required_value("spec.selector"), told]
    problems = field_rules.label_selector(selector, "spec.selector")
    if problems:
        return problems
    return [] if LabelSelector.from_object(selector).matches(labels or {}) else [told]


def _template_problems(spec: Obj, field: str) -> list[FieldProblem]:
    template = spec.get("template") or {}
    policy = dig(template, "spec", "restartPolicy")
    problems = [one for one in template_problems(template, field, restart=_RESTART) if "restartPolicy" not in one.field]
    if policy == "Always":
        return [*problems, required_value(f"{field}.spec.restartPolicy", 'valid values: "OnFailure", "Never"')]
    return problems


def _default_cronjob(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    default_template(template.setdefault("spec", {}).setdefault("template", {}))


def _validate_cronjob(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec, name = obj["spec"], str(obj["metadata"].get("name") or "")
    problems = []
    if old is None and len(name) > _LONGEST_NAME:
        # Jobs are called after their cron job, with a time of eleven characters at the end.
        problems.append(invalid_value("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters"))
    schedule = str(spec.get("schedule") or "")
    wrong = schedule_problem(schedule) if schedule else ""
    if not schedule:
        problems.append(required_value("spec.schedule"))
    elif wrong:
        problems.append(invalid_value("spec.schedule", schedule, wrong))
    problems += field_rules.counts(spec, "spec", "startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and zone_problem(zone):
        problems.append(invalid_value("spec.timeZone", zone, zone_problem(zone)))
    problems += field_rules.one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY)
    problems += _job_spec_problems(spec["jobTemplate"].get("spec") or {}, "spec.jobTemplate.spec")
    return problems + field_rules.counts(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


JOB = Strategy(
    _default_job,
    _validate_job,
    prepare_create=_generate_selector,
    counts_generation=True,
    new_status={},
    selectable={"status.successful": lambda obj: str(dig(obj, "status", "succeeded", default=0))},
    default_propagation="Orphan",
)
CRONJOB = Strategy(_default_cronjob, _validate_cronjob, counts_generation=True, new_status={})
