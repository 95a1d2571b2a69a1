"""delete and deletecollection: finalizers, grace, propagation, preconditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hanse.apiserver import admission, negotiation, objects, representation, status
from hanse.apiserver.answers import Answer, answer_object, answer_plain, finish, form_of
from hanse.apiserver.builtin.crd_rules import CLEANUP
from hanse.apiserver.core import Call
from hanse.apiserver.requests import ResourcePath
from hanse.apiserver.selection import matcher_of
from hanse.apiserver.storage import Stale
from hanse.apiserver.verbs.writing import is_finished, stored_kind, to_served
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import timestamp
from hanse.kube.schemas import schema_for
from hanse.kube.schemas.decoding import decode_errors

_PROPAGATION = {"Foreground": "foregroundDeletion", "Background": "", "Orphan": "orphan"}
# Kinds whose deletion answers with the object instead of a Status, as their upstream registries are set up.
_RETURNS_OBJECT = frozenset(
    {
        "core/pods", "core/services", "core/persistentvolumeclaims", "core/persistentvolumes", "core/podtemplates",
        "core/resourcequotas", "core/serviceaccounts", "storage.k8s.io/storageclasses",
        "storage.k8s.io/volumeattachments", "storage.k8s.io/csinodes", "storage.k8s.io/csidrivers",
    }
)  # fmt: skip
_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_PATIENT_POD_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How a deletion is wanted."""

    grace_seconds: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False


async def delete(call: Call) -> Answer:
    """Delete an object, or mark it for those who must act first."""
    options = read_options(call)
    if call.served.bucket == "batch/jobs" and not options.propagation:
        call.warnings.append(_ORPHANED_PODS)
    gone, obj = await delete_object(call, options)
    if gone and call.served.bucket not in _RETURNS_OBJECT:
        resource = call.served.resource
        details = {
            "name": call.path.name,
            "group": resource.group,
            "kind": resource.plural,
            "uid": obj["metadata"]["uid"],
        }
        return answer_plain(call, status.success({name: value for name, value in details.items() if value}))
    return answer_object(call, to_served(call, obj))


async def delete_collection(call: Call) -> Answer:
    """Delete every selected object and answer with what they were."""
    options = read_options(call)
    matches = matcher_of(call)
    prefix = f"{call.namespace}/" if call.namespace else ""
    deleted: list[bytes] = []
    for record in call.core.storage.scan(call.served.bucket, prefix):
        if matches is not None and not matches(record.value):
            continue
        head = objects.head_of(record.value)
        one = replace(call, path=_path_to(call.path, head.namespace, head.name))
        try:
            await delete_object(one, options)
        except NotFound:
            continue
        deleted.append(record.value)
    form = form_of(call)
    metadata = {"resourceVersion": str(call.core.storage.revision)}
    body = representation.many(call.served, deleted, form, metadata, call.core.runtime.now())
    return finish(call, form, body)


def _path_to(path: ResourcePath, namespace: str, name: str) -> ResourcePath:
    return replace(path, namespace=namespace, name=name)


def read_options(call: Call) -> DeleteOptions:
    """Read the options from the body or, without one, from the query."""
    body: Obj = {}
    if call.request.body:
        decoded = negotiation.read_body(call.request.body, call.request.headers)
        body = decoded if isinstance(decoded, dict) else {}
    return options_from(call, body)


def options_from(call: Call, body: Obj) -> DeleteOptions:
    """Read deletion options from a DeleteOptions manifest, completed by the query."""
    query = call.options
    schema = schema_for("", "v1", "DeleteOptions")
    refusal = decode_errors(schema, body).refusal if schema is not None else ""
    if refusal:
        raise status.bad_request(f'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: {refusal}')
    grace = body.get("gracePeriodSeconds")
    if grace is None and query.given("gracePeriodSeconds"):
        grace = query.number("gracePeriodSeconds")
    propagation = body.get("propagationPolicy") or query.text("propagationPolicy")
    orphan = body.get("orphanDependents")
    if orphan is None and query.given("orphanDependents"):
        orphan = query.flag("orphanDependents")
    problems = []
    if propagation and orphan is not None:
        problems.append(
            status.invalid_value(
                "propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set"
            )
        )
    if propagation and propagation not in _PROPAGATION:
        problems.append(status.unsupported_value("propagationPolicy", propagation, (*_PROPAGATION, "nil")))
    if problems:
        raise status.invalid("meta.k8s.io", "DeleteOptions", "", problems)
    if orphan is not None and not propagation:
        propagation = "Orphan" if orphan else "Background"
    wanted = body.get("preconditions") or {}
    dry_run = query.dry_run or "All" in (body.get("dryRun") or [])
    return DeleteOptions(grace, propagation, wanted.get("uid") or "", wanted.get("resourceVersion") or "", dry_run)


async def delete_object(call: Call, options: DeleteOptions) -> tuple[bool, Obj]:
    """Carry a deletion out; returns whether the object is gone, and its last or its present state."""
    core = call.core
    while True:
        record = core.record(call.served, call.namespace, call.path.name)
        if record is None:
            raise status.not_found(call.served.resource, call.path.name)
        live = core.stored_form(call.served, record.value)
        _check_preconditions(call, options, live)
        await admission.admit_deletion(call, to_served(call, live))
        marked = _marked(call, options, objects.copy(live))
        gone = is_finished(kind=stored_kind(call), obj=marked)
        if options.dry_run or (marked == live and not gone):
            return gone, marked
        try:
            if gone:
                return True, await core.remove(call.served, _unmarked(marked, live), record.revision)
            return False, await core.replace(call.served, marked, record.revision)
        except Stale:
            continue


def _check_preconditions(call: Call, options: DeleteOptions, live: Obj) -> None:
    metadata = live["metadata"]
    for wanted, has, name, fate in (
        (options.uid, metadata["uid"], "UID", "deleted and then recreated"),
        (options.version, metadata["resourceVersion"], "ResourceVersion", "modified"),
    ):
        if wanted and wanted != has:
            told = f"the {name} in the precondition ({wanted}) does not match the {name} in record ({has})"
            # Upstream names the kind here, where every other conflict names the resource.
            named = replace(call.served.resource, plural=call.served.resource.kind)
            raise status.conflict(named, call.path.name, f"{told}. The object might have been {fate}")


def _marked(call: Call, options: DeleteOptions, obj: Obj) -> Obj:
    metadata = obj["metadata"]
    now = call.core.runtime.now()
    grace = _grace(call, options, obj)
    _set_finalizers(call, options, metadata)
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = timestamp(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        mark = _SPECIAL_MARKS.get(call.served.bucket)
        if mark is not None:
            mark(call, obj)
        elif metadata.get("generation"):
            metadata["generation"] += 1
    elif grace < int(metadata.get("deletionGracePeriodSeconds") or 0):
        metadata["deletionTimestamp"] = timestamp(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    return obj


def _unmarked(marked: Obj, live: Obj) -> Obj:
    # An object that goes at once is last seen as it was; one that waited, and a pod, show their deletion time.
    if live["metadata"].get("deletionTimestamp") or "containers" in (live.get("spec") or {}):
        return marked
    return live


def _grace(call: Call, options: DeleteOptions, obj: Obj) -> int:
    if call.served.bucket != "core/pods":
        return 0
    if not dig(obj, "spec", "nodeName") or dig(obj, "status", "phase") in _PATIENT_POD_PHASES:
        return 0
    wanted = options.grace_seconds
    if wanted is None:
        wanted = int(dig(obj, "spec", "terminationGracePeriodSeconds", default=30))
    return wanted if wanted >= 0 else 1


def _set_finalizers(call: Call, options: DeleteOptions, metadata: Obj) -> None:
    policy = options.propagation
    finalizers = list(metadata.get("finalizers") or [])
    if not policy:
        # What an earlier request asked for stays.
        if "orphan" in finalizers or "foregroundDeletion" in finalizers:
            return
        policy = call.served.strategy.default_propagation
    kept = [one for one in finalizers if one not in ("orphan", "foregroundDeletion")]
    if _PROPAGATION[policy]:
        kept.append(_PROPAGATION[policy])
    if kept != finalizers:
        metadata["finalizers"] = kept
    if not kept:
        metadata.pop("finalizers", None)


def _mark_namespace(call: Call, obj: Obj) -> None:  # noqa: ARG001 - the shape of every mark
    obj["metadata"].pop("deletionGracePeriodSeconds", None)
    obj.setdefault("status", {})["phase"] = "Terminating"


def _mark_crd(call: Call, obj: Obj) -> None:
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": timestamp(call.core.runtime.now()),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    metadata = obj["metadata"]
    metadata.pop("deletionGracePeriodSeconds", None)
    metadata["finalizers"] = [*(metadata.get("finalizers") or []), CLEANUP]
    told = obj.setdefault("status", {})
    told["conditions"] = [*(told.get("conditions") or []), condition]


_SPECIAL_MARKS: dict[str, Callable[[Call, Obj], None]] = {
    "core/namespaces": _mark_namespace,
    "apiextensions.k8s.io/customresourcedefinitions": _mark_crd,
}
