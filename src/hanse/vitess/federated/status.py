"""The status of a federated VitessCluster: what the members say put together, and where each shard's primary is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.picture import Picture
from hanse.vitess.federated.plan import Plan, plan_manifest
from hanse.vitess.federated.reading import ShardId, all_shards
from hanse.vitess.federated.refusal import Refusal
from hanse.vitess.federated.refusing import division_refusals
from hanse.vitess.identity import parse_alias

_SUMS = ("desiredTablets", "tablets", "readyTablets", "updatedTablets")
_LEAST = ("readyShards", "updatedShards")
_MOST = ("desiredShards", "shards")
# A sentence names so many things; `hanse vitess status` names them all.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member's VitessCluster as it was last seen; without `reachable` it counts for nothing.

    `settled` says that it has exactly what it shall have, and its operator has seen that. `trouble` is what keeps it
    from that.
    """

    copy: Obj | None = None
    reachable: bool = False
    settled: bool = False
    trouble: str = ""

    @property
    def lacks(self) -> str:
        """What is missing until the member is ready, "" where nothing is."""
        if not self.reachable:
            return "cannot be reached"
        if self.trouble:
            return self.trouble
        if self.copy is None or not self.settled:
            return "has yet to take in what it was given"
        return member_lacks(self.copy)


def member_lacks(copy: Obj) -> str:
    """Say what a member's own VitessCluster lacks to be ready, "" where nothing is."""
    for name, keyspace in sorted(dig(copy, "status", "keyspaces", default={}).items()):
        wanted, ready = keyspace.get("desiredTablets") or 0, keyspace.get("readyTablets") or 0
        if ready < wanted:
            return f"{ready} of {wanted} tablets of keyspace {name} are ready"
    known = dig(copy, "status", "keyspaces", default={})
    for keyspace in dig(copy, "spec", "keyspaces", default=()):
        if keyspace.get("name") not in known:
            return f"nothing is told of keyspace {keyspace.get('name')} yet"
    for cell in dig(copy, "spec", "cells", default=()):
        state = dig(copy, "status", "cells", cell.get("name", ""), "gatewayAvailable")
        if state != "True":
            return f"the gateways of cell {cell.get('name')} are not available"
    return ""


@dataclass(frozen=True, slots=True)
class Told:
    """All that a status is made of; without a `picture` topology could not be read, and `unread` says why."""

    plan: Plan
    members: Mapping[str, MemberView] = field(default_factory=dict)
    picture: Picture | None = None
    unread: str = ""
    refusals: Sequence[Refusal] = ()
    notes: Sequence[str] = ()


def merged_status(source: Obj, told: Told, now: str) -> Obj:
    """Return the status that a federated VitessCluster shall have."""
    spec, before = source.get("spec") or {}, source.get("status") or {}
    generation = dig(source, "metadata", "generation", default=0)
    shards = shard_states(spec, told)
    conditions = [
        _accepted(told, generation),
        _degraded(told, generation),
        _ready(told, shards, generation),
    ]
    federation: Obj = {
        "plan": plan_manifest(told.plan),
        "shards": shards,
        "members": {name: _member(name, view, told.plan) for name, view in sorted(told.members.items())},
        "notes": [*told.notes, *_lost_primaries(told, shards)],
    }
    status = {
        "observedGeneration": generation,
        "conditions": merge_conditions(before.get("conditions"), conditions, now),
        "cells": _cells(told),
        "keyspaces": _keyspaces(told),
        "orphanedCells": _orphans(told, "orphanedCells"),
        "orphanedKeyspaces": _orphans(told, "orphanedKeyspaces"),
        "federation": {name: value for name, value in federation.items() if value},
    }
    return {name: value for name, value in status.items() if value}


def shard_states(spec: Obj, told: Told) -> Obj:
    """Return who leads each shard, by topology; of one that could not be read nothing is said."""
    found: Obj = {}
    for shard in () if division_refusals(spec) else all_shards(spec):
        state: Obj = {"hasPrimary": "Unknown", "initializer": told.plan.initializers.get(shard.id, "")}
        if told.picture is not None:
            alias = told.picture.primary(shard.id)
            state["hasPrimary"] = "True" if alias else "False"
            parsed = parse_alias(alias) if alias else None
            if alias and parsed is not None:
                state |= {"primary": alias, "member": told.plan.homes.get(parsed[0], "")}
            if len(claimants := told.picture.claimants(shard.id)) > 1:
                state["claimants"] = list(claimants)
        found[str(shard.id)] = {name: value for name, value in state.items() if value}
    return found


def _accepted(told: Told, generation: int) -> Obj:
    if not told.refusals:
        return condition("Accepted", True, "Split", generation=generation)
    more = f" (and {len(told.refusals) - 1} more)" if len(told.refusals) > 1 else ""
    message = f"{told.refusals[0]}{more}; members keep what they have"
    return condition("Accepted", False, "InvalidSpec", message, generation=generation)


def _degraded(told: Told, generation: int) -> Obj:
    lost = [name for name, view in sorted(told.members.items()) if not view.reachable]
    if lost:
        message = f"{_some(lost)} cannot be reached; what runs there goes on by itself, and nothing is pruned"
        return condition("Degraded", True, "MemberUnreachable", message, generation=generation)
    if told.picture is None:
        return condition("Degraded", True, "TopologyUnreadable", told.unread, generation=generation)
    return condition("Degraded", False, "AllReachable", generation=generation)


def _ready(told: Told, shards: Obj, generation: int) -> Obj:
    if told.refusals:
        return condition("Ready", False, "InvalidSpec", str(told.refusals[0]), generation=generation)
    lacking = {name: view.lacks for name, view in sorted(told.members.items()) if view.lacks}
    if lacking:
        name, why = next(iter(lacking.items()))
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        return condition("Ready", False, "MembersNotReady", f"{name}: {why}{more}", generation=generation)
    if told.picture is None:
        return condition("Ready", None, "TopologyUnreadable", told.unread, generation=generation)
    several = [name for name, state in shards.items() if "claimants" in state]
    if several:
        message = f"{_some(several)}: more than one tablet says that it is the primary"
        return condition("Ready", False, "SeveralPrimaries", message, generation=generation)
    headless = [name for name, state in shards.items() if state["hasPrimary"] != "True" and state.get("initializer")]
    if headless:
        return condition("Ready", False, "NoPrimary", f"{_some(headless)}: no primary yet", generation=generation)
    return condition("Ready", True, "MembersReady", generation=generation)


def _lost_primaries(told: Told, shards: Obj) -> list[str]:
    lost = {name for name, view in told.members.items() if not view.reachable}
    return [
        f"{name}: its primary {state['primary']} is in {state['member']}, which cannot be reached; VTOrc in another "
        "cluster replaces it where the shard's durability allows that"
        for name, state in shards.items()
        if state.get("member") in lost
    ]


def _member(name: str, view: MemberView, plan: Plan) -> Obj:
    state: Obj = {"cells": list(plan.cells_on(name)), "reachable": view.reachable, "ready": not view.lacks}
    return state | ({"message": view.lacks} if view.lacks else {})


def _cells(told: Told) -> Obj:
    found: Obj = {}
    for cell, member in told.plan.homes.items():
        view = told.members.get(member, MemberView())
        state = dig(view.copy, "status", "cells", cell, default={}) if view.reachable else {}
        found[cell] = {"gatewayAvailable": "Unknown", **state, "cluster": member}
    return found


def _keyspaces(told: Told) -> Obj:
    """Add up what the members that answer say: tablets as sums, shards as what holds for all of them."""
    parts: dict[str, list[Obj]] = {}
    for _, view in sorted(told.members.items()):
        for name, state in dig(view.copy, "status", "keyspaces", default={}).items() if view.reachable else ():
            parts.setdefault(name, []).append(state)
    return {name: _keyspace(states) for name, states in sorted(parts.items())}


def _keyspace(states: Sequence[Obj]) -> Obj:
    numbers = {name: [int(state.get(name) or 0) for state in states] for name in (*_SUMS, *_LEAST, *_MOST)}
    made: Obj = {name: sum(numbers[name]) for name in _SUMS}
    made |= {name: min(numbers[name]) for name in _LEAST}
    made |= {name: max(numbers[name]) for name in _MOST}
    made["cells"] = sorted({cell for state in states for cell in state.get("cells") or ()})
    return made


def _orphans(told: Told, field_name: str) -> Obj:
    found: Obj = {}
    for member, view in sorted(told.members.items()):
        for name, state in dig(view.copy, "status", field_name, default={}).items() if view.reachable else ():
            found[name] = {**state, "cluster": member}
    return found


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def shards_without_primary(picture: Picture | None, shards: Sequence[ShardId]) -> frozenset[ShardId]:
    """Return the shards of which topology says that they have no primary; of one that cannot be read, none."""
    return frozenset() if picture is None else frozenset(each for each in shards if not picture.primary(each))
