"""Who asks for what, as an AdmissionReview tells it."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig

CREATE = "CREATE"


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A write that an API server asks about before it stores it."""

    user: str
    groups: tuple[str, ...] = ()
    operation: str = CREATE
    namespace: str = ""
    dry_run: bool = False
    old: Obj | None = None


def request_in(review: Obj) -> AdmissionRequest:
    """Read the `request` of an AdmissionReview; what is missing is empty."""
    who = dig(review, "userInfo", default={})
    old, groups = review.get("oldObject"), who.get("groups")
    return AdmissionRequest(
        str(who.get("username") or ""),
        tuple(str(group) for group in groups) if isinstance(groups, list) else (),
        str(review.get("operation") or ""),
        str(review.get("namespace") or ""),
        bool(review.get("dryRun")),
        old if isinstance(old, dict) else None,
    )
