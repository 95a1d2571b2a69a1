"""Whose wish an elected pod or whole Job is, as the federation knows them.

The users of a source are not those of the federation. Each is known there under a name that no user of the host has,
since it begins with the door and the source: roles of the host that name it, or the group of all users of that source,
say which clusters they may use. The host itself, as a source without a name, knows its users by their own names.

A pod that one of Kubernetes' own controllers makes is nobody's wish that could be asked about. It is taken as that of
the service account as which it runs, which whoever wrote its owner was free to choose within the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.manifest import Obj, dig
from hanse.pods.admission.requests import AdmissionRequest

AUTHOR_PREFIX = "pods.hanse.dev:"
_CONTROLLER = re.compile(r"system:kube-controller-manager|system:serviceaccount:kube-system:[^:]*-controller")
_DEFAULT_ACCOUNT = "default"


def author_annotations(
    request: AdmissionRequest, source: str, spec: Obj, controllers: Collection[str] = ()
) -> dict[str, str]:
    """Return what is stamped on a pod or Job with this pod spec.

    `controllers` are users who do the work of Kubernetes' own controllers in this cluster, beside those themselves.
    """
    by_controller = request.user in controllers or _CONTROLLER.fullmatch(request.user) is not None
    user, groups = _account(request, spec) if by_controller else (request.user, request.groups)
    # A group with a line break in its name would be read as two.
    groups = tuple(group for group in groups if "\n" not in group)
    if source:
        prefix = f"{AUTHOR_PREFIX}{source}"
        user, groups = f"{prefix}:{user}", (prefix, *(f"{prefix}:{group}" for group in groups))
    return {AUTHOR_ANNOTATION: user, AUTHOR_GROUPS_ANNOTATION: "\n".join(groups)}


def _account(request: AdmissionRequest, spec: Obj) -> tuple[str, tuple[str, ...]]:
    """Return as whom a pod runs."""
    account = dig(spec, "serviceAccountName") or dig(spec, "serviceAccount") or _DEFAULT_ACCOUNT
    namespace = request.namespace
    return (
        f"system:serviceaccount:{namespace}:{account}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"),
    )
