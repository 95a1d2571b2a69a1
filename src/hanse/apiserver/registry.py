"""Which kinds a server serves: the built-in ones, shared by all servers, and its own custom ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hanse.apiserver.builtin import conversion_for, strategy_for
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.cel.schema_rules import RuleTree
from hanse.apiserver.kinds import BUILTIN, Subresource, bucket_of, singular_of, subresource
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema, schema_for

# Groups in the order in which discovery lists them, most wanted first.
_GROUP_ORDER = {group: place for place, (group, _) in enumerate(BUILTIN)}


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a version that is not the stored one is read and written."""

    from_stored: Callable[[Obj], Obj]
    to_stored: Callable[[Obj], Obj]


@dataclass(frozen=True, slots=True)
class Served:
    """One kind in one version, with all that the verbs need to know of it."""

    resource: Resource
    bucket: str
    subresources: Mapping[str, Subresource]
    strategy: Strategy
    schema: Callable[[], Schema | None]
    conversion: Conversion | None = None
    custom: bool = False
    # Whether its group is listed after all others: clients take a bare name for that of the first group that has it.
    yields: bool = False
    # The CRD version entry that a custom kind comes from: printer columns, scale paths, selectable fields.
    definition: Mapping[str, Any] = field(default_factory=dict)
    # The CEL rules of a custom kind's schema, compiled when the first object of the kind is written.
    rules: Callable[[], RuleTree | None] = lambda: None

    @property
    def has_status(self) -> bool:
        """Whether status is written apart from the rest."""
        return "status" in self.subresources


class Registry:
    """The served kinds by path and by kind; `generation` moves whenever they change."""

    def __init__(self) -> None:
        self._custom: dict[tuple[str, str, str], Served] = {}
        self.generation = 0

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """Return the kind behind a path."""
        key = (group, version, plural)
        return _builtin().get(key) or self._custom.get(key)

    def find_kind(self, group: str, version: str, kind: str) -> Served | None:
        """Return the kind that a manifest names."""
        found = _builtin_by_kind().get((group, version, kind))
        if found is not None:
            return found
        return next(
            (one for key, one in self._custom.items() if key[:2] == (group, version) and one.resource.kind == kind),
            None,
        )

    def of_bucket(self, bucket: str) -> Served | None:
        """Return the kind whose objects a bucket holds, in its stored version."""
        found = _builtin_by_bucket().get(bucket)
        return found or next((one for one in self._custom.values() if one.bucket == bucket), None)

    def all(self) -> Iterator[Served]:
        """Yield every served kind, built-in ones first."""
        yield from _builtin().values()
        yield from self._custom.values()

    def groups(self) -> dict[str, list[str]]:
        """Return the groups with their versions, preferred first."""
        groups: dict[str, list[str]] = {}
        for served in sorted(self.all(), key=lambda one: one.yields):
            versions = groups.setdefault(served.resource.group, [])
            if served.resource.version not in versions:
                versions.append(served.resource.version)
        for group, versions in groups.items():
            if group not in _GROUP_ORDER:
                versions.sort(key=version_priority, reverse=True)
        return groups

    def install(self, served: Iterable[Served]) -> None:
        """Serve custom kinds."""
        for one in served:
            self._custom[one.resource.group, one.resource.version, one.resource.plural] = one
        self.generation += 1

    def withdraw(self, group: str, plural: str) -> None:
        """Stop serving a custom kind in all its versions."""
        self._custom = {key: one for key, one in self._custom.items() if not (key[0] == group and key[2] == plural)}
        self.generation += 1


def version_priority(version: str) -> tuple[int, int, int]:
    """Order versions as Kubernetes does: v2, v1, v2beta1, v1beta2, v1alpha1; anything else last."""
    head, stage, minor = version, 3, 0
    for name, rank in (("beta", 2), ("alpha", 1)):
        before, found, after = version.partition(name)
        if found:
            head, stage, minor = before, rank, int(after) if after.isdigit() else 0
    if not (head.startswith("v") and head[1:].isdigit()):
        return (0, 0, 0)
    return (stage, int(head[1:]), minor)


@cache
def _builtin() -> dict[tuple[str, str, str], Served]:
    table: dict[tuple[str, str, str], Served] = {}
    for (group, version), entries in BUILTIN.items():
        for entry in entries:
            parts = {name: subresource(name, entry.kind) for name in entry.subresources}
            resource = Resource(
                group,
                version,
                entry.plural,
                entry.kind,
                namespaced=entry.namespaced,
                verbs=frozenset(entry.verbs),
                subresources=frozenset(parts),
                short_names=entry.short_names,
                singular=singular_of(entry),
                categories=entry.categories,
            )
            converters = conversion_for(group, version, entry.kind)
            table[group, version, entry.plural] = Served(
                resource,
                entry.bucket or bucket_of(group, entry.plural),
                parts,
                strategy_for(group, version, entry.kind),
                _schema_of(resource),
                Conversion(*converters) if converters else None,
            )
    return table


def _schema_of(resource: Resource) -> Callable[[], Schema | None]:
    return lambda: schema_for(resource.group, resource.version, resource.kind)


@cache
def _builtin_by_kind() -> dict[tuple[str, str, str], Served]:
    return {(key[0], key[1], one.resource.kind): one for key, one in _builtin().items()}


@cache
def _builtin_by_bucket() -> dict[str, Served]:
    return {one.bucket: one for one in _builtin().values() if one.conversion is None}
