"""Server-side apply, and the bookkeeping of field ownership for every other write.

`apply` lays a configuration over the live object: fields that the manager applied before and no longer lists go,
unless somebody else owns them; fields that others own with another value are conflicts. `track_update` leaves the
object as it is and records who changed what. Both return the object with metadata.managedFields as a kube-apiserver
would have written it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from hanse.kube.manifest import Obj, annotations_of, uid_of
from hanse.kube.patches.field_checks import check_config
from hanse.kube.patches.field_merge import compare, merge, remove
from hanse.kube.patches.field_sets import FieldSet, readable
from hanse.kube.patches.field_types import FieldType, field_type
from hanse.kube.patches.managed_fields import Entry, Managed, Manager, owned
from hanse.kube.schemas.schema import Schema

Ignore = tuple[tuple[str, ...], ...]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"


class ApplyConflict(Exception):
    """Fields of a configuration that other managers own with other values.

    `conflicts` pairs the description of a manager with the path of a field, one pair for each.
    """

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        self.conflicts = list(conflicts)
        super().__init__(_conflict_message(self.conflicts))


def _conflict_message(conflicts: list[tuple[str, str]]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    lines = []
    for manager in dict.fromkeys(manager for manager, _ in conflicts):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {path}" for owner, path in conflicts if owner == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def apply(
    live: Obj | None,
    config: Obj,
    *,
    manager: str,
    force: bool,
    schema: Schema | None,
    now: str,
    subresource: str = "",
    ignore: Ignore = (),
) -> Obj:
    """Return the live object with a configuration applied by `manager`; neither argument is changed.

    `ignore` names fields that this endpoint resets, such as `("status",)`, and that it must not let anyone own.
    Raises ApplyConflict unless forced, and ValueError for a configuration that its schema cannot hold.
    """
    kind = field_type(schema)
    check_config(config, kind)
    writer = Manager(manager or "unknown", "Apply", config["apiVersion"], subresource)
    managed = Managed.read((live or {}).get("metadata", {}).get("managedFields") or ())
    before = _without_managed(live) if live is not None else {}
    if live is not None and not managed:
        first = Manager("before-first-apply", "Update", config["apiVersion"], subresource)
        written = compare({}, before, kind).ignoring(_ignored(ignore)).written
        managed.put(Entry(first, owned(written), now))
    application = _Application(before, config, kind, writer=writer, managed=managed, ignored=_ignored(ignore))
    conflicts = [] if force else application.conflicts()
    if manager == _KUBECTL:
        conflicts = _not_client_side(conflicts, before, kind)
    if conflicts:
        raise ApplyConflict([(str(entry.manager), readable(path)) for entry, path in conflicts])
    application.take_over(now)
    result = application.result
    if manager == _KUBECTL and annotations_of(result).get(LAST_APPLIED):
        result = _with_last_applied(result, config)
    return _with_managed(result, managed)


Conflict = tuple[Entry, tuple[str, ...]]


class _Application:
    """One configuration on its way into the live object: what results, and what that changes."""

    def __init__(
        self, live: Obj, config: Obj, kind: FieldType, *, writer: Manager, managed: Managed, ignored: FieldSet
    ) -> None:
        self._live = live
        self._kind = kind
        self._writer = writer
        self._managed = managed
        self._others = [entry for entry in managed.values() if entry.manager.identity != writer.identity]
        self._fields = FieldSet.of(config, kind.schema).without(ignored)
        hollow, self.result = self._pruned(merge(live, config, kind))
        everything = compare(live, hollow, kind, merged=True)
        self._same = everything.same
        self._change = everything.ignoring(ignored)

    def conflicts(self) -> list[Conflict]:
        """Return the fields of others that the configuration changes, in the order of the server's message."""
        others = sorted(self._others, key=lambda entry: _identifier(entry.manager))
        changed = self._change.written
        return [(entry, path) for entry in others for path in entry.fields.intersection(changed).paths()]

    def take_over(self, now: str) -> None:
        """Give the writer what it applied, and take from the others what it changed or removed."""
        previous = self._managed.get(self._writer.identity)
        for entry in self._others:
            self._managed.put(entry.losing(self._change.written).losing(self._change.removed))
        unchanged = self._same and _filled(self._live) == _filled(self.result)
        time = (previous.time if previous else "") if unchanged else now
        self._managed.put(Entry(self._writer, owned(self._fields), time))

    def _pruned(self, merged: Obj) -> tuple[Obj, Obj]:
        """Return the merged object without what the manager gave up and nobody else owns.

        It comes twice: with null in place of what lost all its fields, which still belongs to its owners, and without.
        """
        last = self._managed.get(self._writer.identity)
        if last is None or last.fields.difference(self._fields).empty:
            return merged, merged
        kind = self._kind
        given_up = last.fields.with_declared_parents(kind)
        bare = remove(merged, given_up, kind, keep_emptied=True)
        claimed = self._fields
        for entry in self._others:
            claimed = claimed.union(entry.fields)
        everything = FieldSet.of(merged, kind.schema).with_declared_parents(kind)
        kept = FieldSet.of(bare, kind.schema).with_declared_parents(kind).union(claimed.with_declared_parents(kind))
        bare = remove(merged, everything.difference(kept), kind, keep_emptied=True)
        left = FieldSet.of(bare, kind.schema).with_declared_parents(kind)
        gone = everything.difference(left).intersection(given_up)
        return remove(merged, gone, kind, keep_emptied=True), remove(merged, gone, kind)


def track_update(
    live: Obj | None,
    new: Obj,
    *,
    manager: str,
    schema: Schema | None,
    now: str,
    subresource: str = "",
    ignore: Ignore = (),
) -> Obj:
    """Return the new object with managedFields saying what `manager` changed; neither argument is changed.

    An object that is not tracked (its managedFields were reset) stays untracked until it is applied.
    """
    managed = _managed_of(live, new, subresource)
    created = live is None or not uid_of(live)
    wanted = _without_managed(new)
    if not managed and not created:
        return _with_managed(wanted, managed)
    before = _without_managed(live) if live is not None else {}
    comparison = compare(before, wanted, field_type(schema)).ignoring(_ignored(ignore))
    for entry in list(managed.values()):
        managed.put(entry.losing(comparison.written).losing(comparison.removed))
    writer = Manager(manager or "unknown", "Update", new["apiVersion"], subresource)
    written = owned(comparison.written)
    if not written.empty:
        previous = managed.get(writer.identity)
        managed.put(Entry(writer, previous.fields.union(written) if previous else written, now))
    managed.fold_ancient()
    return _with_managed(wanted, managed)


def _managed_of(live: Obj | None, new: Obj, subresource: str) -> Managed:
    """Return the entries to start from: a client may rewrite them, and one that sends none keeps the live ones."""
    live_entries = (live or {}).get("metadata", {}).get("managedFields") or []
    sent = new.get("metadata", {}).get("managedFields")
    if not subresource and sent in ([], [{}]):
        return Managed()
    if not subresource and sent:
        try:
            return Managed.read(sent)
        except ValueError:
            pass
    try:
        return Managed.read(live_entries)
    except ValueError:
        return Managed()


def _not_client_side(conflicts: list[Conflict], live: Obj, kind: FieldType) -> list[Conflict]:
    """Drop conflicts with kubectl's own client-side apply: the same user now applies on the server."""
    last_applied = annotations_of(live).get(LAST_APPLIED) if live.get("metadata") else None
    if not conflicts or not last_applied:
        return conflicts
    try:
        applied = orjson.loads(last_applied)
    except orjson.JSONDecodeError:
        return conflicts
    if not isinstance(applied, dict) or applied.get("apiVersion") != live.get("apiVersion"):
        return conflicts
    comparison = compare(applied, live, kind)
    fields = FieldSet.of(applied, kind.schema)
    allowed = fields.difference(comparison.modified).difference(comparison.added).difference(comparison.removed)
    return [conflict for conflict in conflicts if not allowed.has(conflict[1])]


def _with_last_applied(obj: Obj, config: Obj) -> Obj:
    """Keep kubectl's annotation in step, so that a client-side apply afterwards starts from the right place."""
    metadata = config.get("metadata") or {}
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    bare = {**config, "metadata": {**metadata, "annotations": annotations}}
    if not annotations:
        del bare["metadata"]["annotations"]
    text = orjson.dumps(bare, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    kept = {**annotations_of(obj), LAST_APPLIED: text}
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}


def _identifier(manager: Manager) -> str:
    """Return what the server sorts managers by: the JSON of an entry without fields and time."""
    name, operation, version, subresource = manager.identity
    parts = {"manager": name, "operation": operation, "apiVersion": version, "subresource": subresource}
    return orjson.dumps({key: value for key, value in parts.items() if value}).decode()


def _filled(value: Any) -> Any:
    """Return a value without what is empty in it; unlike a comparison of fields this keeps the order of lists."""
    if isinstance(value, dict):
        inner = {key: _filled(child) for key, child in value.items()}
        return {key: child for key, child in inner.items() if child not in (None, {}, [])}
    if isinstance(value, list):
        return [_filled(child) for child in value]
    return value


def _ignored(ignore: Ignore) -> FieldSet:
    return FieldSet.from_paths(tuple(f"f:{name}" for name in path) for path in ignore)


def _without_managed(obj: Obj) -> Obj:
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _with_managed(obj: Obj, managed: Managed) -> Obj:
    bare = _without_managed(obj)
    if not managed:
        return bare
    return {**bare, "metadata": {**(bare.get("metadata") or {}), "managedFields": managed.to_v1()}}
