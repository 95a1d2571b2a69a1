"""Stamping the author on every federated object, so that it cannot be forged: a MutatingAdmissionPolicy on the host.

Whoever creates or changes an object is its author from then on. Hanse itself and the host's own controllers write
finalizers and the like on behalf of nobody: their writes keep the author that was there. What a user puts under the
annotations' names is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

POLICY_NAME = "author.hanse.dev"
API_VERSION = "admissionregistration.k8s.io/v1"
_RETRY_SECONDS = 1.0
_GROUP = "admissionregistration.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_POLICY, _BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
_SELF_SUBJECT_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
# The host's own loops: of kube-controller-manager with and without accounts of their own, and of the server itself.
_SYSTEM = (
    "request.userInfo.username in ['system:kube-controller-manager', 'system:apiserver'] || "
    "request.userInfo.username.startsWith('system:serviceaccount:kube-system:')"
)


async def install(host: Client, kinds: Sequence[Resource]) -> bool:
    """Have authors stamped on objects of these kinds; False where the host does not serve mutating policies."""
    served = await _served(host)
    if served is None:
        return False
    policy, binding = served
    own = await _own_name(host)
    await host.apply(policy, policy_manifest(policy.api_version, kinds, own))
    await host.apply(binding, binding_manifest(binding.api_version))
    return True


async def is_installed(host: Client) -> bool:
    """Tell whether authors are stamped on this host."""
    served = await _served(host)
    return served is not None and await host.find(served[1], POLICY_NAME) is not None


async def wait_installed(host: Client) -> bool:
    """Tell whether authors are stamped on this host, however long it takes to answer."""
    while True:
        try:
            return await is_installed(host)
        except (ApiError, Unreachable):
            await host.runtime.sleep(_RETRY_SECONDS)


def policy_manifest(api_version: str, kinds: Sequence[Resource], own: str) -> Obj:
    """Write the policy; `own` is the user as whom Hanse itself writes to the host."""
    kept = f"oldObject != null && (request.userInfo.username == {_text(own)} || {_SYSTEM})"
    # A group with a line break in its name would be read as two.
    groups = "request.userInfo.groups.filter(g, !g.contains('\\n')).join('\\n')"
    stamp = (
        "Object{metadata: Object.metadata{annotations: {"
        f"'{AUTHOR_ANNOTATION}': variables.kept ? variables.author : request.userInfo.username, "
        f"'{AUTHOR_GROUPS_ANNOTATION}': variables.kept ? variables.groups : {groups}"
        "}}}"
    )
    return {
        "apiVersion": api_version,
        "kind": _POLICY,
        "metadata": {"name": POLICY_NAME},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": list(_rules(kinds))},
            "variables": [
                {"name": "kept", "expression": kept},
                {"name": "author", "expression": _before(AUTHOR_ANNOTATION)},
                {"name": "groups", "expression": _before(AUTHOR_GROUPS_ANNOTATION)},
            ],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": stamp}}],
        },
    }


def binding_manifest(api_version: str) -> Obj:
    """Write what puts the policy into force."""
    return {
        "apiVersion": api_version,
        "kind": _BINDING,
        "metadata": {"name": POLICY_NAME},
        "spec": {"policyName": POLICY_NAME},
    }


def _rules(kinds: Sequence[Resource]) -> Sequence[Obj]:
    by_version: dict[tuple[str, str], list[str]] = {}
    for kind in kinds:
        by_version.setdefault((kind.group, kind.version), []).append(kind.plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": ["CREATE", "UPDATE"],
            "resources": sorted(plurals),
        }
        for (group, version), plurals in sorted(by_version.items())
    ]


def _before(annotation: str) -> str:
    """Return the expression for what an annotation said before this write, '' where it said nothing."""
    held = f"oldObject.metadata.annotations['{annotation}']"
    there = f"has(oldObject.metadata.annotations) && '{annotation}' in oldObject.metadata.annotations"
    return f"oldObject != null && {there} ? {held} : ''"


def _text(value: str) -> str:
    """Write a string of CEL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


async def _own_name(host: Client) -> str:
    review = {"apiVersion": _SELF_SUBJECT_REVIEWS.api_version, "kind": _SELF_SUBJECT_REVIEWS.kind, "metadata": {}}
    told = await host.create(_SELF_SUBJECT_REVIEWS, review)
    return str(dig(told, "status", "userInfo", "username", default=""))


async def _served(host: Client) -> tuple[Resource, Resource] | None:
    for version in _VERSIONS:
        try:
            return (
                await host.discovery.resource(_GROUP, version, _POLICY),
                await host.discovery.resource(_GROUP, version, _BINDING),
            )
        except NotFound:
            continue
    return None
