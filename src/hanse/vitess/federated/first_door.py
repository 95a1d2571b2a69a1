"""Federated VitessClusters of the first generation into intents, and reports into their status."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.names import ADOPT_ANNOTATION
from hanse.api.vitess.kinds import VITESS_CLUSTERS
from hanse.kube.conditions import condition, find_condition, is_true, merge_conditions
from hanse.kube.manifest import Obj, annotations_of, dig, key_of, uid_of
from hanse.kube.resources import Resource
from hanse.placement.ask import ClusterTerm, Duplicated, Override, Placement, Rollout
from hanse.propagation.door import Farewell
from hanse.propagation.intent import Intent, Problem
from hanse.propagation.report import Report
from hanse.propagation.wellness import Ailment, unseen_change
from hanse.vitess.federated.door import EVERY_TAINT, NEVER, VitessDoor
from hanse.vitess.federated.first_splitting import first_homes, first_refusals, split_first
from hanse.vitess.federated.reading import cell_names


class FirstVitessDoor(VitessDoor):
    """Carries the parts of VitessClusters of the first generation into their members.

    There is nothing to remember but where cells are, which the status says; so no controller plans it.
    """

    @property
    def name(self) -> str:
        """What people call the door of the first generation."""
        return "vitess-first"

    @property
    def resources(self) -> Sequence[Resource]:
        """VitessClusters of the first generation."""
        return (VITESS_CLUSTERS,)

    def admits(self, source: Obj) -> bool:
        """Tell whether a VitessCluster names clusters; one that does not is the host's own."""
        return bool(first_homes(source.get("spec") or {})) and not self.lets_go(source)

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say that the parts go with the whole."""
        return Farewell(orphan=annotations_of(source).get("hanse.dev/deletion") == "orphan")

    def translate(self, source: Obj) -> Intent | Problem:
        """Give each member its part, or say why it cannot be divided."""
        spec = source.get("spec") or {}
        if refused := first_refusals(spec, dig(source, "status", "federation", "homes", default={})):
            return Problem("InvalidSpec", "; ".join(map(str, refused)))
        parts = sorted(split_first(source).items())
        return Intent(
            resource=VITESS_CLUSTERS,
            key=key_of(source),
            source_uid=uid_of(source),
            template=parts[0][1],
            placement=Placement(
                clusters=ClusterTerm(names=tuple(member for member, _ in parts)),
                tolerations=EVERY_TAINT,
                division=Duplicated(),
                failover=NEVER,
                # Shards have tablets in several members, whose operators know nothing of each other.
                rollout=Rollout(max_clusters=1, alone=True),
            ),
            overrides=tuple(
                Override(ClusterTerm(names=(member,)), ({"op": "replace", "path": "", "value": part},))
                for member, part in parts[1:]
            ),
            sources=("each of its cells is in one cluster",),
            health=first_ailment,
            adopt=annotations_of(source).get(ADOPT_ANNOTATION) == "true",
            nowhere=True,
            apart=True,
            created=dig(source, "metadata", "creationTimestamp", default=""),
        )

    def reported(self, source: Obj, report: Report, now: str) -> Obj:
        """Put together what the members say: the cells that exist and are ready, and whether all are."""
        live = [row.observed for row in report.rows if row.live and row.observed is not None and row.settled]
        cells = sorted({cell for copy in live for cell in dig(copy, "status", "cells", default=())})
        ready = sorted({cell for copy in live for cell in dig(copy, "status", "readyCells", default=())})
        missing = sorted(set(cell_names(source["spec"])) - {_cell(source, name) for name in ready})
        whole = not missing and all(is_true(dig(copy, "status", "conditions"), "Ready") for copy in live)
        why = report.missing or (f"cells {', '.join(missing)} are not ready" if missing else "a member is not ready")
        if lost := sorted(row.cluster for row in report.rows if not row.live):
            why = f"{', '.join(lost)} cannot be reached, and what runs there goes on by itself; {why}"
        state = condition("Ready", whole, "CellsReady" if whole else "CellsNotReady", "" if whole else why)
        return _with_status(source, {"cells": cells, "readyCells": ready}, state, now)

    def refused(self, source: Obj, problem: Problem, now: str) -> Obj:
        """Say in the object why nothing can be made of it; where its cells are stays what it was."""
        state = condition("Ready", False, problem.reason, f"{problem.message}; members keep what they have")
        return _with_status(source, {}, state, now, keep=True)


def first_ailment(copy: Obj) -> Ailment | None:
    """Say what a member's VitessCluster lacks until the next member may change; None where it is rolled out."""
    if unseen := unseen_change(copy):
        return unseen
    for kind in ("Updated", "Ready"):
        found = find_condition(dig(copy, "status", "conditions"), kind) or {}
        if found.get("status") != "True":
            return Ailment(str(found.get("message") or f"it is not {kind.lower()} yet"))
    return None


def _with_status(source: Obj, told: Obj, state: Obj, now: str, *, keep: bool = False) -> Obj:
    before = source.get("status") or {}
    conditions = merge_conditions(before.get("conditions"), [state], now)
    generation = dig(source, "metadata", "generation", default=0)
    homes = dig(before, "federation", "homes", default={}) if keep else first_homes(source["spec"])
    status = {**before, **told, "observedGeneration": generation, "conditions": conditions}
    status["federation"] = {"homes": dict(homes)}
    return source if status == before else {**source, "status": status}


def _cell(source: Obj, name: str) -> str:
    """Return a cell's own name: members tell of their VitessCells, which are called after the cluster as well."""
    return name.removeprefix(f"{source['metadata']['name']}-")
