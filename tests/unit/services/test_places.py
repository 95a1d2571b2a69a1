import pytest

from hanse.services.places import LOAD_ANNOTATION, load_of, place_of
from hanse.services.presence import Place


def cluster(**annotations):
    status = {"region": "eu", "zones": ["eu-a", "eu-b"]}
    return {"metadata": {"name": "a", "annotations": annotations}, "status": status}


def test_where_a_cluster_is():
    assert place_of(cluster(**{LOAD_ANNOTATION: "0.5"})) == Place("a", "eu", ("eu-a", "eu-b"), 0.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0.0), ("1.5", 1.5), ("", None), ("-1", None), ("nan", None), ("inf", None), ("x", None)],
)
def test_how_busy_a_cluster_says_to_be(text, expected):
    assert load_of(cluster(**{LOAD_ANNOTATION: text})) == expected


def test_a_cluster_that_says_nothing_is_not_idle():
    assert load_of(cluster()) is None
