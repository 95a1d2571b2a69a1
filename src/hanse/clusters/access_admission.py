"""Stamping the author on every federated object, so that it cannot be forged: a MutatingAdmissionPolicy on the host.

Whoever creates or changes an object is its author from then on. Hanse itself and the host's own controllers write
finalizers and the like on behalf of nobody: their writes keep the author that was there. What a user puts under the
annotations' names is replaced. The same policy gives new objects the engine's finalizer where it is told which of them
the engine will take up: each of those is then written once less.

A policy that has to change an object costs the server about as much as the write itself, one whose conditions do not
hold next to nothing; and a JSON patch costs less than an apply configuration. Hence the conditions, and the patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, FINALIZER
from hanse.kube.client import Client
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

POLICY_NAME = "author.hanse.dev"
# Where Hanse is a guest on a cluster with work of its own: for what is in the namespaces that are the federation's.
GUEST_POLICY_NAME = "author-guests.hanse.dev"
# On the binding: the user as whom Hanse itself writes here, for those who ask about authors as somebody else.
OWN_ANNOTATION = "hanse.dev/controller-user"
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


# A group with a line break in its name would be read as two.
_GROUPS = "request.userInfo.groups.filter(g, !g.contains('\\n')).join('\\n')"


async def install(host: Client, kinds: Sequence[Resource], held: str = "", groups: Sequence[str] = ()) -> bool:
    """Have authors stamped on objects of these kinds; False where the host does not serve mutating policies.

    `held` is the CEL expression that chooses the new objects to be given the finalizer. Of the `groups` every kind is
    stamped, those that come later included.
    """
    served = await _served(host)
    if served is None:
        return False
    policy, binding = served
    own = await _own_name(host)
    await host.apply(policy, policy_manifest(policy.api_version, kinds, own, held, groups))
    await host.apply(binding, binding_manifest(binding.api_version, own))
    return True


async def install_for_guests(host: Client, kinds: Sequence[Resource], labels: Mapping[str, str]) -> None:
    """Have authors stamped on objects of these kinds in namespaces with these labels, where that can be."""
    served = await _served(host)
    if served is None:
        return
    policy, binding = served
    own = await _own_name(host)
    manifest = policy_manifest(policy.api_version, kinds, own)
    matches = {**manifest["spec"]["matchConstraints"], "namespaceSelector": {"matchLabels": dict(labels)}}
    named, spec = {"name": GUEST_POLICY_NAME}, {**manifest["spec"], "matchConstraints": matches}
    await host.apply(policy, {**manifest, "metadata": named, "spec": spec})
    await host.apply(
        binding,
        {**binding_manifest(binding.api_version, own), "metadata": named, "spec": {"policyName": GUEST_POLICY_NAME}},
    )


async def installed_as(host: Client) -> str | None:
    """Return the user as whom Hanse itself writes to a host on which authors are stamped; None where they are not."""
    served = await _served(host)
    binding = None if served is None else await host.find(served[1], POLICY_NAME)
    return None if binding is None else annotations_of(binding).get(OWN_ANNOTATION, "")


async def wait_installed(host: Client) -> str | None:
    """Return what `installed_as` does, however long it takes to answer."""
    while True:
        try:
            return await installed_as(host)
        except (ApiError, Unreachable):
            await host.runtime.sleep(_RETRY_SECONDS)


def policy_manifest(
    api_version: str, kinds: Sequence[Resource], own: str, held: str = "", groups: Sequence[str] = ()
) -> Obj:
    """Write the policy; `own` is the user as whom Hanse itself writes to the host, the others are as in `install`."""
    kept = f"oldObject != null && (request.userInfo.username == {_text(own)} || {_SYSTEM})"
    author = "(variables.kept ? variables.author : request.userInfo.username)"
    author_groups = f"(variables.kept ? variables.groups : {_GROUPS})"
    stamp = _stamp(author, author_groups)
    patch = f"({stamp}) + ({_finalizer(held)})" if held else stamp
    return {
        "apiVersion": api_version,
        "kind": _POLICY,
        "metadata": {"name": POLICY_NAME},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": _rules(kinds, groups)},
            "matchConditions": [{"name": "something-to-write", "expression": _something_to_write(kept)}],
            "variables": [
                {"name": "kept", "expression": kept},
                {"name": "author", "expression": _said("oldObject", AUTHOR_ANNOTATION)},
                {"name": "groups", "expression": _said("oldObject", AUTHOR_GROUPS_ANNOTATION)},
            ],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    }


def _something_to_write(kept: str) -> str:
    """Return the expression for whether an object is new, or does not say already what it has to say."""
    was, says = _both("oldObject"), _both("object")
    now = ("request.userInfo.username", _GROUPS)
    return f"request.operation == 'CREATE' || ({kept} ? {_differ(says, was)} : {_differ(says, now)})"


def _both(holder: str) -> tuple[str, str]:
    return _said(holder, AUTHOR_ANNOTATION), _said(holder, AUTHOR_GROUPS_ANNOTATION)


def _differ(one: tuple[str, str], other: tuple[str, str]) -> str:
    return "(" + " || ".join(f"({left}) != ({right})" for left, right in zip(one, other, strict=True)) + ")"


def _stamp(author: str, groups: str) -> str:
    """Return the operations that write who the author is."""
    return (
        "has(object.metadata.annotations) ? ["
        f"{_add(f'/metadata/annotations/{_pointer(AUTHOR_ANNOTATION)}', author)}, "
        f"{_add(f'/metadata/annotations/{_pointer(AUTHOR_GROUPS_ANNOTATION)}', groups)}] : ["
        + _add("/metadata/annotations", f"{{'{AUTHOR_ANNOTATION}': {author}, '{AUTHOR_GROUPS_ANNOTATION}': {groups}}}")
        + "]"
    )


def _finalizer(held: str) -> str:
    """Return the operations that give a new object the finalizer, where it is one of those."""
    first = _add("/metadata/finalizers", f"['{FINALIZER}']")
    further = _add("/metadata/finalizers/-", f"'{FINALIZER}'")
    there = f"has(object.metadata.finalizers) && '{FINALIZER}' in object.metadata.finalizers"
    added = f"has(object.metadata.finalizers) ? [{further}] : [{first}]"
    return f"request.operation == 'CREATE' && !({there}) && ({held}) ? ({added}) : []"


def _add(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: '{path}', value: {value}}}"


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def binding_manifest(api_version: str, own: str) -> Obj:
    """Write what puts the policy into force, and who Hanse itself is here."""
    return {
        "apiVersion": api_version,
        "kind": _BINDING,
        "metadata": {"name": POLICY_NAME, "annotations": {OWN_ANNOTATION: own}},
        "spec": {"policyName": POLICY_NAME},
    }


def _rules(kinds: Sequence[Resource], groups: Sequence[str]) -> list[Obj]:
    by_version: dict[tuple[str, str], list[str]] = {}
    for kind in kinds:
        if kind.group not in groups:
            by_version.setdefault((kind.group, kind.version), []).append(kind.plural)
    rules = [_rule(group, version, sorted(plurals)) for (group, version), plurals in sorted(by_version.items())]
    return rules + [_rule(group, "*", ["*"]) for group in groups]


def _rule(group: str, version: str, plurals: list[str]) -> Obj:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["CREATE", "UPDATE"],
        "resources": plurals,
    }


def _said(holder: str, annotation: str) -> str:
    """Return the expression for what an annotation says, '' where it says nothing."""
    there = f"has({holder}.metadata.annotations) && '{annotation}' in {holder}.metadata.annotations"
    return f"{holder} != null && {there} ? {holder}.metadata.annotations['{annotation}'] : ''"


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
