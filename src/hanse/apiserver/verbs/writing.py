"""The road of every write: checks, defaults, admission, rules, field ownership, storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hanse.apiserver import admission, objects, status
from hanse.apiserver.core import Call
from hanse.apiserver.escalation import check_escalation
from hanse.apiserver.names import metadata_problems
from hanse.apiserver.quotas import room_for
from hanse.apiserver.registry import Served
from hanse.apiserver.requests import Options
from hanse.apiserver.schema_checks import check_shape, custom_problems, fill_custom_defaults
from hanse.apiserver.storage import Stale
from hanse.kube.errors import BadRequest
from hanse.kube.manifest import Obj
from hanse.kube.patches.field_types import UntypedError
from hanse.kube.patches.server_side_apply import track_update
from hanse.kube.runtime import timestamp

Transform = Callable[[Obj], Obj]
_UNKNOWN_DROPPED = Options((("fieldValidation", "Ignore"),))
_SERVER_OWNED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def stored_kind(call: Call) -> Served:
    """Return the kind in the version in which its objects rest."""
    if call.served.conversion is None:
        return call.served
    return call.core.registry.of_bucket(call.served.bucket) or call.served


def to_stored(call: Call, obj: Obj) -> Obj:
    """Turn a manifest of the served version into the stored one."""
    if call.served.conversion is None:
        return obj
    resource = stored_kind(call).resource
    return {**call.served.conversion.to_stored(obj), "kind": resource.kind, "apiVersion": resource.api_version}


def to_served(call: Call, obj: Obj) -> Obj:
    """Turn a stored manifest into the served version."""
    if call.served.conversion is None:
        return obj
    resource = call.served.resource
    return {**call.served.conversion.from_stored(obj), "kind": resource.kind, "apiVersion": resource.api_version}


async def prepare_new(call: Call, obj: Obj, *, tracked: bool = True) -> Obj:
    """Make a submitted manifest into the object that will be stored, or refuse it.

    Field ownership is settled before the server fills in what it alone decides, so that nobody owns that.
    """
    admission.check_namespace_accepts(call, obj)
    check_shape(call, obj)
    obj = to_stored(call, obj)
    kind = stored_kind(call)
    metadata = obj["metadata"]
    if metadata.get("resourceVersion"):
        raise status.bad_request("resourceVersion should not be set on objects to be created")
    for name in (*_SERVER_OWNED, "resourceVersion", "selfLink"):
        metadata.pop(name, None)
    _generate_name(call, metadata)
    kind.strategy.defaults(obj)
    fill_custom_defaults(kind, obj)
    if tracked:
        obj = own_fields(call, obj, None)
    admission.admit_new(call, kind, obj)
    mutated = await admission.mutate(call, to_served(call, obj), None, lambda given: _completed(call, given))
    obj = to_stored(call, mutated)
    metadata = obj["metadata"]
    metadata["uid"] = call.core.runtime.uid()
    metadata["creationTimestamp"] = timestamp(call.core.runtime.now())
    if kind.strategy.counts_generation:
        metadata["generation"] = 1
    _reset_status(kind, obj)
    kind.strategy.prepare_create(obj)
    admission.allocate(call, kind, obj, None)
    _validate(call, kind, obj, None)
    await admission.validate(call, to_served(call, obj), None)
    return obj


async def prepare_change(call: Call, new: Obj, old: Obj, subresource: str = "", *, tracked: bool = True) -> Obj:
    """Make a submitted manifest into the next state of a stored object, or refuse it."""
    check_shape(call, new)
    new = to_stored(call, new)
    kind = stored_kind(call)
    _keep_server_metadata(call, new, old)
    kind.strategy.defaults(new)
    fill_custom_defaults(kind, new)
    if tracked:
        new = own_fields(call, new, old, subresource)
    before = to_served(call, old)
    mutated = await admission.mutate(
        call, to_served(call, new), before, lambda given: _completed(call, given), subresource=subresource
    )
    new = to_stored(call, mutated)
    if subresource == "status":
        new = _only_status(kind, new, old)
    elif subresource != "finalize":
        if kind.has_status and subresource not in ("approval", "binding"):
            _keep(new, old, "status")
        if subresource in kind.strategy.narrow:
            kind.strategy.narrow[subresource](new, old)
        kind.strategy.prepare_update(new, old)
    if subresource in ("", "scale"):
        admission.allocate(call, kind, new, old)
    if kind.strategy.counts_generation and subresource != "binding" and _counted(kind, new) != _counted(kind, old):
        new["metadata"]["generation"] = int(old["metadata"].get("generation") or 0) + 1
    _validate(call, kind, new, old)
    await admission.validate(call, to_served(call, new), before, subresource=subresource)
    return new


def _completed(call: Call, obj: Obj) -> Obj:
    """Make what a webhook or policy gave whole again, as if the client had sent it."""
    obj = objects.copy(obj)
    try:
        check_shape(replace(call, options=_UNKNOWN_DROPPED), obj)
    except BadRequest as error:
        # What a mutator broke is not the client's fault.
        raise status.internal(error.message.partition(": ")[2]) from None
    stored, kind = to_stored(call, obj), stored_kind(call)
    kind.strategy.defaults(stored)
    fill_custom_defaults(kind, stored)
    return to_served(call, stored)


def own_fields(call: Call, new: Obj, old: Obj | None, subresource: str = "") -> Obj:
    """Record in managedFields which of the fields this client wrote."""
    kind = stored_kind(call)
    try:
        return track_update(
            old,
            new,
            manager=call.manager,
            schema=kind.schema(),
            now=timestamp(call.core.runtime.now()),
            subresource=subresource,
            ignore=reset_fields(kind, subresource),
        )
    except UntypedError:
        # Elements that cannot be told apart belong to nobody; the kind's rules refuse them in better words.
        return new


def reset_fields(kind: Served, subresource: str) -> tuple[tuple[str, ...], ...]:
    """Return the fields that an endpoint puts back to what they were, and that a client cannot own through it."""
    if subresource == "status":
        if kind.custom:
            return (("spec",), ("metadata",))
        return (("spec",), ("metadata", "labels")) if kind.bucket == "apps/deployments" else (("spec",),)
    return (("status",),) if kind.has_status else ()


async def change_object(call: Call, transform: Transform, *, subresource: str = "", tracked: bool = True) -> Obj:
    """Read, transform and store an object until nobody else wrote in between; returns it as served.

    `transform` gets the live object in the served version and gives the wanted one; it may be called again.
    """
    core = call.core
    while True:
        record = core.record(call.served, call.namespace, call.path.name)
        if record is None:
            raise status.not_found(call.served.resource, call.path.name)
        stored = core.stored_form(call.served, record.value)
        if call.served.conversion is None:
            stored["apiVersion"], stored["kind"] = call.served.resource.api_version, call.served.resource.kind
        live = to_served(call, stored)
        wanted = transform(objects.copy(live))
        check_preconditions(call, wanted, live)
        new = await prepare_change(call, wanted, stored, subresource, tracked=tracked)
        new["metadata"]["resourceVersion"] = str(record.revision)
        if new == stored or call.options.dry_run:
            return to_served(call, new)
        kind = stored_kind(call)
        try:
            if is_finished(kind=kind, obj=new):
                return to_served(call, await core.remove(call.served, new, record.revision))
            async with room_for(call, kind, new, stored):
                return to_served(call, await core.replace(call.served, new, record.revision))
        except Stale:
            continue


def check_preconditions(call: Call, wanted: Obj, live: Obj) -> None:
    """Refuse a write that was made for another version or another incarnation of the object."""
    name = live["metadata"]["name"]
    version = wanted["metadata"].get("resourceVersion")
    if version and version != live["metadata"]["resourceVersion"]:
        raise status.conflict(call.served.resource, name, status.MODIFIED)
    uid = wanted["metadata"].get("uid")
    if uid and uid != live["metadata"]["uid"]:
        told = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {live['metadata']['uid']}"
        key = f"/registry/{call.served.resource.plural}/{objects.path_of(call.namespace, name)}"
        raise status.conflict(
            call.served.resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {told}",
        )


def is_finished(*, kind: Served, obj: Obj) -> bool:
    """Tell whether a deleted object has nothing left to wait for."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if kind.bucket == "core/namespaces" and (obj.get("spec") or {}).get("finalizers"):
        return False
    # A pod under graceful deletion goes when its kubelet says so, with a grace period of zero.
    return not metadata.get("deletionGracePeriodSeconds")


def _generate_name(call: Call, metadata: Obj) -> None:
    prefix = metadata.get("generateName")
    if not metadata.get("name") and prefix:
        metadata["name"] = f"{str(prefix)[:58]}{call.core.runtime.name_suffix()}"


def _reset_status(kind: Served, obj: Obj) -> None:
    if kind.strategy.new_status is not None:
        obj["status"] = objects.copy(kind.strategy.new_status)
    elif kind.custom and kind.has_status:
        obj.pop("status", None)


def _keep_server_metadata(call: Call, new: Obj, old: Obj) -> None:
    metadata, before = new["metadata"], old["metadata"]
    for name in _SERVER_OWNED:
        if name in before:
            metadata.setdefault(name, before[name])
        elif name != "deletionTimestamp":
            metadata.pop(name, None)
    metadata["creationTimestamp"] = before.get("creationTimestamp")
    metadata["generation"] = before.get("generation")
    if metadata["generation"] is None:
        del metadata["generation"]
    metadata.pop("selfLink", None)
    if "generateName" in before:
        metadata.setdefault("generateName", before["generateName"])
    if call.served.resource.namespaced:
        metadata.setdefault("namespace", before.get("namespace", ""))


def _only_status(kind: Served, new: Obj, old: Obj) -> Obj:
    kept = {**old, "metadata": dict(old["metadata"])}
    if "status" in new:
        kept["status"] = new["status"]
    else:
        kept.pop("status", None)
    if not kind.custom:
        # Built-in kinds let the status writer change labels, annotations and finalizers too.
        kept["metadata"] = {**new["metadata"]}
        for name in ("ownerReferences", *(("labels",) if kind.bucket == "apps/deployments" else ())):
            _keep(kept["metadata"], old["metadata"], name)
        _keep(kept["metadata"], old["metadata"], "deletionTimestamp")
    elif "managedFields" in new["metadata"]:
        kept["metadata"]["managedFields"] = new["metadata"]["managedFields"]
    return kept


def _keep(new: Obj, old: Obj, field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _counted(kind: Served, obj: Obj) -> Obj:
    skipped = {"metadata", "kind", "apiVersion"}
    if not kind.custom or kind.has_status:
        skipped.add("status")
    return {name: value for name, value in obj.items() if name not in skipped}


def _validate(call: Call, kind: Served, new: Obj, old: Obj | None) -> None:
    check_escalation(call, kind, new, old)
    problems = (
        metadata_problems(new["metadata"], kind.strategy.name_rule)
        if new["metadata"].get("name")
        else [status.required_value("metadata.name", "name or generateName is required")]
    )
    if old is not None:
        problems += _metadata_changes(new["metadata"], old["metadata"])
    rules = kind.strategy.part_rules.get(call.path.subresource, kind.strategy.validate)
    problems += rules(new, old)
    problems += custom_problems(call, kind, new, old)
    if problems:
        resource = kind.resource
        raise status.invalid(resource.group, resource.kind, str(new["metadata"].get("name") or ""), problems)


def _metadata_changes(new: Obj, old: Obj) -> list[status.FieldProblem]:
    fixed = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
    problems = [
        status.invalid_value(f"metadata.{name}", new.get(name), "field is immutable")
        for name in fixed
        if new.get(name) != old.get(name)
    ]
    if old.get("deletionTimestamp"):
        added = [one for one in new.get("finalizers") or [] if one not in (old.get("finalizers") or [])]
        if added:
            listed = ", ".join(f'"{one}"' for one in added)
            told = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            problems.append(status.forbidden_value("metadata.finalizers", told))
    return problems
