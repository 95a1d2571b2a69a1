"""The desk: who hears of which change of wishes."""

from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS
from hanse.propagation.comparison import Absent, Kept
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
