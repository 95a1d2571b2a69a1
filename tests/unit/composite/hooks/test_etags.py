"""Which tagged answers are kept, and for how long."""

import pytest

from hanse.composite.hooks.etags import Root, Tagged, TaggedAnswers, root_of
from hanse.composite.spec import ETags

WEB, SHOP, OTHER = Root("CatSet", "a", "web"), Root("CatSet", "a", "shop"), Root("CatSet", "b", "web")


def test_a_root_is_its_kind_namespace_and_name():
    assert root_of({"kind": "CatSet", "metadata": {"namespace": "a", "name": "web", "uid": "1"}}) == WEB
    assert root_of({"kind": "Node", "metadata": {"name": "n"}}) == Root("Node", "", "n")


def test_each_root_has_its_own_answer():
    answers = TaggedAnswers(ETags())
    answers.put(WEB, "w", b"{}", now=0)
    answers.put(OTHER, "o", b"[]", now=0)

    assert answers.get(WEB, now=10**9) == Tagged("w", b"{}", None)
    assert answers.get(OTHER, now=0) == Tagged("o", b"[]", None)
    assert answers.get(SHOP, now=0) is None


@pytest.mark.parametrize("tag", ["", '"ü"', '"\udcff"', '"a\tb"'])
def test_an_answer_without_a_good_tag_ends_the_one_before(tag):
    answers = TaggedAnswers(ETags())
    answers.put(WEB, "w", b"{}", now=0)
    answers.put(WEB, tag, b"{}", now=1)

    assert answers.get(WEB, now=1) is None


def test_answers_expire_when_they_should():
    answers = TaggedAnswers(ETags(seconds=10))
    answers.put(WEB, "w", b"{}", now=5)

    assert answers.get(WEB, now=14.9) is not None
    assert answers.get(WEB, now=15) is None


def test_what_was_not_asked_for_longest_goes_when_there_is_too_much():
    answers = TaggedAnswers(ETags(), most_bytes=10)
    answers.put(WEB, "w", b"1234", now=0)
    answers.put(SHOP, "s", b"1234", now=0)
    answers.get(WEB, now=1)
    answers.put(OTHER, "o", b"1234", now=2)

    assert [answers.get(root, now=3) is not None for root in (WEB, SHOP, OTHER)] == [True, False, True]

    answers.put(WEB, "w2", b"12345678901", now=4)
    assert answers.get(WEB, now=5) is None
    assert answers.get(OTHER, now=5) is not None
