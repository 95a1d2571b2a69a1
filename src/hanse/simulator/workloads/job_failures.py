"""When a Job has failed, and how long it waits after a pod of it did: limits, deadlines, and its pod failure policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp
from hanse.simulator.workloads.job_pods import JobPod

_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Job ends, and why."""

    success: bool
    reason: str
    message: str


def is_suspended(job: Obj) -> bool:
    """Tell whether a Job shall have no pods for now."""
    return bool(dig(job, "spec", "suspend", default=False))


def replaces_only_failed(job: Obj) -> bool:
    """Tell whether a pod counts as failed only when it has ended, not when its end begins."""
    policy = dig(job, "spec", "podReplacementPolicy")
    return policy == "Failed" or dig(job, "spec", "podFailurePolicy") is not None


def has_failed(job: Obj, pod: JobPod) -> bool:
    """Tell whether a pod counts as a failure of its Job."""
    if pod.facts.phase == "Failed":
        return True
    return pod.facts.deleting and pod.facts.phase != "Succeeded" and not replaces_only_failed(job)


def judge_failure(
    job: Obj, pods: Sequence[JobPod], *, failed: int, started: float | None, now: float
) -> Verdict | None:
    """Return why a Job has failed; None while it has not."""
    for pod in pods:
        if has_failed(job, pod) and (message := _match(job, pod)[1]):
            return Verdict(success=False, reason="PodFailurePolicy", message=message)
    limit = dig(job, "spec", "backoffLimit", default=6)
    if failed > limit or _restarted_too_often(job, pods, limit):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = seconds_to_deadline(job, started=started, now=now)
    if left is not None and left <= 0:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def seconds_to_deadline(job: Obj, *, started: float | None, now: float) -> float | None:
    """Return how long a Job may still run; None where nothing limits it."""
    deadline = dig(job, "spec", "activeDeadlineSeconds")
    if deadline is None or started is None or is_suspended(job):
        return None
    return started + float(deadline) - now


def _restarted_too_often(job: Obj, pods: Iterable[JobPod], limit: int) -> bool:
    """Tell whether containers that restart in place used up the limit, as they do under OnFailure."""
    if dig(job, "spec", "template", "spec", "restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if pod.facts.phase in ("Running", "Pending"):
            for kind in ("initContainerStatuses", "containerStatuses"):
                restarts += sum(int(entry.get("restartCount") or 0) for entry in pod.status.get(kind) or ())
    return restarts > 0 if limit == 0 else restarts >= limit


def counts_as_failure(job: Obj, pod: JobPod) -> bool:
    """Tell whether a failed pod counts against the limit; a rule may say that it is to be ignored."""
    return _match(job, pod)[0] != "Ignore"


def _match(job: Obj, pod: JobPod) -> tuple[str, str]:
    """Return the action of the first rule that a failed pod matches, and what is to be said if it fails the Job."""
    for place, rule in enumerate(dig(job, "spec", "podFailurePolicy", "rules", default=[])):
        action = rule.get("action", "")
        if rule.get("onExitCodes") is not None:
            if container := _matching_container(pod.status, rule["onExitCodes"]):
                code = container["state"]["terminated"]["exitCode"]
                told = f"Container {container['name']} for pod {pod.facts.key} failed with exit code {code}"
                return action, _failing(action, told, place)
        elif met := _matching_condition(pod.status, rule.get("onPodConditions") or ()):
            return action, _failing(action, f"Pod {pod.facts.key} has condition {met}", place)
    return "", ""


def _failing(action: str, told: str, place: int) -> str:
    return f"{told} matching {action} rule at index {place}" if action == "FailJob" else ""


def _matching_container(status: Obj, rule: Obj) -> Obj | None:
    values, operator = rule.get("values") or (), rule.get("operator")
    for kind in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(kind) or ():
            code = dig(container, "state", "terminated", "exitCode")
            named = rule.get("containerName") in (None, container.get("name"))
            if code and named and ((code in values) if operator == "In" else (code not in values)):
                found: Obj = container
                return found
    return None


def _matching_condition(status: Obj, patterns: Iterable[Obj]) -> str:
    wanted = {(pattern.get("type"), pattern.get("status", "True")) for pattern in patterns}
    for entry in status.get("conditions") or ():
        if (entry.get("type"), entry.get("status")) in wanted:
            return str(entry["type"])
    return ""


def seconds_to_retry(job: Obj, pods: Sequence[JobPod], now: float) -> float:
    """Return how long the next pod must wait: longer with each failure since the last success."""
    succeeded = [pod.ended for pod in pods if pod.facts.phase == "Succeeded"]
    since = max(succeeded, default=float("-inf"))
    failures = [pod.ended for pod in pods if has_failed(job, pod) and pod.ended > since]
    if not failures:
        return 0.0
    pause = min(_FIRST_BACKOFF_SECONDS * 2.0 ** min(len(failures) - 1, 10), _LAST_BACKOFF_SECONDS)
    return max(0.0, max(failures) + pause - now)


def seconds_to_expiry(job: Obj, now: float) -> float | None:
    """Return how long a finished Job is kept; None where it is kept for good."""
    keep = dig(job, "spec", "ttlSecondsAfterFinished")
    for entry in dig(job, "status", "conditions", default=[]):
        if keep is not None and entry.get("type") in ("Complete", "Failed") and entry.get("status") == "True":
            return parse_timestamp(entry["lastTransitionTime"]) + float(keep) - now
    return None
