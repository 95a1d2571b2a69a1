"""To whom resolvers may still lead clients: for as long as they may keep an answer, and no longer."""

import pytest

from hanse.api.service_addresses import LEAVING_ANNOTATION
from hanse.rollouts.weights.leaving import leaving_of, leaving_text, take_leave

NOW = 1_700_000_000.0
OLD, NEW = ("eu", "web-1-0"), ("eu", "web-2-0")


def spec(*places, ttl=60, serving=True):
    entries = [
        {"name": cluster, "release": release, "addresses": ["192.0.2.1"], "serving": serving}
        for cluster, release in places
    ]
    return {"ttlSeconds": ttl, "clusters": entries}


def stored(content, leaving=None):
    text = leaving_text(leaving or {})
    annotations = {} if text is None else {LEAVING_ANNOTATION: text}
    return {"metadata": {"name": "web", "annotations": annotations}, "spec": content}


CASES = {
    "who was led to and is so no longer": (stored(spec(OLD, NEW)), spec(NEW), {OLD: NOW + 65}),
    "who does not serve any more, although it is named": (
        stored(spec(OLD)),
        spec(OLD, serving=False),
        {OLD: NOW + 65},
    ),
    "nobody when nobody was led anywhere before": (stored(spec(OLD, serving=False)), spec(NEW), {}),
    "nobody at the first time": (None, spec(NEW), {}),
    "who left before, until then": (stored(spec(NEW), {OLD: NOW + 30}), spec(NEW), {OLD: NOW + 30}),
    "nobody who came back": (stored(spec(NEW), {OLD: NOW + 30}), spec(OLD, NEW), {}),
    "nobody whose time has passed": (stored(spec(NEW), {OLD: NOW}), spec(NEW), {}),
    "nobody for longer than an answer lives, although the clock was set back": (
        stored(spec(NEW), {OLD: NOW + 9000}),
        spec(NEW),
        {OLD: NOW + 65},
    ),
    "by the TTL of answers that were given, too": (stored(spec(OLD, ttl=600)), spec(NEW, ttl=5), {OLD: NOW + 605}),
}


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES)
def test_who_may_still_be_led_to(before, after, expected):
    assert take_leave(before, after, NOW) == expected


def test_it_is_read_as_it_was_written_and_a_fraction_of_a_second_is_waited_for():
    leaving = take_leave(stored(spec(OLD)), spec(NEW), NOW + 0.25)
    assert leaving == {OLD: NOW + 66}
    assert leaving_of(stored(spec(NEW), leaving)) == leaving
    assert leaving_text({}) is None


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"eu/web": 5}', '{"eu/web": "soon"}'])
def test_what_cannot_be_read_says_nothing(text):
    assert leaving_of({"metadata": {"annotations": {LEAVING_ANNOTATION: text}}}) == {}
