"""Whether clients are led to a release as its TrafficTarget asks, by what was mixed for its application."""

import pytest

from hanse.api.service_addresses import LEAVING_ANNOTATION
from hanse.rollouts.targets.led import led
from hanse.rollouts.weights.leaving import leaving_text

UNTIL = 1_700_000_000.0
RELEASE = "web-1-0"


def mixture(*entries, leaving=None, name="web"):
    text = leaving_text(leaving or {})
    annotations = {} if text is None else {LEAVING_ANNOTATION: text}
    spec = {"ttlSeconds": 60, "clusters": list(entries)}
    return {"metadata": {"name": name, "namespace": "shop", "annotations": annotations}, "spec": spec}


def entry(asked, *, serving=True, why="", release=RELEASE, cluster="eu"):
    more = {"why": why} if why else {}
    addresses = ["192.0.2.1"]
    return {"name": cluster, "release": release, "addresses": addresses, "serving": serving, "asked": asked, **more}


READY = {
    "it is led to by that weight": (10, [mixture(entry(10))], 10),
    "it should be left alone, and is": (0, [mixture(entry(90, release="web-0-0"))], 0),
    "nobody was ever led to it": (0, [], 0),
    "somebody else is leaving, and itself in another cluster": (
        0,
        [mixture(leaving={("eu", "web-0-0"): UNTIL, ("us", RELEASE): UNTIL})],
        0,
    ),
    "it does not serve where it should have nobody": (0, [mixture(entry(0, serving=False, why="none is ready"))], 0),
}


@pytest.mark.parametrize(("weight", "mixtures", "achieved"), READY.values(), ids=READY)
def test_it_is_as_it_shall_be_when(weight, mixtures, achieved):
    told = led(RELEASE, "eu", weight, mixtures)
    assert (told.verdict.ready, told.facts) == (True, {"achievedTraffic": achieved})


WAITING = {
    "nothing was mixed": (10, [], 0, "no address of its Service is known yet"),
    "it is not in the mixture": (10, [mixture()], 0, "its Service has no address under which shop/web could lead"),
    "it does not serve": (
        10,
        [mixture(entry(10, serving=False, why="none of its endpoints is ready"))],
        0,
        "shop/web leads no clients to it: none of its endpoints is ready",
    ),
    "it is led to by another weight": (
        50,
        [mixture(entry(10))],
        10,
        "shop/web leads clients to it by its weight of before",
    ),
    "one of two names lags behind": (
        50,
        [mixture(entry(50)), mixture(entry(10), name="old")],
        10,
        "shop/old leads clients to it by its weight of before",
    ),
    "it is led to and should not be": (0, [mixture(entry(50))], 50, "shop/web leads clients to it: for the moment"),
    "it is led to since nobody else serves": (
        0,
        [mixture(entry(0, why="nobody who should be led to serves"))],
        0,
        "shop/web leads clients to it: nobody who should be led to serves",
    ),
    "resolvers may still have its address": (
        0,
        [mixture(leaving={("eu", RELEASE): UNTIL})],
        0,
        "answers that resolvers keep may lead clients to it until 2023-11-14T22:13:20Z",
    ),
}


@pytest.mark.parametrize(("weight", "mixtures", "achieved", "message"), WAITING.values(), ids=WAITING)
def test_it_waits_while(weight, mixtures, achieved, message):
    told = led(RELEASE, "eu", weight, mixtures)
    assert (told.verdict.ready, told.verdict.reason) == (False, "InProgress")
    assert told.verdict.message.startswith(message)
    assert told.facts == {"achievedTraffic": achieved}
