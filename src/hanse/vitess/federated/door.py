"""Federated VitessClusters into intents: each member gets its own part, as the stored plan divides the specification.

The door decides nothing. A VitessCluster has no plan before the controller has stored one, and until there is one for
the present specification everything stays as it is: so nothing follows from a decision that could be forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.api.names import ADOPT_ANNOTATION, DELETION_ANNOTATION, FEDERATE_ANNOTATION
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.kube.cache import Change
from hanse.kube.manifest import Obj, annotations_of, dig, key_of, uid_of
from hanse.kube.resources import Resource
from hanse.placement.ask import ClusterTerm, Duplicated, Failover, Override, Placement
from hanse.placement.candidate import Toleration
from hanse.propagation.door import Affected, Door, Farewell, Inputs
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.vitess.federated.plan import Plan, spec_digest, stored_plan
from hanse.vitess.federated.splitting import split

# Whoever names a cluster means it; and data does not go elsewhere because its cluster is lost.
EVERY_TAINT = (Toleration(operator="Exists"),)
NEVER = Failover(after_seconds=None, fail_back_after=0.0)


class VitessDoor(Door):
    """Carries the parts of VitessClusters into their members.

    The status is left to the controller, which knows topology beside the members; Secrets are federated by themselves.
    """

    @property
    def name(self) -> str:
        """What people call the door of Vitess."""
        return "vitess"

    @property
    def resources(self) -> Sequence[Resource]:
        """VitessClusters alone."""
        return (VITESS_CLUSTERS,)

    @property
    def any_kind(self) -> bool:
        """Say that members hold VitessClusters."""
        return False

    @property
    def inputs(self) -> Sequence[Resource]:
        """Nothing: the plan is in the VitessCluster itself."""
        return ()

    def informed(self, inputs: Inputs) -> VitessDoor:
        """Return the door: there is nothing to know."""
        return self

    def affected(self, resource: Resource, change: Change) -> Affected:
        """Say that no other object speaks of a VitessCluster."""
        return Affected()

    def target(self, source: Ref) -> Ref:
        """Say that members hold an object of the same name, from which lockserver roots and tablets' names follow."""
        return source

    def farewell(self, source: Obj) -> Farewell | Problem:
        """Say that the parts go with the whole, unless they shall be left behind."""
        plan = stored_plan(source)
        orphan = annotations_of(source).get(DELETION_ANNOTATION) == "orphan"
        return Farewell(orphan=orphan, within=None if plan is None else frozenset(plan.members))

    def admits(self, source: Obj) -> bool:
        """Tell whether a VitessCluster was planned; one that is only the host's own never is."""
        return stored_plan(source) is not None and not self.lets_go(source)

    def lets_go(self, source: Obj) -> bool:
        """Tell whether somebody asked that the parts become the members' own."""
        return annotations_of(source).get(FEDERATE_ANNOTATION) == "false"

    def translate(self, source: Obj) -> Intent | Problem:
        """Give each member its part."""
        plan = stored_plan(source)
        if plan is None or plan.spec != spec_digest(source):
            return Problem("Planning", "it is not planned yet how the specification divides", expected=True)
        return _intent(source, plan)


def _intent(source: Obj, plan: Plan) -> Intent:
    parts = sorted(split(source, plan).items())
    template = parts[0][1] if parts else _bare(source)
    return Intent(
        resource=VITESS_CLUSTERS,
        key=key_of(source),
        source_uid=uid_of(source),
        template=template,
        placement=Placement(
            clusters=ClusterTerm(names=plan.members),
            tolerations=EVERY_TAINT,
            division=Duplicated(),
            failover=NEVER,
        ),
        overrides=tuple(
            Override(ClusterTerm(names=(member,)), ({"op": "replace", "path": "", "value": part},))
            for member, part in parts[1:]
        ),
        sources=("each of its cells is in one cluster",),
        adopt=annotations_of(source).get(ADOPT_ANNOTATION) == "true",
        nowhere=True,
        apart=True,
        created=dig(source, "metadata", "creationTimestamp", default=""),
    )


def _bare(source: Obj) -> Obj:
    names = {name: source["metadata"][name] for name in ("name", "namespace")}
    return {"apiVersion": source["apiVersion"], "kind": source["kind"], "metadata": names, "spec": {"cells": []}}
