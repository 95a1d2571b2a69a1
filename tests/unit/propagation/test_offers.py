"""What is known of clusters that cannot be asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hanse.kube.cache import Change
from hanse.kube.manifest import Key
from hanse.kube.packing import pack
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import parse_timestamp
from hanse.placement.ask import Placement
from hanse.propagation.comparison import Absent, Present
from hanse.propagation.intent import Intent, Ref
from hanse.propagation.offers import Offers
from hanse.propagation.parts import JobParts

REF = Ref(CONFIGMAPS, Key("shop", "a"))
LEADS_SINCE = parse_timestamp("2026-01-01T12:00:00Z")
HELD = "hanse.dev/held"


def _intent(*, at_most_once: bool = True) -> Intent:
    return Intent(CONFIGMAPS, REF.key, "u", {"metadata": {}}, Placement(at_most_once=at_most_once))


def _source(uid: str = "u", created: str = "2026-01-01T12:00:01Z", **metadata: object) -> bytes:
    return pack({"metadata": {"uid": uid, "creationTimestamp": created, "finalizers": [HELD], **metadata}})


def _leading() -> Offers:
    offers = Offers()
    offers.leads(LEADS_SINCE)
    return offers


def _came(offers: Offers, source: bytes, *, listed: bool = False) -> None:
    offers.changed(REF, Change(REF.key, None, source, listed=listed), HELD)


def _left(offers: Offers, source: bytes) -> None:
    offers.changed(REF, Change(REF.key, source, None), HELD)


def _asked(offers: Offers, *clusters: str) -> None:
    offers.note(REF, _intent(), {cluster: Present({}, "u") for cluster in clusters})


def test_of_a_source_that_came_to_be_under_our_eyes_everything_is_known() -> None:
    offers = _leading()
    _came(offers, _source())
    offers.note(REF, _intent(), {"a": Present({}, "u"), "b": Absent("u")})
    assert [offers.never(REF, "u", cluster) for cluster in ("a", "b", "c")] == [False, True, True]


def test_of_one_that_was_there_before_nothing_is() -> None:
    offers = _leading()
    _asked(offers, "a")
    assert not offers.never(REF, "u", "b")


@pytest.mark.parametrize("created", ["2026-01-01T11:59:59Z", "2026-01-01T12:00:00Z", ""])
def test_one_that_was_made_before_others_ceased_to_write_may_be_anywhere(created: str) -> None:
    offers = _leading()
    _came(offers, _source(created=created))
    assert not offers.never(REF, "u", "b")


def test_before_it_leads_nothing_is_known() -> None:
    offers = Offers()
    _came(offers, _source())
    assert not offers.never(REF, "u", "b")


def test_what_a_list_brings_may_have_been_anywhere() -> None:
    offers = _leading()
    _came(offers, _source(), listed=True)
    assert not offers.never(REF, "u", "b")


def test_what_was_asked_for_is_not_forgotten_when_the_source_is_out_of_sight() -> None:
    offers = _leading()
    _came(offers, _source())
    _asked(offers, "a")
    _left(offers, _source())
    _came(offers, _source())
    assert [offers.never(REF, "u", cluster) for cluster in ("a", "b")] == [False, True]


@pytest.mark.parametrize(
    "last", [_source(deletionTimestamp="2026-01-01T12:00:09Z"), _source(finalizers=[])], ids=["deleted", "never held"]
)
def test_one_that_is_gone_is_forgotten(last: bytes) -> None:
    offers = _leading()
    _came(offers, _source())
    _left(offers, last)
    assert not offers.never(REF, "u", "b")


def test_another_source_of_the_same_name_is_another_one() -> None:
    offers = _leading()
    _came(offers, _source())
    _asked(offers, "a")
    assert not offers.never(REF, "v", "b")
    _left(offers, _source())
    _came(offers, _source("v"))
    assert offers.never(REF, "v", "a")


def test_another_source_that_was_there_before_takes_the_place_of_one_that_was_known() -> None:
    offers = _leading()
    _came(offers, _source())
    _left(offers, _source())
    _came(offers, _source("v", created="2026-01-01T11:00:00Z"))
    assert [offers.never(REF, uid, "b") for uid in ("u", "v")] == [False, False]


def test_what_may_run_twice_is_not_remembered() -> None:
    offers = _leading()
    _came(offers, _source())
    offers.note(REF, _intent(at_most_once=False), {"a": Present({}, "u")})
    assert not offers.never(REF, "u", "b")


def test_a_job_is_remembered_like_what_runs_once():
    offers = _leading()
    job = replace(_intent(at_most_once=False), parts=JobParts(1, 5))
    _came(offers, _source())

    offers.note(REF, job, {"a": Present({}, "u")})

    assert offers.never(REF, "u", "b")
    assert not offers.never(REF, "u", "a")
