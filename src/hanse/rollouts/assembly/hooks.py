"""Which of a chart's hooks belong to an installation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.kube.manifest import Obj, annotations_of

HOOK_ANNOTATION = "helm.sh/hook"
# What Helm would only run when somebody asks for a test, a deletion or a rollback: never by installing.
_ELSEWHERE = {
    "test",
    "test-success",
    "test-failure",
    "pre-delete",
    "post-delete",
    "pre-rollback",
    "post-rollback",
}


def installed(manifests: Sequence[Obj]) -> list[Obj]:
    """Return the manifests without the hooks that only tests, deletions and rollbacks run; others are plain objects."""
    return [obj for obj in manifests if not _only_elsewhere(_events(obj))]


def _events(obj: Obj) -> list[str]:
    written = str(annotations_of(obj).get(HOOK_ANNOTATION) or "")
    return [event.strip() for event in written.split(",") if event.strip()]


def _only_elsewhere(events: Iterable[str]) -> bool:
    named = set(events)
    return bool(named) and named <= _ELSEWHERE
