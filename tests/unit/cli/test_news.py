"""`hanse get -w` prints what is new."""

from hanse.cli.following import Heard
from hanse.cli.get import Teller, news
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


def answer(ready, age):
    columns = [{"name": "Name"}, {"name": "Ready"}, {"name": "Age"}]
    row = {"cells": ["web", ready, age], "object": {"metadata": {"name": "web"}}}
    return {"columnDefinitions": columns, "rows": [row]}


def test_a_line_is_printed_when_it_changes_under_one_heading_and_a_silent_cluster_is_named_once(capsys):
    teller = Teller()
    for heard in (
        Heard("alpha", answer("0/1", "1s")),
        Heard("b", why="it does not answer"),
        Heard("b", why="it does not answer"),
        Heard("alpha", answer("0/1", "2s")),
        Heard("b", answer("1/1", "3s")),
        Heard("alpha", answer("1/1", "3s")),
    ):
        teller.tell(heard)

    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "CLUSTER   NAME   READY   AGE",
        "alpha     web    0/1     1s",
        "b         web    1/1     3s",
        "alpha     web    1/1     3s",
    ]
    assert printed.err == "warning: b: it does not answer\n"
