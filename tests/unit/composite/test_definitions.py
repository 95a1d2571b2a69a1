"""Metacontroller's kinds as they are defined on a host: names, columns, and words for every field."""

from collections.abc import Iterator
from typing import Any

import pytest

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS

CRDS = {crd["spec"]["names"]["plural"]: crd for crd in METACONTROLLER_CRDS}


@pytest.mark.parametrize(
    ("plural", "short", "scope", "shown"),
    [
        ("compositecontrollers", ["cc", "cctl"], "Cluster", ["Parent", "Ready", "Objects", "Why", "Age"]),
        ("decoratorcontrollers", ["dec", "decorators"], "Cluster", ["Ready", "Objects", "Why", "Age"]),
        ("mapcontrollers", ["mapc"], "Cluster", ["Parent", "Ready", "Objects", "Why", "Age"]),
        ("controllerrevisions", None, "Namespaced", ["Parent", "Age"]),
    ],
)
def test_a_kind_has_metacontrollers_names_and_hanses_columns(plural, short, scope, shown):
    spec = CRDS[plural]["spec"]
    (version,) = spec["versions"]

    assert (spec["group"], version["name"], spec["scope"]) == ("metacontroller.k8s.io", "v1alpha1", scope)
    assert (spec["names"].get("shortNames"), spec["names"]["categories"]) == (short, ["metacontroller"])
    assert [column["name"] for column in version["additionalPrinterColumns"]] == shown
    assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("crd", METACONTROLLER_CRDS, ids=list(CRDS))
def test_a_kind_of_a_protected_group_says_that_nobody_approved_it(crd):
    assert crd["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved")


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
        yield from fields(field.get("items", {}), f"{path}.{name}")


@pytest.mark.parametrize("crd", METACONTROLLER_CRDS, ids=list(CRDS))
def test_every_field_is_explained(crd):
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    silent = [path for path, field in fields(schema) if not field.get("description")]

    assert [path for path in silent if not path.startswith(".status.conditions.")] == [
        ".apiVersion",
        ".kind",
        ".metadata",
    ]


@pytest.mark.parametrize("crd", METACONTROLLER_CRDS, ids=list(CRDS))
def test_a_definition_is_small_enough_for_kubectl_apply(crd):
    # It is kept once more in an annotation, and all annotations together have 256 KiB at most.
    assert len(repr(crd)) < 100_000
