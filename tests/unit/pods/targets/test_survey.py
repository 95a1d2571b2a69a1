"""What is thought of targets, given all that is known of them."""

from dataclasses import replace

import pytest

from hanse.clusters.health import Health, State, Symptom
from hanse.pods.targets.survey import Private, judged, rivals_among
from tests.unit.pods.targets.cases import READY, cluster, own, private, registered, scene, target

EU, US = cluster("eu"), cluster("us")
HOME = cluster("home")
FORBIDDEN = Health(State.NOT_READY, "may not", symptom=Symptom.NOT_AUTHORIZED)
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def places(*servers):
    return {name: Private(server, uid, READY) for name, server, uid in servers}


RIVALS = [
    ("one cluster under two names", [registered("a", "eu"), registered("b", "eu", created=YOUNG)], {"b": "a"}),
    ("the older one keeps it", [registered("a", "eu", created=YOUNG), registered("b", "eu")], {"a": "b"}),
    ("two clusters", [registered("a", "eu"), registered("b", "us")], {}),
    ("two namespaces of one cluster", [registered("x/t", "eu"), registered("y/t", "eu")], {}),
    ("one namespace twice", [registered("x/a", "eu"), registered("x/b", "eu", created=YOUNG)], {"x/b": "x/a"}),
    (
        "the whole cluster and a namespace of it",
        [registered("a", "eu", created=YOUNG), registered("x/b", "eu")],
        {"a": "x/b"},
    ),
    ("20 itself in two namespaces", [own("x/me"), own("y/me")], {}),
    ("itself by either way", [own("x/me"), registered("x/home", "home", created=YOUNG)], {"x/home": "x/me"}),
    ("credentials for a registered one", [registered("a", "eu"), private("p", created=YOUNG)], {"p": "a"}),
    ("credentials twice", [private("p"), private("q", created=YOUNG)], {"q": "p"}),
    ("nothing is known of it", [private("p"), private("nowhere")], {}),
    ("ill-formed ones have no place", [target("a", trouble="it is"), registered("b", "eu", created=YOUNG)], {}),
]


@pytest.mark.parametrize(("targets", "found"), [case[1:] for case in RIVALS], ids=[case[0] for case in RIVALS])
def test_of_two_targets_that_show_the_same_objects_one_is_used(targets, found):
    known = places(("p", "https://EU:6443/", ""), ("q", "https://eu:6443", ""))

    rivals = rivals_among(targets, scene(EU, US, HOME, privates=known), ())

    assert {name: str(keeper) for name, keeper in rivals.items()} == found


def test_whoever_is_used_keeps_its_place_from_an_older_one_that_comes_to_it_later():
    targets = [registered("a", "eu"), registered("b", "eu", created=YOUNG)]

    assert list(rivals_among(targets, scene(EU), {"b"})) == ["a"]


def test_one_that_fails_leaves_its_place_to_one_that_does_not():
    known = {"p": Private("https://eu:6443", "", FORBIDDEN), "q": Private("https://eu:6443", "")}

    assert list(rivals_among([private("p"), private("q", created=YOUNG)], scene(privates=known), ())) == ["p"]


def test_one_cluster_is_known_by_its_uid_behind_two_addresses():
    known = places(("p", "https://one", "u"), ("q", "https://two", "u"))

    assert list(rivals_among([private("p"), private("q", created=YOUNG)], scene(privates=known), ())) == ["q"]


OFFLINE = cluster("eu", ready=False, offline=True, why="no answer", refused_since=OLD)
STANDINGS = [
    ("ready", registered("t", "eu"), scene(EU), True, False, "cluster eu is ready"),
    ("offline", registered("t", "eu"), scene(OFFLINE), False, True, "it is offline: no answer"),
    ("not judged yet", registered("t", "eu"), scene(cluster("eu", ready=False)), None, False, "not ready"),
    ("not registered", registered("t", "asia"), scene(EU), False, False, "there is no cluster asia"),
    ("fetches its work", registered("t", "eu"), scene(cluster("eu", pull=True)), False, False, "fetches its work"),
    ("itself", own("x/t"), scene(), True, False, "this cluster itself"),
    ("itself, by its health", own("x/t"), scene(cluster("home", ready=False, why="ill")), None, False, "ill"),
    ("53 ill-formed", target("t", trouble="spec is odd"), scene(EU), False, False, "spec is odd"),
    ("50 a name that is taken", registered("t", "eu"), scene(EU, taken={"uid-t": "another"}), False, False, "another"),
]


@pytest.mark.parametrize(
    ("which", "known", "ready", "offline", "why"), [case[1:] for case in STANDINGS], ids=[case[0] for case in STANDINGS]
)
def test_a_target_stands_as_what_is_behind_it(which, known, ready, offline, why):
    standing = judged(which, known)

    assert (standing.ready, standing.offline) == (ready, offline)
    assert why in standing.why


PRIVATE = [
    ("ready", Private("https://p", "", READY), True, False, "answers"),
    ("silent", Private("https://p", "", Health(State.OFFLINE, "no answer")), False, True, "no answer"),
    ("17 forbidden", Private("https://p", "", FORBIDDEN), False, False, "may not"),
    ("54 no secret", Private(trouble="secret default/s does not exist"), False, False, "does not exist"),
    ("not probed", Private("https://p"), None, False, "not been probed"),
    ("leads home", Private("https://home:6443", "", READY), False, False, "write self: true"),
    ("leads home by another address", Private("https://lb", "uid-of-home", READY), False, False, "write self: true"),
]


@pytest.mark.parametrize(
    ("known", "ready", "offline", "why"), [case[1:] for case in PRIVATE], ids=[case[0] for case in PRIVATE]
)
def test_a_private_target_stands_as_its_probes_say(known, ready, offline, why):
    standing = judged(private("p"), scene(HOME, privates={"p": known}))

    assert (standing.ready, standing.offline) == (ready, offline)
    assert why in standing.why


def test_only_what_a_person_has_to_mend_is_blocked():
    assert judged(registered("t", "asia"), scene()).blocked
    assert judged(private("p"), scene(privates={"p": Private(trouble="no secret")})).blocked
    assert not judged(registered("t", "eu"), scene(OFFLINE)).blocked


MOVES = [
    ("another cluster", registered("t", "us"), {"cluster eu", "server https://eu:6443"}, True),
    ("the same one at another address", registered("t", "eu"), {"cluster eu", "server https://old"}, False),
    ("credentials for another one", private("p"), {"server https://eu:6443", "uid uid-of-eu"}, True),
    ("credentials for the same one at another address", private("p"), {"server https://old", "uid u"}, False),
    ("nothing was sent there yet", registered("t", "us"), set(), False),
    ("nothing is known of where it leads", private("q"), {"server https://eu:6443"}, False),
]


@pytest.mark.parametrize(("which", "was", "moved"), [case[1:] for case in MOVES], ids=[case[0] for case in MOVES])
def test_a_target_that_leads_away_from_its_pods_is_used_no_more(which, was, moved):
    known = {"p": Private("https://new", "u", READY)}
    here = replace(
        scene(EU, US, privates=known), was=lambda each: frozenset(was) if each.name == which.name else frozenset()
    )

    assert (judged(which, here).reason == "TargetMoved") == moved
    # It keeps nobody else from where it must not go.
    other = registered("other", "us", created=YOUNG)
    assert ("other" in rivals_among([which, other], here, ())) == (which.cluster == "us" and not moved)
