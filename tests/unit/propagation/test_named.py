"""Objects that are the engine's concern only while somebody names them."""

from dataclasses import replace

import pytest

from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, PODS
from hanse.propagation.company import Stand, User, abroad, accompanied, unneeded
from hanse.propagation.dependencies import NO_NEEDS, Need, Needs
from hanse.propagation.following import Bells, Following
from hanse.propagation.intent import Follows, Ref
from hanse.propagation.planning import Observation, plan
from tests.unit.propagation.builders import config_intent, fleet

WEB, API = (Ref(PODS, Key("shop", name)) for name in ("web", "api"))
SETTINGS = Ref(CONFIGMAPS, Key("shop", "settings"))
NAMES = ("a", "b", "home")
HOME = frozenset({"home"})
NAMED = replace(config_intent(), follows=Follows.NAMED, at_home=HOME, nowhere=True)
NOWHERE = "Pod shop/web names it, and is in no other cluster"
NOT_TOLD = User(WEB, asks=True)


def user(*there, unknown=(), ref=WEB):
    return User(ref, asks=True, stand=Stand(frozenset(there), frozenset(unknown)))


@pytest.mark.parametrize(
    ("users", "free", "held"),
    [
        ([], "nothing names it", "nothing names it"),
        ([user("a")], "", ""),
        ([user("home")], NOWHERE, NOWHERE),
        ([user("home"), user("a", ref=API)], "", ""),
        ([user()], NOWHERE, NOWHERE),
        # Where it is not known whether somebody needs it, nothing is begun, and nothing is ended.
        ([user(unknown=("b",))], NOWHERE, ""),
        ([user(unknown=("home",))], NOWHERE, NOWHERE),
        ([NOT_TOLD], NOWHERE, ""),
        ([NOT_TOLD, user("b", ref=API)], "", ""),
    ],
)
def test_an_object_is_needed_while_a_workload_that_names_it_is_in_another_cluster(users, free, held):
    users = abroad(users, HOME)

    assert unneeded(NAMED, users, held=False) == free
    assert unneeded(NAMED, users, held=True) == held


def test_a_claim_that_is_held_stays_until_its_source_goes():
    claim = replace(NAMED, resource=CLAIMS)

    assert unneeded(claim, [], held=True) == ""
    assert unneeded(claim, [], held=False) == "nothing names it"


@pytest.mark.parametrize("follows", [Follows.NEVER, Follows.ASKED, Follows.ALWAYS])
def test_what_has_a_place_of_its_own_is_needed_unless_its_door_says_otherwise(follows):
    intent = replace(NAMED, follows=follows)

    assert unneeded(intent, [], held=True) == ""
    assert unneeded(replace(intent, unneeded="it leads nowhere"), [], held=True) == "it leads nowhere"


def test_it_goes_where_those_are_that_name_it_but_not_where_it_is_itself():
    users = abroad([user("a", "home")], HOME)
    nothing = dict.fromkeys(NAMES, Observation(seen=True))
    planned = plan(accompanied(NAMED, users, NAMES), fleet(*NAMES), nothing)

    assert planned.decision.chosen() == ["a"]


def test_somebody_hears_when_an_object_is_named_first_and_when_it_is_named_last():
    heard: list[Ref] = []
    index = Following(Bells(lambda _ref: None, lambda _ref: None, heard.append))
    needs = Needs((Need(SETTINGS),), follow=True)

    index.note(WEB, needs)
    index.note(API, needs)
    assert (heard, index.is_named(SETTINGS)) == ([SETTINGS], True)
    index.note(WEB, NO_NEEDS)
    assert heard == [SETTINGS]
    index.note(API, NO_NEEDS)
    assert (heard, index.is_named(SETTINGS)) == ([SETTINGS, SETTINGS], False)


@pytest.mark.parametrize(("there", "is_abroad"), [((), False), (("home",), False), (("home", "a"), True)])
def test_whoever_names_an_object_may_be_in_another_cluster(there, is_abroad):
    index = Following(Bells(lambda _ref: None, lambda _ref: None))
    index.note(WEB, Needs((Need(SETTINGS),), follow=True))
    assert not index.is_abroad(SETTINGS, HOME)
    index.stands(WEB, Stand(frozenset(there)))
    assert index.is_abroad(SETTINGS, HOME) is is_abroad
