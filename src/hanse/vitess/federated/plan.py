"""What was decided of a federated VitessCluster and has to be remembered, as a value and as `status.federation.plan`.

A plan is stored before anything follows from it: whoever starts anew, or is replaced in the middle, goes on from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.kube.manifest import Obj, dig
from hanse.kube.patches.differences import digest
from hanse.vitess.federated.quorum import Quorum, quorum_from, quorum_to
from hanse.vitess.federated.reading import ShardId


@dataclass(frozen=True, slots=True)
class Entries:
    """What of cells and keyspaces a member has, each by its name as it was last written for it."""

    cells: Mapping[str, Obj] = field(default_factory=dict)
    keyspaces: Mapping[str, Obj] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.cells or self.keyspaces)


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything is.

    `spec` is the digest of the specification that it was made for. `homes` say in which member each cell is, those that
    leave included. `placed` is what each member was given of cells and keyspaces, without tablet pools; `leaving` is
    what of that the specification no longer has and the member has yet to let go. `initializers` are the members that
    choose the first primary of each shard. `versions` are of the members that have yet to get the present one.
    """

    spec: str = ""
    homes: Mapping[str, str] = field(default_factory=dict)
    initializers: Mapping[ShardId, str] = field(default_factory=dict)
    placed: Mapping[str, Entries] = field(default_factory=dict)
    leaving: Mapping[str, Entries] = field(default_factory=dict)
    versions: Mapping[str, Obj] = field(default_factory=dict)
    quorum: Quorum | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The clusters that have, or still have, a part of it; a lockserver's member alone is one."""
        etcd = [member.cluster for member in self.quorum.members] if self.quorum is not None else []
        return tuple(sorted({*self.homes.values(), *self.leaving, *etcd}))

    def cells_on(self, member: str) -> tuple[str, ...]:
        """Return the cells of a member."""
        return tuple(cell for cell, home in self.homes.items() if home == member)


def spec_digest(source: Obj) -> str:
    """Return the fingerprint of a specification."""
    return digest(source.get("spec") or {})


def stored_plan(source: Obj) -> Plan | None:
    """Read the plan that is stored in a VitessCluster; None where there is none."""
    found = dig(source, "status", "federation", "plan")
    if not isinstance(found, dict):
        return None
    return Plan(
        spec=str(found.get("spec", "")),
        homes=dict(found.get("homes") or {}),
        initializers={ShardId.parse(name): home for name, home in (found.get("initializers") or {}).items()},
        placed={name: _entries(each) for name, each in (found.get("placed") or {}).items()},
        leaving={name: _entries(each) for name, each in (found.get("leaving") or {}).items()},
        versions=dict(found.get("versions") or {}),
        quorum=quorum_from(found.get("quorum")),
    )


def plan_manifest(plan: Plan) -> Obj:
    """Write a plan as the status holds it; what is empty is left out."""
    written: Obj = {
        "spec": plan.spec,
        "homes": dict(plan.homes),
        "initializers": {str(shard): home for shard, home in sorted(plan.initializers.items())},
        "placed": {name: _written(each) for name, each in sorted(plan.placed.items()) if each},
        "leaving": {name: _written(each) for name, each in sorted(plan.leaving.items()) if each},
        "versions": dict(plan.versions),
        "quorum": quorum_to(plan.quorum) if plan.quorum is not None else None,
    }
    return {name: value for name, value in written.items() if value}


def _entries(found: Obj) -> Entries:
    return Entries(dict(found.get("cells") or {}), dict(found.get("keyspaces") or {}))


def _written(entries: Entries) -> Obj:
    written = {"cells": dict(entries.cells), "keyspaces": dict(entries.keyspaces)}
    return {name: value for name, value in written.items() if value}
