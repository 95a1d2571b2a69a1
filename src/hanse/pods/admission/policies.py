"""What an API server itself refuses, whether or not the admission server answers: ValidatingAdmissionPolicies.

Placeholders, whole Jobs, chaperons and their pods say by labels, annotations, gates and finalizers what Hanse has
decided. Whoever could write those could have a pod run under another's name, or twice. So nobody writes them but Hanse
in this cluster, which is whatever runs in its own namespace and the users who are named here, and administrators
(`system:masters`), who must be able to clear up. Kubernetes' own controllers never need to.

The author and the manifest of a placeholder are not even Hanse's to change.

Pods are written all the time. What is not ours is passed over by its labels, which costs nothing: a pod without the
label of placeholders is none to anybody, whatever else it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.api.admiralty.keys import (
    CHAPERON_FINALIZER,
    ELECT,
    ENABLED,
    GATE,
    HAS_FINALIZER,
    JOB_MANAGER,
    MANIFEST,
    NAMESPACE_LABEL,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
)
from hanse.api.admiralty.kinds import GROUP, POD_CHAPERONS, VERSION
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, SYSTEM_NAMESPACE
from hanse.api.namespaces import SYSTEM_NAMESPACES, SYSTEM_PREFIXES
from hanse.kube.manifest import Obj
from hanse.pods.admission.authors import AUTHOR_PREFIX
from hanse.pods.admission.reserved import PREFIXES, USER_KEYS

_API_VERSION = "admissionregistration.k8s.io/v1"
_MASTERS = "system:masters"
_CREATES = "request.operation == 'CREATE'"
_NOT_STATUS = "(!has(request.subResource) || request.subResource != 'status')"
_IS_WHOLE = f"has(object.spec.managedBy) && object.spec.managedBy == '{JOB_MANAGER}'"
_POD_PARTS = ["pods", "pods/status", "pods/ephemeralcontainers", "pods/resize"]
_ANNOTATIONS, _LABELS = "metadata.annotations", "metadata.labels"

# What has to hold, as CEL, and the sentence for whoever breaks it.
_Check = tuple[str, str]

HANSE_ALONE = (
    "nobody but Hanse writes the labels and annotations of multicluster.admiralty.io/ and pods.hanse.dev/ here"
)
SAME_WISHES = (
    "the annotations of multicluster.admiralty.io/ and pods.hanse.dev/ that are for users stay what they were when the "
    "object was created; delete it and create it as it shall be"
)
HANSE_FINALIZERS = "nobody but Hanse adds or removes the finalizers of multicluster.admiralty.io/ and pods.hanse.dev/"
HANSE_GATE = f"nobody but Hanse opens the gate {GATE}: the pod would run here as well"
ONLY_ELECTED = (
    f"only a pod with the annotation {ELECT}, in a namespace with the label {NAMESPACE_LABEL}={ENABLED}, may carry "
    "what Hanse writes on placeholders"
)
ONLY_ENABLED = f"Jobs run elsewhere only from namespaces with the label {NAMESPACE_LABEL}={ENABLED}"
SAME_AUTHOR = f"{AUTHOR_ANNOTATION} and {AUTHOR_GROUPS_ANNOTATION} stay what they were when the object was created"
SAME_MANIFEST = f"{MANIFEST} stays what it was when the pod was created"
HANSE_STATUS = "nobody but Hanse says what became of a chaperon's pod"
HANSE_RELEASE = f"nobody but Hanse removes {CHAPERON_FINALIZER}: the pod may still be running"
HANSE_DELEGATES = f"nobody but Hanse creates pods with the label {PARENT_UID}, which stand for pods of other clusters"
SAME_PARENT = "whose pod a chaperon stands for never changes"


def pod_policies(own: Sequence[str] = ()) -> list[Obj]:
    """Return the policies for placeholders and whole Jobs in a source; `own` are users as whom Hanse writes there."""
    kept = (_same_keys(), _same_wishes(), _same_finalizers())
    return [
        *_policy(
            "placeholders.pods.hanse.dev",
            [_rule("", _POD_PARTS, "UPDATE")],
            [*_others(own, [*kept, _same_gate()]), _same_author(), (_same(_ANNOTATIONS, MANIFEST), SAME_MANIFEST)],
            label=HAS_FINALIZER,
        ),
        *_policy(
            "new-placeholders.pods.hanse.dev",
            [_rule("", ["pods"], "CREATE")],
            _others(own, [(f"!({_carries_any()}) || ({_is_elected()} && !{_in_system()})", ONLY_ELECTED)]),
            enabled=True,
        ),
        *_policy(
            "no-placeholders.pods.hanse.dev",
            [_rule("", ["pods"], "CREATE")],
            _others(own, [(f"!({_carries_any()})", ONLY_ELECTED)]),
            enabled=False,
        ),
        *_policy(
            "bindings.pods.hanse.dev",
            [_rule("", ["bindings", "pods/binding"], "CREATE")],
            _others(own, [(f"!({_carries_keys()})", HANSE_ALONE)]),
        ),
        *_policy(
            "whole-jobs.pods.hanse.dev",
            [_rule("batch", ["jobs", "jobs/status"], "CREATE", "UPDATE")],
            [
                *_others(own, [(f"!({_CREATES} && {_in_system()})", ONLY_ENABLED), *_on_update(kept)]),
                *_on_update([_same_author()]),
            ],
            only=_IS_WHOLE,
        ),
        *_policy(
            "no-whole-jobs.pods.hanse.dev",
            [_rule("batch", ["jobs"], "CREATE")],
            _others(own, [("false", ONLY_ENABLED)]),
            only=_IS_WHOLE,
            enabled=False,
        ),
    ]


def chaperon_policies(own: Sequence[str] = ()) -> list[Obj]:
    """Return the policies for chaperons and their pods in a target; `own` are users as whom Hanse keeps them there."""
    plural = POD_CHAPERONS.plural
    whole = {**_rule(GROUP, [plural, f"{plural}/status"], "UPDATE"), "apiVersions": [VERSION]}
    held = f"(has({{0}}.metadata.finalizers) && '{CHAPERON_FINALIZER}' in {{0}}.metadata.finalizers)"
    released = f"!{held.format('oldObject')} || {held.format('object')}"
    parents = [_once(_LABELS, key) for key in (PARENT_UID, PARENT_CLUSTER)]
    parents += [_once(_ANNOTATIONS, key) for key in (PARENT_NAMESPACE, PARENT_NAME)]
    kept = [(_NOT_STATUS, HANSE_STATUS), (released, HANSE_RELEASE)]
    return [
        *_policy("chaperons.pods.hanse.dev", [whole], [*_others(own, kept), (" && ".join(parents), SAME_PARENT)]),
        *_policy(
            "delegates.pods.hanse.dev",
            [_rule("", _POD_PARTS, "UPDATE")],
            _others(own, [_same_keys(), _same_finalizers()]),
            label=PARENT_UID,
        ),
        *_policy(
            "new-delegates.pods.hanse.dev",
            [_rule("", ["pods"], "CREATE")],
            _others(own, [("false", HANSE_DELEGATES)]),
            label=PARENT_UID,
        ),
    ]


def _others(own: Sequence[str], rules: Iterable[_Check]) -> list[_Check]:
    """Return rules that bind everybody but Hanse, which also writes as the users `own`."""
    return [(f"{_is_hanse(own)} || ({rule})", why) for rule, why in rules]


def _on_update(rules: Iterable[_Check]) -> list[_Check]:
    return [(f"{_CREATES} || ({rule})", why) for rule, why in rules]


def _policy(
    name: str,
    rules: list[Obj],
    validations: Sequence[_Check],
    *,
    only: str = "",
    label: str = "",
    enabled: bool | None = None,
) -> list[Obj]:
    """Write a policy and what puts it into force.

    It is about objects for which `only` holds, that have or had the `label`, in namespaces whose pods may (`enabled`)
    or may not run elsewhere; None stands for both.

    An API server takes an object apart anew for each step of a policy, which for a pod is most of what a policy costs,
    and it does so four times unless a match condition ends it. So the first question is whether anything is wrong.
    """
    right = " && ".join(f"({rule})" for rule, _ in validations)
    conditions = [{"name": "ours", "expression": only}] if only else []
    spec: Obj = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules, **_labelled(label), **_within(enabled)},
        "matchConditions": [*conditions, {"name": "something-is-wrong", "expression": f"!({right})"}],
        "validations": [{"expression": rule, "message": why, "reason": "Forbidden"} for rule, why in validations],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        _written("ValidatingAdmissionPolicy", name, spec),
        _written("ValidatingAdmissionPolicyBinding", name, binding),
    ]


def _labelled(label: str) -> Obj:
    return {"objectSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]}} if label else {}


def _within(enabled: bool | None) -> Obj:
    if enabled is None:
        return {}
    term = {"key": NAMESPACE_LABEL, "operator": "In" if enabled else "NotIn", "values": [ENABLED]}
    return {"namespaceSelector": {"matchExpressions": [term]}}


def _written(kind: str, name: str, spec: Obj) -> Obj:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _rule(group: str, resources: list[str], *operations: str) -> Obj:
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": list(operations), "resources": resources}


def _is_hanse(own: Sequence[str]) -> str:
    groups = _texts([_MASTERS, f"system:serviceaccounts:{SYSTEM_NAMESPACE}"])
    return (
        f"(request.userInfo.username in {_texts(own)} || "
        f"(has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in {groups})))"
    )


def _is_reserved(key: str) -> str:
    ours = " || ".join(f"{key}.startsWith({_text(prefix)})" for prefix in PREFIXES)
    return f"(({ours}) && !({key} in {_texts(sorted(USER_KEYS))}))"


def _same_keys() -> tuple[str, str]:
    return " && ".join(_kept(field, _is_reserved("key")) for field in (_ANNOTATIONS, _LABELS)), HANSE_ALONE


def _same_wishes() -> tuple[str, str]:
    """Bind what users say where something runs: it was judged when that was created, and nobody judges it again."""
    return _kept(_ANNOTATIONS, f"key in {_texts(sorted(USER_KEYS))}"), SAME_WISHES


def _kept(field: str, chosen: str) -> str:
    """Return the expression for whether no `chosen` key under a field came, went or changed."""
    one, other = _map("object", field), _map("oldObject", field)
    return (
        f"{one}.all(key, !({chosen}) || (key in {other} && {other}[key] == {one}[key])) && "
        f"{other}.all(key, !({chosen}) || key in {one})"
    )


def _same_finalizers() -> tuple[str, str]:
    ours = " || ".join(f"name.startsWith({_text(prefix)})" for prefix in PREFIXES)
    one, other = _list("object", "metadata.finalizers"), _list("oldObject", "metadata.finalizers")
    return (
        f"{one}.all(name, !({ours}) || name in {other}) && {other}.all(name, !({ours}) || name in {one})",
        HANSE_FINALIZERS,
    )


def _same_gate() -> tuple[str, str]:
    return f"!{_gated('oldObject')} || {_gated('object')}", HANSE_GATE


def _gated(holder: str) -> str:
    gates = _list(holder, "spec.schedulingGates")
    return f"{gates}.exists(gate, gate.name == {_text(GATE)})"


def _carries_keys() -> str:
    reserved = _is_reserved("key")
    return " || ".join(f"{_map('object', field)}.exists(key, {reserved})" for field in (_ANNOTATIONS, _LABELS))


def _carries_any() -> str:
    ours = " || ".join(f"name.startsWith({_text(prefix)})" for prefix in PREFIXES)
    finalizers = _list("object", "metadata.finalizers")
    return f"{_carries_keys()} || {finalizers}.exists(name, {ours}) || {_gated('object')}"


def _is_elected() -> str:
    return _has("object", _ANNOTATIONS, ELECT)


def _in_system() -> str:
    """Return the expression for whether the admission server is never asked about the request's namespace."""
    within = " || ".join(f"request.namespace.startsWith({_text(prefix)})" for prefix in SYSTEM_PREFIXES)
    return f"({within} || request.namespace in {_texts(SYSTEM_NAMESPACES)})"


def _same_author() -> tuple[str, str]:
    """Bind only authors whom the admission of pods has stamped: on the federation's host there are others."""
    one, other = (_said(holder, _ANNOTATIONS, AUTHOR_ANNOTATION) for holder in ("object", "oldObject"))
    prefix = _text(AUTHOR_PREFIX)
    ours = f"({one}).startsWith({prefix}) || ({other}).startsWith({prefix})"
    same = " && ".join(_same(_ANNOTATIONS, key) for key in (AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION))
    return f"!({ours}) || ({same})", SAME_AUTHOR


def _same(field: str, key: str) -> str:
    return f"({_said('object', field, key)}) == ({_said('oldObject', field, key)})"


def _once(field: str, key: str) -> str:
    """Return the expression for whether a key, once it says something, says the same."""
    return f"(!({_has('oldObject', field, key)}) || {_same(field, key)})"


def _has(holder: str, field: str, key: str) -> str:
    return f"(has({holder}.{field}) && {_text(key)} in {holder}.{field})"


def _said(holder: str, field: str, key: str) -> str:
    return f"{_has(holder, field, key)} ? {holder}.{field}[{_text(key)}] : ''"


def _map(holder: str, field: str) -> str:
    return f"(has({holder}.{field}) ? {holder}.{field} : {{}})"


def _list(holder: str, field: str) -> str:
    return f"(has({holder}.{field}) ? {holder}.{field} : [])"


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(_text(value) for value in values) + "]"


def _text(value: str) -> str:
    """Write a string of CEL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
