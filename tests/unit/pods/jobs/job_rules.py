"""What kube-apiserver demands of a Job's status update, as its validation says it; read there, written anew."""

from __future__ import annotations

from typing import Any


def is_true(status: dict[str, Any], kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or [])


def broken_rules(job: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the rules that a new status breaks."""
    old, spec = job.get("status") or {}, job["spec"]
    complete, failed = is_true(new, "Complete"), is_true(new, "Failed")
    finished, suspended = complete or failed, bool(spec.get("suspend"))
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    started, ended = new.get("startTime"), new.get("completionTime")
    rules = {
        "a terminal condition is disabled": any(
            is_true(old, kind) and not is_true(new, kind)
            for kind in ("Failed", "Complete", "FailureTarget", "SuccessCriteriaMet")
        ),
        "failed falls": new.get("failed", 0) < old.get("failed", 0),
        "succeeded falls": not elastic and new.get("succeeded", 0) < old.get("succeeded", 0),
        "both complete and failed": complete and failed,
        "complete and failing": complete and is_true(new, "FailureTarget"),
        "succeeding and failing": is_true(new, "SuccessCriteriaMet") and (failed or is_true(new, "FailureTarget")),
        "complete without success": complete and not is_true(new, "SuccessCriteriaMet"),
        "failed without failing": failed and not is_true(new, "FailureTarget"),
        "completion time without completion": bool(ended) != complete,
        "completion time changes": bool(old.get("completionTime")) and ended != old.get("completionTime"),
        "completed before it started": started is not None and ended is not None and ended < started,
        "finished with pods": finished and bool(new.get("active") or new.get("terminating")),
        "finished without a start": finished and not started,
        "uncounted pods": finished and bool(new.get("uncountedTerminatedPods")),
        "start changes": bool(old.get("startTime")) and started != old["startTime"] and not suspended,
        "more ready than active": new.get("ready", 0) > new.get("active", 0),
    }
    return [rule for rule, broken in rules.items() if broken]
