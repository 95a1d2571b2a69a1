"""What a Cluster says of a member whose agent tells how it is."""

from hanse.clusters.health import Health, State, Symptom
from hanse.clusters.status import Facts, cluster_status, health_from_status, relayed_status
from hanse.clusters.topology import Topology
from hanse.kube.conditions import find_condition

READY = Health(State.READY, "its API server answers /readyz", symptom=Symptom.READY)
SILENT = Health(State.OFFLINE, "its agent has not been heard of for 6 s", symptom=Symptom.NOT_RESPONDING)
FACTS = Facts(topology=Topology("north", ("n1",), 2, (("cpu", "8"),)), version="v1.36.3", uid="u", denied="")


def test_what_an_agent_tells_is_what_a_look_would_have_found():
    looked = cluster_status({}, READY, FACTS, "10:00")
    told = cluster_status({}, READY, FACTS, "09:00")

    assert relayed_status({}, told, READY, "10:00") == looked


def test_nothing_new_changes_nothing():
    told = cluster_status({}, READY, FACTS, "09:00")
    before = relayed_status({}, told, READY, "10:00")

    assert relayed_status(before, told, READY, "11:00") == before


def test_the_silence_of_an_agent_outweighs_what_it_told_last():
    told = cluster_status({}, READY, FACTS, "09:00")
    before = relayed_status({}, told, READY, "10:00")

    silent = relayed_status(before, {}, SILENT, "11:00")

    assert health_from_status(silent["conditions"]).state is State.OFFLINE
    assert find_condition(silent["conditions"], "Ready")["message"] == SILENT.why
    assert silent["zones"] == ["n1"]


def test_a_region_that_is_told_no_longer_is_gone():
    before = relayed_status({}, cluster_status({}, READY, FACTS, "09:00"), READY, "10:00")
    elsewhere = cluster_status({}, READY, Facts(topology=Topology("", ("z",), 1)), "11:00")

    assert "region" not in relayed_status(before, elsewhere, READY, "11:00")
