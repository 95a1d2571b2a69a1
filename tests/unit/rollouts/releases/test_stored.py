"""Which releases of an application's name count."""

from hanse.rollouts.releases.stored import company


def release(name, owner="u1", generation="0", **metadata):
    owners = [{"kind": "Application", "name": "app", "uid": owner}] if owner else []
    annotations = {"shipper.booking.com/release.generation": generation}
    return {"metadata": {"name": name, "ownerReferences": owners, "annotations": annotations, **metadata}}


APPLICATION = {"metadata": {"name": "app", "uid": "u1"}}


def names(releases):
    return [each["metadata"]["name"] for each in releases]


def test_deleted_releases_and_those_of_an_earlier_application_are_nobodys_neighbours():
    gone = release("gone", deletionTimestamp="2030-01-01T00:00:00Z")
    found = company([release("own"), release("loose", ""), gone, release("former", "u0")], APPLICATION)

    assert (names(found.living), names(found.leaving)) == (["own", "loose"], ["gone"])
    assert found.head is found.living[-1]
    assert names(company([release("former", "u0")], None).living) == ["former"]


def test_a_release_without_a_readable_generation_has_no_place():
    odd = release("odd", generation="many")

    assert company([release("own"), odd], APPLICATION).misplaced() is odd
    assert company([release("own")], APPLICATION).misplaced() is None
