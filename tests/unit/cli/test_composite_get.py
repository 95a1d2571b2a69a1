"""The lambda controllers of clusters as a table."""

import pytest

from hanse.cli.composite_get import rows_of


def controller(kind="CompositeController", spec=None, **ready):
    told = {"conditions": [{"type": "Ready", **ready}]} if ready else {}
    spec = spec or {"parentResource": {"apiVersion": "example.com/v1", "resource": "cats"}}
    return {"kind": kind, "metadata": {"name": "cats"}, "spec": spec, "status": told}


@pytest.mark.parametrize(
    ("obj", "is_open", "shown"),
    [
        (controller(status="True", message="the hooks are called"), True, ["cats.example.com", "True", ""]),
        (controller(status="False", message="no such kind"), True, ["cats.example.com", "False", "no such kind"]),
        (controller(), True, ["cats.example.com", "Unknown", "nobody has looked at it yet"]),
        (
            controller(status="True", message="it was well"),
            False,
            ["cats.example.com", "Unknown", "the door of eu is closed: `hanse doors enable composites --cluster eu`"],
        ),
        (
            controller("DecoratorController", {"resources": [{"apiVersion": "v1", "resource": "pods"}]}, status="True"),
            True,
            ["pods", "True", ""],
        ),
    ],
)
def test_a_controller_shows_its_parents_and_why_it_does_not_run(obj, is_open, shown):
    (row,) = rows_of("eu", [obj], is_open=is_open)

    assert row.cells() == ["eu", obj["kind"], "cats", *shown]
    assert row.document()["ready"] == shown[1]
