"""The entries of metadata.managedFields: who owns which fields since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hanse.kube.manifest import Obj
from hanse.kube.patches.field_sets import FieldSet

# Fields that the server sets or that identify the object: nobody owns them.
_SERVER_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
_UNOWNED = FieldSet.from_paths(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _SERVER_METADATA)]
)

_MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """Who writes: an applier is one in every version, an updater one per version."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two entries one."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.name, self.operation, version, self.subresource)

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager's fields, and when it last changed them ("" where that was not recorded)."""

    manager: Manager
    fields: FieldSet
    time: str = ""

    def losing(self, fields: FieldSet) -> Entry:
        """Return the entry without some fields."""
        return replace(self, fields=self.fields.difference(fields))

    def to_v1(self) -> Obj:
        """Return the entry as metadata.managedFields holds it."""
        written: Obj = {
            "manager": self.manager.name,
            "operation": self.manager.operation,
            "apiVersion": self.manager.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_v1(),
            "subresource": self.manager.subresource,
        }
        return {key: value for key, value in written.items() if value != ""}


class Managed(dict[tuple[str, str, str, str], Entry]):
    """All entries of an object by their managers' identities."""

    @classmethod
    def read(cls, entries: Iterable[Obj]) -> Managed:
        """Read metadata.managedFields; raises ValueError with the server's sentence."""
        managed = cls()
        for index, entry in enumerate(entries):
            managed.put(_read_entry(entry, index))
        return managed

    def put(self, entry: Entry) -> None:
        """Set a manager's entry; an entry without fields is dropped."""
        if entry.fields.empty:
            self.pop(entry.manager.identity, None)
        else:
            self[entry.manager.identity] = entry

    def to_v1(self) -> list[Obj]:
        """Return metadata.managedFields, in the server's order."""
        return [entry.to_v1() for entry in sorted(self.values(), key=_order)]

    def fold_ancient(self) -> None:
        """Merge the oldest updaters of a version into one when there are too many."""
        updaters = [entry for entry in self.values() if entry.manager.operation == "Update"]
        surplus = len(updaters) - _MOST_UPDATERS
        updaters.sort(key=lambda entry: (entry.time, entry.manager))
        first_of: dict[str, Entry] = {}
        for entry in updaters:
            if surplus <= 0:
                return
            version = entry.manager.api_version
            first = first_of.setdefault(version, entry)
            if first is entry:
                continue
            bucket = Manager(_ANCIENT, "Update", version)
            if bucket.identity not in self:
                self.pop(first.manager.identity)
                self.put(Entry(bucket, first.fields, first.time))
            self.pop(entry.manager.identity, None)
            self.put(Entry(bucket, self[bucket.identity].fields.union(entry.fields), entry.time))
            surplus -= 1


def owned(fields: FieldSet) -> FieldSet:
    """Return the fields without those that nobody owns."""
    return fields.difference(_UNOWNED)


def _order(entry: Entry) -> tuple[Any, ...]:
    manager = entry.manager
    return (manager.operation, entry.time, manager.name, manager.api_version, manager.subresource)


def _read_entry(entry: Obj, index: int) -> Entry:
    operation = entry.get("operation") or ""
    if operation not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    fields_type = entry.get("fieldsType") or ""
    if not fields_type:
        raise ValueError(f"missing fieldsType in managed fields entry {index}")
    if fields_type != "FieldsV1":
        raise ValueError(f'invalid fieldsType "{fields_type}" in managed fields entry {index}')
    manager = Manager(entry.get("manager") or "", operation, entry["apiVersion"], entry.get("subresource") or "")
    return Entry(manager, FieldSet.from_v1(entry.get("fieldsV1") or {}), entry.get("time") or "")
