"""`hanse get -w` prints what is new."""

from hanse.cli.get import news
from hanse.cli.output import Column

COLUMNS = [Column("CLUSTER"), Column("NAME"), Column("READY"), Column("AGE")]
FIRST = [["a", "web", "0/1", "1s"], ["b", "web", "0/1", "1s"]]


def test_everything_is_new_at_first_and_ages_alone_never_are():
    fresh, before = news(COLUMNS, FIRST, {})
    later, _ = news(COLUMNS, [["a", "web", "1/1", "9s"], ["b", "web", "0/1", "9s"]], before)

    assert fresh == FIRST
    assert later == [["a", "web", "1/1", "9s"]]


def test_an_object_that_comes_back_is_new_again():
    _, before = news(COLUMNS, FIRST, {})
    _, without = news(COLUMNS, FIRST[:1], before)

    assert news(COLUMNS, FIRST, without)[0] == FIRST[1:]
