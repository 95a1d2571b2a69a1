"""The guide to the first Vitess operator: its commands are those that are tried."""

from tests.behaviour.vitess_first import APPLY_CLUSTER, APPLY_OPERATOR, CREATE_HOOKS, DOOR_KINDS, IS_READY, PAGE
from tests.unit.defined_tests import CHECKOUT
from tests.unit.vitess.first.requests import FOLDER

REFERENCE = (CHECKOUT / "docs/reference/vitess-first-generation.md").read_text(encoding="utf-8")


def test_the_guide_has_the_commands_that_are_tried():
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")

    for command in (CREATE_HOOKS, APPLY_OPERATOR, APPLY_CLUSTER, IS_READY):
        assert f"$ {command}\n" in guide
    assert PAGE in guide
    assert DOOR_KINDS in REFERENCE
