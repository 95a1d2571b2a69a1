"""The desk: who hears of which change of wishes."""

import pytest

from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS
from hanse.propagation.comparison import Absent, Kept, Present, Released
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref

REF = Ref(CONFIGMAPS, Key("shop", "settings"))


def listened_to():
    desk, heard = Desk(), []
    desk.connect(lambda cluster, _ref: heard.append(cluster), lambda _ref: None, lambda _ref: None)
    return desk, heard


def test_a_cluster_hears_of_a_wish_once():
    desk, heard = listened_to()

    desk.place(REF, {"a": Kept("u"), "b": Kept("u")})
    desk.place(REF, {"a": Kept("u"), "b": Absent("u")})

    assert heard == ["a", "b", "b"]


def test_a_cluster_hears_that_there_is_no_wish_for_it_any_more():
    desk, heard = listened_to()
    desk.place(REF, {"a": Kept("u"), "b": Kept("u")})
    heard.clear()

    desk.place(REF, {"a": Kept("u")})
    dropped = list(heard)
    desk.forget(REF)

    assert dropped == ["b"]
    assert heard == ["b", "a"]
    assert not desk.knows(REF)


def confirmed(*wishes):
    """A desk on which a cluster has confirmed the first of some wishes that follow each other."""
    desk, _ = listened_to()
    first, *later = wishes
    desk.place(REF, {"a": first})
    desk.confirm("a", REF, first)
    for wish in later:
        desk.place(REF, {} if wish is None else {"a": wish})
    return desk


def test_a_cluster_confirms_for_one_source_and_for_no_other():
    desk = confirmed(Absent("u"))

    assert desk.confirmed(REF, "u") == {"a"}
    assert desk.confirmed(REF, "another") == set()


def test_what_a_cluster_confirmed_stays_true_while_it_cannot_be_asked():
    desk = confirmed(Absent("u"), None)

    assert desk.confirmed(REF, "u") == {"a"}
    # The next source of the object has to ask for itself.
    assert desk.confirmed(REF, "another") == set()


@pytest.mark.parametrize(
    "wish", [Present({"metadata": {}}, "u"), Released("u"), Absent("another"), Absent("u", ("x",))]
)
def test_another_wish_has_to_be_confirmed_anew(wish):
    assert confirmed(Absent("u"), wish).confirmed(REF, wish.source_uid) == set()


def test_what_was_found_out_for_an_earlier_wish_confirms_nothing():
    desk, earlier = confirmed(Absent("u"), Present({"metadata": {}}, "u")), Absent("u")

    desk.confirm("a", REF, earlier)

    assert desk.confirmed(REF, "u") == set()


def test_the_desk_knows_whose_wishes_it_has():
    desk, _ = listened_to()
    assert desk.author(REF) == ""
    desk.place(REF, {})
    assert desk.author(REF) == ""
    desk.place(REF, {"a": Kept("u")})
    assert desk.author(REF) == "u"


@pytest.mark.parametrize(
    ("wish", "holds"), [(Present({"metadata": {}}, "u"), True), (Kept("u"), True), (Absent("u"), False), (None, False)]
)
def test_a_namespace_is_needed_for_what_shall_be_in_it(wish, holds):
    desk = confirmed(Absent("u"), wish)

    assert desk.holds("a", "shop") is holds
    assert not desk.holds("b", "shop")
    assert not desk.holds("a", "stock")
    desk.forget(REF)
    assert not desk.holds("a", "shop")


def test_a_namespace_is_needed_for_what_may_be_in_it_and_was_not_decided_on():
    desk = Desk(lambda cluster, namespace: (cluster, namespace) == ("a", "shop"))

    assert desk.holds("a", "shop")
    assert not desk.holds("b", "shop")
