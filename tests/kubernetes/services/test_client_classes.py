"""Every class of client of seed 003, and a real Chromium, while a cluster of a running federation dies."""

import asyncio
import os
import shutil

import pytest

from bench.clients.browser import why_not
from bench.failover import Script, play
from tests.kubernetes.real.ports import free_port

pytestmark = pytest.mark.skipif(
    shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None, reason="haproxy is not installed"
)
CLIENTS = 3


@pytest.fixture(scope="module")
def report():
    return asyncio.run(play(Script(clients=CLIENTS, before=3.0, dead=0.0, after=0.5, listen=free_port())))


@pytest.mark.parametrize("kind", ["well-written", "dumb", "dumbest, behind HAProxy", "Chromium"])
def test_clients_that_know_another_way_take_it_before_the_cluster_is_back(report, kind):
    if kind == "Chromium" and why_not():
        pytest.skip(why_not())
    (outcome,) = [each for each in report.outcomes if each.kind == kind]

    assert outcome.asked > outcome.clients, "the load went on"
    assert kind != "Chromium" or outcome.struck, "its own cluster died"
    # What was under way when the power went is lost; nothing that was begun later is.
    assert outcome.errors <= outcome.clients, outcome.reasons
    assert outcome.served_again is not None


def test_a_client_that_knows_one_address_only_is_lost_with_its_cluster_and_no_other_is(report):
    (outcome,) = [each for each in report.outcomes if each.kind == "dumber"]

    assert outcome.troubled == outcome.struck
    assert (outcome.served_again is None) == (outcome.troubled > 0)
    assert all(report.address in why for why in outcome.reasons)
