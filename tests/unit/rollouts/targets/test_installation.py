"""When a release counts as installed in a cluster."""

import pytest

from hanse.api.names import RENDERED_ANNOTATION
from hanse.propagation.report import Row
from hanse.rollouts.targets.installation import PieceFacts, installed

NAME = 'Service "shop/web"'


def copy(digest="1", **metadata):
    return {"metadata": {"name": "web", "annotations": {RENDERED_ANNOTATION: digest}, **metadata}}


def row(wanted="1", observed="1", *, live=True, **said):
    return Row("east", wanted and copy(wanted), observed and copy(observed), live, **said)


def piece(found=None, **facts):
    return PieceFacts(NAME, {} if found is None else {"east": found}, **facts)


INSTALLED = {
    "as it shall be": piece(row()),
    "spoken for by a newer release that is there too": piece(row("2", None), superseded=True),
    "the size of a Deployment is another matter": piece(row("2", "1"), scaled=True),
    "a note on what is as it shall be": piece(row(trouble="the cluster changes what was applied")),
}


@pytest.mark.parametrize("found", INSTALLED.values(), ids=INSTALLED)
def test_what_is_installed(found):
    assert installed("east", [found]).ready


GOING = Row("east", copy(), copy(deletionTimestamp="2026-01-01T00:00:00Z"), True)
MISSING = {
    "not there": (piece(row(observed=None)), "InProgress", f"waiting for {NAME}"),
    "nothing known": (piece(), "InProgress", f"waiting for {NAME}"),
    "an older rendering": (piece(row("2", "1")), "InProgress", f"waiting for {NAME}"),
    "on its way out": (piece(GOING, scaled=True), "InProgress", f"waiting for {NAME}"),
    "not wanted there yet": (piece(row(wanted=None)), "InProgress", f"waiting for {NAME}"),
    "refused": (piece(row(observed=None, trouble="no namespace")), "InternalError", f"{NAME}: no namespace"),
    "held": (piece(row(wanted=None, observed=None, held="not yet")), "InternalError", f"{NAME}: not yet"),
    "spoken for by others": (piece(problem="it is theirs"), "InternalError", f"{NAME}: it is theirs"),
    "spoken for by a newer release that is elsewhere": (
        piece(row(wanted=None, observed=None), superseded=True),
        "InternalError",
        f"{NAME} is not kept here: a newer release speaks for it, which is not in this cluster",
    ),
    "somebody else's": (
        piece(row(observed=None, trouble="an object is there", reason="AlreadyExists")),
        "InternalError",
        f"{NAME} cannot be updated as it does not belong to the application: an object is there",
    ),
}


@pytest.mark.parametrize(("found", "reason", "message"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_said(found, reason, message):
    verdict = installed("east", [piece(row()), found])

    assert (verdict.ready, verdict.operational, verdict.reason, verdict.message) == (False, True, reason, message)


def test_what_a_cluster_had_that_cannot_be_asked_counts_for_nothing():
    verdict = installed("east", [piece(row(live=False, trouble="its services cannot be followed"))])

    assert not verdict.operational
    assert verdict.message == f"{NAME}: its services cannot be followed"


def test_what_will_not_mend_itself_is_named_before_what_is_on_its_way():
    waiting, refused = piece(), piece(row(observed=None, trouble="no"))

    assert installed("east", [waiting, refused]).reason == "InternalError"
    assert installed("east", [waiting] * 5).message == f"waiting for {NAME}, {NAME}, {NAME} and 2 more"
