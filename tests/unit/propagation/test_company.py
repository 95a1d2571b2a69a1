"""Objects that follow others: where they go, what is told of it, and what stays while something is not known."""

from dataclasses import replace

import pytest

from hanse.api.clusters import Cluster
from hanse.api.plain_kinds import CLAIMS
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from hanse.placement.ask import ClusterTerm, Placement
from hanse.propagation.company import Stand, User, accompanied, gaps, is_undecided, kept_from, stand_of
from hanse.propagation.comparison import Absent, Kept, Present
from hanse.propagation.dependencies import Need, Needs
from hanse.propagation.explanation import explain
from hanse.propagation.following import PATIENCE_SECONDS, Bells, Following
from hanse.propagation.intent import Follows, Ref
from hanse.propagation.planning import UNSEEN, Observation, plan
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent, fleet

WEB, API = (Ref(DEPLOYMENTS, Key("shop", name)) for name in ("web", "api"))
SETTINGS = Ref(CONFIGMAPS, Key("shop", "settings"))
NAMES = ("a", "b", "c")
NOTHING = dict.fromkeys(NAMES, Observation(seen=True))


def following(follows=Follows.ASKED, **changes):
    return replace(config_intent(), follows=follows, **changes)


def user(ref=WEB, *there, asks=True, unknown=()):
    return User(ref, asks, Stand(frozenset(there), frozenset(unknown)))


def decided(intent, users, observed=NOTHING, clusters=None):
    return plan(accompanied(intent, users, NAMES), clusters or fleet(*NAMES), observed)


@pytest.mark.parametrize(
    ("follows", "users", "chosen"),
    [
        (Follows.ASKED, [], ["a", "b", "c"]),
        (Follows.ASKED, [user(WEB, "a")], ["a"]),
        (Follows.ASKED, [user(WEB, "a"), user(API, "c", asks=False)], ["a", "c"]),
        (Follows.ASKED, [user(WEB, "a", asks=False)], ["a", "b", "c"]),
        (Follows.ASKED, [user(WEB, "a", "gone")], ["a"]),
        (Follows.ASKED, [user(WEB)], []),
        (Follows.ALWAYS, [user(WEB, "b", asks=False)], ["b"]),
        (Follows.ALWAYS, [], []),
        (Follows.NEVER, [user(WEB, "a")], ["a", "b", "c"]),
    ],
)
def test_an_object_is_wherever_those_are_that_name_it_if_one_of_them_asks(follows, users, chosen):
    assert decided(following(follows), users).decision.chosen() == chosen


def test_its_decision_says_whom_it_follows_and_why_it_is_nowhere_else():
    planned = decided(following(), [user(WEB, "a"), user(API, "a", "b", asks=False)])

    assert [verdict.reasons for verdict in planned.decision.verdicts] == [
        ("it follows Deployment shop/api, Deployment shop/web, which are there", "it is ready"),
        ("it follows Deployment shop/api, which is there", "it is ready"),
        ("nothing that it follows is there",),
    ]
    assert accompanied(following(), [user(WEB, "a")], NAMES).sources == ("it follows Deployment shop/web",)


def test_its_own_placement_counts_no_longer_while_it_follows():
    intent = following(placement=Placement(ClusterTerm(names=("c",))))

    assert decided(intent, [user(WEB, "a")]).decision.chosen() == ["a"]


def test_one_that_does_not_follow_says_who_asked():
    intent = accompanied(following(Follows.NEVER), [user(WEB, "a")], NAMES)

    assert intent.sources == ("its own placement counts, although Deployment shop/web asks that what it names follows",)


def test_what_it_leaves_it_leaves_and_what_is_not_known_it_keeps():
    observed = dict.fromkeys(NAMES, Observation(seen=True, copy=copy(config_intent())))

    planned = decided(following(), [user(WEB, "a", unknown=["b"])], observed)

    assert isinstance(planned.wanted["a"], Present)
    assert "b" not in planned.wanted
    assert isinstance(planned.wanted["c"], Absent)
    assert planned.leaving == {"c"}


def test_a_claim_comes_along_and_stays_with_its_data():
    claim = following(resource=CLAIMS)
    observed = NOTHING | {"b": Observation(seen=True, copy=copy(config_intent()))}

    planned = decided(claim, [user(WEB, "a")], observed)

    assert planned.decision.chosen() == ["a"]
    assert planned.wanted.keys() == {"a"}
    assert planned.leaving == frozenset()
    assert "since its data would go with it" in planned.decision.of("b").reasons[-1]
    (told,) = [
        each for each in explain(accompanied(claim, [user(WEB, "a")], NAMES), planned, observed) if each.cluster == "b"
    ]
    assert told.sentences[-1] == "Whatever it holds stays as it is."


@pytest.mark.parametrize("intent", [following(), following(Follows.ALWAYS)])
def test_nothing_leaves_where_those_that_it_follows_are_nowhere(intent):
    observed = NOTHING | {"b": Observation(seen=True, copy=copy(config_intent()))}

    assert decided(intent, [user(WEB)], observed).wanted == {"b": Kept(UID)}


def test_what_follows_work_away_from_a_lost_or_drained_cluster_is_not_held_as_a_change():
    copies = dict.fromkeys(NAMES, Observation(seen=True, copy=copy(config_intent())))
    cordoned = [Cluster(name, ready=True, unschedulable=name == "b") for name in NAMES]

    assert decided(following(), [user(WEB, "a")], copies, cordoned).leaving == {"c"}
    assert decided(following(), [user(WEB, "a")], copies, fleet(*NAMES, offline=("c",))).leaving == frozenset()


def test_an_author_who_may_not_use_a_cluster_neither_reaches_it_by_following_nor_leaves_it():
    forbidden = {name: f"dora may not use cluster {name}" for name in ("a", "b")}
    copies = NOTHING | {"b": Observation(seen=True, copy=copy(config_intent()))}
    users = [user(WEB, "a", "c")]

    planned = decided(following().without(forbidden), users, copies)

    assert planned.decision.chosen() == ["c"]
    assert "b" not in planned.wanted
    assert kept_from(planned, users) == {"a": "dora may not use cluster a"}


def test_a_workload_stands_where_it_is_and_where_it_shall_be_and_unsure_where_nothing_is_seen():
    intent = deployment_intent()
    observed = {"b": Observation(seen=True, copy=copy(intent, 2)), "c": Observation(seen=True), "d": UNSEEN}
    foreign = copy(intent, 2) | {"metadata": {"name": "web"}}
    wanted = {"a": Present({}, UID), "b": Absent(UID), "c": Absent(UID)}

    stand = stand_of(UID, wanted, observed | {"e": Observation(seen=True, copy=foreign)}, "abcde")

    assert stand == Stand(frozenset("ab"), frozenset("d"))


def test_only_one_that_may_follow_waits_for_those_that_have_not_told_where_they_stand():
    silent = [user(WEB, "a"), User(API, asks=False)]

    assert is_undecided(following(), silent)
    assert not is_undecided(following(Follows.NEVER), silent)
    assert not is_undecided(following(), silent[:1])


def test_what_pods_will_not_find_is_told_unless_they_do_not_need_it():
    needs = [Need(SETTINGS), Need(SETTINGS._replace(key=Key("shop", "more")), optional=True)]

    assert gaps(needs, {need.ref: False for need in needs}, {}) == [
        "it names ConfigMap shop/settings, which does not exist on the federation"
    ]
    assert gaps(needs, {SETTINGS: True}, {SETTINGS: {"a": "why"}}) == [
        "it names ConfigMap shop/settings, which does not go to a: why"
    ]
    assert gaps(needs, {}, {}) == []


class Heard:
    """Remembers who was called."""

    def __init__(self):
        self.decide, self.tell = [], []
        self.following = Following(Bells(self.decide.append, self.tell.append))

    def take(self):
        found = sorted(map(str, self.decide)), sorted(map(str, self.tell))
        self.decide.clear()
        self.tell.clear()
        return found


ASKS, NAMES_ONLY = Needs((Need(SETTINGS),), follow=True), Needs((Need(SETTINGS),))
WEB_IN_A = Stand(frozenset("a"))


def test_an_index_calls_only_for_what_follows_and_only_at_news():
    heard = Heard()
    index = heard.following

    index.note(API, NAMES_ONLY)
    assert heard.take() == ([], [])
    assert not index.concerns(API)
    assert index.users_of(SETTINGS, Follows.ASKED) == []

    # Somebody asks: the object and everybody who names it are looked at.
    index.note(WEB, ASKS)
    assert heard.take() == ([str(SETTINGS), str(API), str(WEB)], [])
    index.stands(WEB, WEB_IN_A)
    index.stands(WEB, WEB_IN_A)
    assert set(index.users_of(SETTINGS, Follows.ASKED)) == {User(WEB, True, WEB_IN_A), User(API, False)}
    # Before everybody has told where he stands nothing can be decided.
    assert heard.take() == ([], [])
    index.stands(API, WEB_IN_A)
    assert heard.take() == ([str(SETTINGS)], [])

    # Nobody asks any more: it goes its own way, and nobody's stand is kept.
    index.note(WEB, NAMES_ONLY)
    assert heard.take() == ([str(SETTINGS)], [])
    assert index.users_of(SETTINGS, Follows.ASKED) == []
    assert set(index.users_of(SETTINGS, Follows.ALWAYS)) == {User(WEB, False), User(API, False)}

    index.forget(WEB)
    index.forget(API)
    assert index.users_of(SETTINGS, Follows.ALWAYS) == []


def test_one_more_who_is_where_others_are_is_no_reason_to_decide_again():
    heard = Heard()
    index = heard.following
    index.note(WEB, ASKS)
    index.stands(WEB, WEB_IN_A)
    index.decided(SETTINGS, {})
    heard.take()

    # Until it is known where he stands, what he names may have to go there, and he waits for it.
    index.note(API, ASKS)
    assert index.is_undecided(SETTINGS)
    assert heard.take() == ([str(API)], [])
    index.waits(API, now=100.0)
    index.stands(API, WEB_IN_A)
    assert not index.is_undecided(SETTINGS)
    assert heard.take() == ([str(API)], [])

    index.stands(API, Stand(frozenset("ab")))
    assert index.is_undecided(SETTINGS)
    assert heard.take() == ([str(SETTINGS)], [])
    index.decided(SETTINGS, {})
    heard.take()

    # The last who is somewhere takes it with him, and only the last.
    index.forget(WEB)
    assert heard.take() == ([], [])
    index.forget(API)
    assert heard.take() == ([str(SETTINGS)], [])


def test_one_of_whom_a_cluster_does_not_tell_is_news_as_is_one_who_only_names():
    heard = Heard()
    index = heard.following
    index.note(WEB, ASKS)
    index.stands(WEB, WEB_IN_A)
    index.decided(SETTINGS, {})
    heard.take()
    index.stands(WEB, Stand(frozenset("a"), frozenset("b")))
    assert heard.take() == ([str(SETTINGS)], [])
    index.decided(SETTINGS, {})
    index.note(API, NAMES_ONLY)
    index.stands(API, WEB_IN_A)
    assert str(SETTINGS) in heard.take()[0]


def test_a_workload_waits_for_what_it_brings_but_not_for_ever():
    heard = Heard()
    index = heard.following
    index.note(WEB, ASKS)
    index.stands(WEB, WEB_IN_A)
    heard.take()

    assert index.brings(WEB) == [SETTINGS]
    assert index.is_undecided(SETTINGS)
    assert index.waits(WEB, now=100.0) == PATIENCE_SECONDS
    index.decided(SETTINGS, {})
    assert not index.is_undecided(SETTINGS)
    assert heard.take() == ([str(WEB)], [])
    assert index.waits(WEB, now=100.0 + PATIENCE_SECONDS) == 0.0

    index.waits_no_more(WEB)
    index.news_of(SETTINGS)
    assert heard.take() == ([], [])


def test_a_workload_tells_anew_what_it_lacks_when_that_changes():
    heard = Heard()
    index = heard.following
    index.note(WEB, ASKS)
    index.note(API, NAMES_ONLY)
    index.stands(WEB, WEB_IN_A)
    heard.take()

    index.exists(SETTINGS)
    assert heard.take()[1] == [str(WEB)]
    assert "does not exist" in index.lacks(WEB, lambda _ref: False)[0]
    assert index.lacks(WEB, lambda _ref: None) == []
    assert index.lacks(API, lambda _ref: False) == []

    index.decided(SETTINGS, {"a": "why", "b": "it is not there"})
    assert heard.take()[1] == [str(WEB)]
    assert index.lacks(WEB, lambda _ref: True) == ["it names ConfigMap shop/settings, which does not go to a: why"]
