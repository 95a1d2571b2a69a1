"""Clients are led away from pods before these leave a cluster, if there is anywhere to lead them."""

import pytest

from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation.comparison import Absent, Kept, Present
from hanse.propagation.farewells import Farewells, Pods, leaving_pods
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation
from hanse.services.departures import DRAIN_SECONDS, Departures
from hanse.services.judging import Evidence, judge
from hanse.services.presence import FederatedService, Presence

WEB = Ref(DEPLOYMENTS, Key("shop", "web"))
PODS = Pods((("app", "web"),), 2)


def copy(replicas=2, available=2):
    labels = {"app": "web"}
    spec = {"replicas": replicas, "template": {"metadata": {"labels": labels}}}
    return {"metadata": {"name": "web"}, "spec": spec, "status": {"availableReplicas": available}}


def present(replicas):
    return Present({"spec": {"replicas": replicas}}, "uid")


@pytest.mark.parametrize(
    ("wish", "held", "leaves"),
    [
        (Absent("uid"), copy(), True),
        (present(0), copy(), True),
        (Kept("uid", ((("spec", "replicas"), 0),)), copy(), True),
        (present(1), copy(), False),
        (Kept("uid"), copy(), False),
        (Absent("uid"), copy(available=0), False),
        (Absent("uid"), {"metadata": {}, "data": {}}, False),
        (Absent("uid"), None, False),
    ],
)
def test_pods_leave_where_all_that_serve_are_taken(wish, held, leaves):
    assert leaving_pods(wish, held) == (PODS if leaves else None)


class Clock:
    """A runtime of which only the clock is looked at."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Stage:
    """A service over some clusters, and a workload behind it that moves."""

    def __init__(self, serving="ab", selector=None, backends=2):
        presences = tuple(Presence(name, ("192.0.2.1",), backends=backends) for name in serving)
        self.clock = Clock()
        self.heard = []
        known = [
            ({"app": "web"} if selector is None else selector, FederatedService(Key("shop", "web"), (), presences))
        ]
        self.departures = Departures(self.clock, lambda namespace: known, self.heard.append)
        self.farewells = Farewells()
        self.farewells.ushers.append(self.departures)

    def plan(self, **wishes):
        seen = {name: Observation(seen=True, copy=copy()) for name in wishes}
        return self.farewells.hold_back(WEB, wishes, seen)

    def left(self, backends=2):
        return "".join(sorted(self.departures.left("shop", {"app": "web"}, dict.fromkeys("abc", backends))))


def test_a_move_is_told_and_the_last_replicas_stay_for_a_while():
    stage = Stage()
    held, wait = stage.plan(a=Absent("uid"), b=present(4))
    assert (held, wait) == ({"a": Kept("uid"), "b": present(4)}, DRAIN_SECONDS)
    assert (stage.left(), stage.heard) == ("a", ["shop"])

    stage.clock.now = DRAIN_SECONDS
    assert stage.plan(a=Absent("uid"), b=present(4)) == ({"a": Absent("uid"), "b": present(4)}, None)
    assert (stage.left(), stage.heard) == ("a", ["shop"]), "clients stay away while the pods end"


def test_a_move_that_is_called_off_is_forgotten_at_once():
    stage = Stage()
    stage.plan(a=Absent("uid"), b=present(4))
    stage.plan(a=present(2), b=present(2))

    assert (stage.left(), stage.heard) == ("", ["shop", "shop"])


def test_a_move_of_long_ago_is_forgotten():
    stage = Stage()
    stage.plan(a=Absent("uid"), b=present(4))
    stage.clock.now = 1000.0
    stage.plan(b=present(4))

    assert stage.left() == ""


@pytest.mark.parametrize(
    ("stage", "wishes"),
    [
        # Scaled down everywhere: there is nowhere to go.
        (Stage(), {"a": present(0), "b": present(0)}),
        # No client comes there.
        (Stage(serving="bc"), {"a": Absent("uid"), "b": present(4)}),
        (Stage(selector={"app": "other"}), {"a": Absent("uid"), "b": present(4)}),
        (Stage(selector={}), {"a": Absent("uid"), "b": present(4)}),
    ],
)
def test_nobody_waits_for_clients_that_do_not_come_or_have_nowhere_to_go(stage, wishes):
    assert stage.plan(**wishes) == (wishes, None)
    assert stage.left() == ""


def test_a_cluster_with_other_pods_behind_the_same_service_is_not_left():
    stage = Stage(backends=5)
    stage.plan(a=Absent("uid"), b=present(4))

    assert stage.left(backends=5) == ""
    assert stage.left(backends=2) == "a"


def test_without_names_for_services_nothing_is_held_back():
    wishes = {"a": Absent("uid")}

    assert Farewells().hold_back(WEB, wishes, {"a": Observation(seen=True, copy=copy())}) == (wishes, None)


@pytest.mark.parametrize(
    ("leaving", "serving"),
    [("", "abc"), ("a", "bc"), ("ab", "c"), ("abc", "abc"), ("c", "ab")],
)
def test_clients_are_led_away_from_clusters_that_pods_leave_if_any_other_serves(leaving, serving):
    judgement = judge(Evidence(name, (f"192.0.2.{ord(name)}",), backends=1, leaving=name in leaving) for name in "abc")

    assert "".join(each.cluster for each in judgement.presences if each.live) == serving
    assert not judgement.failed_open


def test_nobody_is_led_away_to_a_cluster_that_does_not_serve():
    judgement = judge(
        [Evidence("a", ("192.0.2.1",), backends=1, leaving=True), Evidence("b", ("192.0.2.2",), backends=0)]
    )

    assert [each.cluster for each in judgement.presences if each.live] == ["a"]
