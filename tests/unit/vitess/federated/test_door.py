"""What the engine is told of federated VitessClusters: nothing that was not planned first."""

from __future__ import annotations

from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.kube.manifest import Obj, key_of
from hanse.propagation.door import Farewell
from hanse.propagation.intent import Intent, Problem, Ref
from hanse.vitess.federated.controller import is_federated
from hanse.vitess.federated.door import VitessDoor
from hanse.vitess.federated.plan import plan_manifest
from hanse.vitess.federated.splitting import split
from tests.unit.vitess.federated.shop import plan_of, shop


def _planned() -> Obj:
    source = shop()
    return {**source, "status": {"federation": {"plan": plan_manifest(plan_of(source))}}}


def test_each_member_gets_its_own_part_and_no_other_cluster_anything():
    intent = VitessDoor().translate(_planned())
    assert isinstance(intent, Intent)
    assert intent.placement.clusters.names == ("east", "west")
    parts = split(shop(), plan_of(shop()))
    assert intent.template == parts["east"]
    (override,) = intent.overrides
    assert override.clusters.names == ("west",)
    assert override.patch[0]["value"] == parts["west"]


def test_a_lost_member_has_its_part_nowhere_else():
    intent = VitessDoor().translate(_planned())
    assert isinstance(intent, Intent)
    assert intent.placement.failover.after_seconds is None


def test_what_was_not_planned_is_not_admitted():
    assert not VitessDoor().admits(shop())
    assert VitessDoor().admits(_planned())


def test_a_specification_that_is_newer_than_its_plan_changes_nothing_yet():
    source = _planned()
    source["spec"]["images"] = {"vttablet": "vitess/lite:v22"}
    found = VitessDoor().translate(source)
    assert isinstance(found, Problem)
    assert found.expected


def test_parts_have_the_name_of_the_whole():
    ref = Ref(VITESS_CLUSTERS, key_of(shop()))
    assert VitessDoor().target(ref) == ref


def test_parts_go_with_the_whole_from_the_members_that_have_any():
    assert VitessDoor().farewell(_planned()) == Farewell(within=frozenset({"east", "west"}))
    kept = _planned()
    kept["metadata"]["annotations"] = {"hanse.dev/deletion": "orphan"}
    assert VitessDoor().farewell(kept) == Farewell(orphan=True, within=frozenset({"east", "west"}))


def test_a_vitess_cluster_that_names_no_cluster_is_the_hosts_own():
    assert is_federated(shop())
    own = shop(cells=[{"name": "zone1"}])
    assert not is_federated(own)
    own["spec"]["federation"] = {"upgrade": {"type": "AllAtOnce"}}
    assert is_federated(own)
