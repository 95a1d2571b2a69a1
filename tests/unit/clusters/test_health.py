"""A cluster's health changes on evidence, not on one probe."""

from hanse.clusters.health import Health, HealthTerms, Probe, State, judge

TERMS = HealthTerms(period_seconds=2, failures_to_offline=3, seconds_to_offline=6, successes_to_ready=3)
GOOD = Probe(answered=True, healthy=True)
SILENT = Probe(answered=False, healthy=False, why="no answer")
SICK = Probe(answered=True, healthy=False, why="etcd is not ready")


def after(*probes, start=None):
    health, now = start or Health(), 0.0
    for probe in probes:
        health = judge(health, probe, now, TERMS)
        now += 2.0
    return health


def test_the_first_good_probe_makes_a_cluster_ready():
    assert after(GOOD).state is State.READY


def test_one_failed_probe_topples_nothing():
    assert after(GOOD, SILENT).state is State.READY
    assert after(GOOD, SILENT, SILENT, GOOD, SILENT, SILENT).state is State.READY


def test_failures_in_a_row_over_a_while_make_it_offline_and_say_why():
    health = after(GOOD, SILENT, SILENT, SILENT, SILENT)

    assert (health.state, health.why) == (State.OFFLINE, "no answer")


def test_quick_failures_are_not_enough():
    health = after(GOOD)
    for now in (2.0, 2.1, 2.2, 2.3):
        health = judge(health, SILENT, now, TERMS)

    assert health.state is State.READY


def test_a_server_that_answers_that_it_is_not_ready_is_not_offline():
    assert after(GOOD, SICK, SICK, SICK, SICK).state is State.NOT_READY


def test_a_lost_cluster_needs_several_good_probes_to_come_back():
    lost = after(GOOD, SILENT, SILENT, SILENT, SILENT)

    assert after(GOOD, GOOD, start=lost).state is State.OFFLINE
    assert after(GOOD, SILENT, GOOD, GOOD, start=lost).state is State.OFFLINE
    assert after(GOOD, GOOD, GOOD, start=lost).state is State.READY
