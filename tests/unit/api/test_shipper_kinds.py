"""Shipper's kinds as they are defined on a host: names, columns, and words for every field."""

from collections.abc import Iterator
from typing import Any

import pytest

from hanse.api.cluster_forms import FORM_CRDS
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.rollouts.environment import Remedy
from hanse.rollouts.execution import Outcome
from hanse.rollouts.execution.progress import Cause, Failure, Progress, Tally, written

CRDS = {
    crd["spec"]["names"]["plural"]: crd
    for crd in (*SHIPPER_CRDS, *FORM_CRDS)
    if crd["spec"]["group"] == "shipper.booking.com"
}
TARGET_COLUMNS = ["Operational", "Ready", "Reason", "Age"]


def columns(crd: dict[str, Any], *, wide: bool = False) -> list[str]:
    return [
        column["name"]
        for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]
        if bool(column.get("priority")) == wide
    ]


@pytest.mark.parametrize(
    ("plural", "short", "categories", "scope", "shown"),
    [
        ("applications", "app", ["all", "shipper"], "Namespaced", ["Latest Release", "Rolling Out", "Age"]),
        (
            "releases",
            "rel",
            ["all", "shipper"],
            "Namespaced",
            ["Age", "Achieved Step", "Clusters", "Waiting", "Reason", "Held"],
        ),
        ("installationtargets", "it", ["shipper"], "Namespaced", TARGET_COLUMNS),
        ("capacitytargets", "ct", ["shipper"], "Namespaced", TARGET_COLUMNS),
        ("traffictargets", "tt", ["shipper"], "Namespaced", TARGET_COLUMNS),
        ("rolloutblocks", "rb", ["all", "shipper"], "Namespaced", ["Message"]),
        ("clusters", "cl", ["shipper"], "Cluster", ["age"]),
    ],
)
def test_a_kind_has_shippers_names_and_columns(plural, short, categories, scope, shown):
    crd = CRDS[plural]
    names = crd["spec"]["names"]

    assert (names["shortNames"], names["categories"], crd["spec"]["scope"]) == ([short], categories, scope)
    assert columns(crd) == shown
    assert crd["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_a_block_shows_its_author_and_who_overrides_it_when_asked_for_more():
    assert columns(CRDS["rolloutblocks"], wide=True) == [
        "Author Type",
        "Author Name",
        "Overriding Applications",
        "Overriding Releases",
    ]


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
        yield from fields(field.get("items", {}), f"{path}.{name}")


@pytest.mark.parametrize("crd", SHIPPER_CRDS, ids=lambda crd: crd["spec"]["names"]["plural"])
def test_every_field_is_explained(crd):
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    silent = [path for path, field in fields(schema) if not field.get("description")]

    assert silent == [".apiVersion", ".kind", ".metadata"]


def test_a_release_shows_last_what_it_stands_still_for():
    shown = CRDS["releases"]["spec"]["versions"][0]["additionalPrinterColumns"][-1]

    assert shown == {"name": "Held", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Held")].message'}


def test_every_field_that_is_remembered_of_a_step_is_explained_and_others_are_kept():
    failure = Failure("why", Remedy.PAUSE, Cause.CHECK_FAILED, carried_out=True, frozen=True, overridden=True)
    tallies = {"c": Tally(1, 1, 0, 6.0, Outcome.FAILURE)}
    full = written(Progress(1, 1.0, 2.0, 3.5, 4.0, {"canary": 5.0}, tallies, failure))
    status = CRDS["releases"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    progress = status["properties"]["progress"]
    described = progress["properties"]
    tally = described["checks"]["additionalProperties"]

    assert set(described) == {*full, "waitsFor"}
    assert set(described["failure"]["properties"]) == set(full["failure"])
    assert set(tally["properties"]) == set(full["checks"]["c"])
    assert all(each["x-kubernetes-preserve-unknown-fields"] for each in (progress, described["failure"], tally))
