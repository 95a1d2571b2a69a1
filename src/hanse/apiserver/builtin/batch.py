"""Jobs and CronJobs."""

from __future__ import annotations

from hanse.apiserver.builtin.pod_spec import default_template, template_problems
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj, dig

_RESTART = ("OnFailure", "Never")
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
        obj["metadata"]["labels"] = dict(labels)


def _generate_selector(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("manualSelector"):
        return
    uid, name = obj["metadata"]["uid"], obj["metadata"].get("name", "")
    template = spec.setdefault("template", {})
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    labels |= {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector["batch.kubernetes.io/controller-uid"] = uid
    _default_labels(obj)


def _validate_job(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj["spec"]
    problems = [
        invalid_value(f"spec.{name}", spec[name], "must be greater than or equal to 0")
        for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
        if isinstance(spec.get(name), int) and spec[name] < 0
    ]
    problems += _template_problems(spec, "spec.template")
    if old is not None:
        problems += [
            invalid_value(f"spec.{name}", spec.get(name), "field is immutable")
            for name in ("selector", "completionMode", "template")
            if spec.get(name) != old["spec"].get(name) and not (name == "template" and old["spec"].get("suspend"))
        ]
    return problems


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


def _validate_cronjob(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj["spec"]
    problems = []
    schedule = str(spec.get("schedule") or "")
    if not schedule:
        problems.append(required_value("spec.schedule"))
    elif not schedule.startswith("@") and len(schedule.split()) != 5:
        told = f"expected exactly 5 fields, found {len(schedule.split())}: [{schedule}]"
        problems.append(invalid_value("spec.schedule", schedule, told))
    if spec.get("concurrencyPolicy") not in _CONCURRENCY:
        problems.append(unsupported_value("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY))
    return problems + _template_problems(spec["jobTemplate"].get("spec") or {}, "spec.jobTemplate.spec.template")


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
