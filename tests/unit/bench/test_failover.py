"""What clients took down while a cluster was dead, put together for each class."""

import pytest

from bench.clients.asking import Asker, Try, Unserved, answered_by
from bench.clients.outcomes import outcome, outcomes

DIED, RETURNED = 10.0, 50.0


def tries(*spans):
    """Return tries of which those with a reason went wrong."""
    return [Try(begun, ended, "" if why else "a", why) for begun, ended, why in spans]


UNHARMED = tries((9, 9.1, ""), (12, 14.5, ""))
HARMED = tries((9.9, 10.2, "cut"), (11, 11.5, "refused"), (12, 12.5, ""))
STUCK = tries((11, 11.1, "refused"), (49, 49.1, "refused"), (51, 51.1, "refused"), (53, 53.5, ""))
LOST = tries((11, 11.1, "refused"))


@pytest.mark.parametrize(
    ("clients", "errors", "troubled", "served_again", "after_return"),
    [
        ([UNHARMED], 0, 0, 0.0, None),
        ([UNHARMED, HARMED], 2, 1, 2.5, None),
        ([tries((9.5, 9.8, "cut"), (9.85, 9.9, ""))], 1, 1, 0.0, None),
        # Served only after the cluster came back.
        ([HARMED, STUCK], 4, 2, None, 3.5),
        ([HARMED, LOST], 3, 2, None, None),
        # What went wrong before the death, or after the return, is another story.
        ([tries((1, 2, "late"), (60, 61, "later"), (62, 63, ""))], 0, 0, 0.0, None),
    ],
)
def test_an_outcome_counts_errors_and_waits_for_the_last_client(clients, errors, troubled, served_again, after_return):
    found = outcome("dumb", clients, "a", DIED, RETURNED)

    assert (found.errors, found.troubled) == (errors, troubled)
    assert found.served_again == pytest.approx(served_again) if served_again is not None else found.served_again is None
    assert found.after_return == pytest.approx(after_return) if after_return else found.after_return is None


def test_the_slowest_answer_is_one_that_came():
    assert outcome("dumb", [UNHARMED, HARMED], "a", DIED, RETURNED).slowest == pytest.approx(2.5)


def test_each_class_has_an_outcome_of_its_own():
    askers = [Asker("x", None, UNHARMED), Asker("y", None, HARMED), Asker("x", None, HARMED)]
    found = outcomes(askers, "a", DIED, RETURNED)

    assert [(each.kind, each.clients, each.struck, each.errors) for each in found] == [("x", 2, 1, 2), ("y", 1, 0, 2)]


def test_only_a_whole_answer_is_one():
    assert answered_by("HTTP/1.1 200 OK\r\nA: b\r\n\r\ncluster: eu-west\npod: web\n", "here") == "eu-west"
    for answer in ("", "HTTP/1.1 503 Service Unavailable\r\n\r\ncluster: a\n", "HTTP/1.1 200 OK\r\n\r\n"):
        with pytest.raises(Unserved):
            answered_by(answer, "here")
