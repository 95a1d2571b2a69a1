from hanse.api.clusters import Cluster
from hanse.services.deciding import Facts, Scene, decide
from hanse.services.hostnames import Resolved
from hanse.services.observing import Sighting, Wish
from tests.unit.services.cases import KEY, PORTS, presence

WISH = Wish(KEY, PORTS)
CLUSTERS = {"x": Cluster("x", ready=True), "y": Cluster("y", offline=True, why="no answer for 10 s")}


def balanced(*entries):
    return Sighting(tuple(entries), cluster_ips=("10.0.0.1",))


IP = ("ip", "1.1.1.1")


def decided(facts, before=(), wish=WISH, **more):
    scene = Scene(CLUSTERS, facts, {each.cluster: each for each in before}, **more)
    return decide(wish, scene, ttl=180)[0]


def test_a_cluster_that_is_seen_is_as_it_is_seen():
    found = decided({"x": Facts(balanced(IP), 2)})
    assert found.presences == (presence("x", "1.1.1.1", cluster_ips=("10.0.0.1",), backends=2, weight=2),)


def test_a_cluster_that_cannot_be_asked_is_as_it_was():
    before = presence("x", "1.1.1.1", cluster_ips=("10.0.0.1",), backends=2, weight=2)
    assert decided({"x": Facts()}, [before]).presences == (before,)


def test_endpoints_that_are_not_told_are_as_they_were():
    before = presence("x", "1.1.1.1", backends=4, weight=4)
    assert decided({"x": Facts(balanced(IP), None)}, [before]).presences[0].backends == 4


def test_a_cluster_that_left_the_federation_is_not_there_any_more():
    assert decided({"gone": Facts(balanced(IP), 2)}).presences == ()


def test_of_an_offline_cluster_only_that_is_said_since_the_words_of_its_trouble_change_with_every_probe():
    found = decided({"x": Facts(balanced(("ip", "9.9.9.9")), 1), "y": Facts(balanced(IP), 2)})
    assert found.presences[1].why == "the cluster is offline"


def test_the_service_s_own_time_to_live_counts():
    assert decided({}, wish=Wish(KEY, ttl=0)).ttl == 0
    assert decided({}).ttl == 180


def test_a_load_balancer_s_name_stands_for_its_addresses():
    answers = {"h": Resolved(("3.3.3.3", "4.4.4.4"))}
    found = decided({"x": Facts(balanced(("hostname", "h"), IP), 1)}, resolved=answers.__getitem__)
    assert found.presences[0].addresses == ("1.1.1.1", "3.3.3.3", "4.4.4.4")


def test_a_name_that_cannot_be_resolved_keeps_the_addresses_that_it_had():
    trouble = Resolved(None, "h cannot be resolved: no such name")
    facts, before = {"x": Facts(balanced(("hostname", "h")), 1)}, presence("x", "3.3.3.3", backends=1)
    (kept,) = decided(facts, [before], resolved=lambda _name: trouble).presences
    assert (kept.live, kept.why) == (("3.3.3.3",), trouble.trouble)


def test_a_name_that_never_was_resolved_is_why_a_cluster_has_no_address():
    trouble = Resolved(None, "h cannot be resolved: no such name")
    (found,) = decided({"x": Facts(balanced(("hostname", "h")), 1)}, resolved=lambda _name: trouble).presences
    assert (found.serving, found.why) == (False, trouble.trouble)


def test_endpoints_of_a_service_that_selects_nothing_are_not_counted():
    found = decided({"x": Facts(balanced(IP), 0)}, wish=Wish(KEY, selects=False))
    assert (found.presences[0].backends, found.presences[0].live) == (None, ("1.1.1.1",))
