"""A cluster's health changes on evidence, not on one probe."""

import random

import pytest

from hanse.clusters.health import Health, HealthTerms, Probe, State, Symptom, judge

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


def failed(symptom, *, answered=False):
    return Probe(answered=answered, healthy=False, why=str(symptom), symptom=symptom)


def test_a_dying_server_that_fails_in_another_way_each_time_is_told_of_once():
    refused, hung = failed(Symptom.NOT_REACHABLE), failed(Symptom.NOT_RESPONDING)
    lost = after(GOOD, refused, hung, refused, hung)

    assert after(refused, hung, refused, hung, start=lost).symptom is lost.symptom


def test_another_trouble_that_stays_is_told():
    lost = after(GOOD, *[failed(Symptom.NOT_REACHABLE)] * 4)
    other = after(*[failed(Symptom.NOT_TRUSTED)] * 5, start=lost)

    assert (lost.symptom, other.symptom) == (Symptom.NOT_REACHABLE, Symptom.NOT_TRUSTED)
    assert other.state is State.OFFLINE


def test_rejected_credentials_are_no_absence():
    health = after(GOOD, *[failed(Symptom.NOT_AUTHENTICATED, answered=True)] * 4)

    assert (health.state, health.symptom) == (State.NOT_READY, Symptom.NOT_AUTHENTICATED)


@pytest.mark.parametrize("takes", [0.0, 1.0, 2.5], ids=["refused", "slow", "hangs"])
def test_at_the_defaults_no_loss_takes_ten_seconds_to_be_seen(takes):
    terms, chance = HealthTerms(), random.Random(7)
    longest = 0.0
    for _ in range(2000):
        health, started = after(GOOD), 0.0
        while health.state is not State.OFFLINE:
            # The cluster is lost right after a good probe began, at zero.
            started += max(takes if health.failures else 0.0, terms.period_seconds * chance.uniform(0.9, 1.1))
            failure = Probe(answered=False, healthy=False, seconds=takes)
            health = judge(health, failure, started + takes, terms)
        longest = max(longest, started + takes)

    assert longest < 10.0
