"""The page about the first Vitess operator: its lines have tests that exist, and its commands are those tried."""

import re

from tests.behaviour.vitess_first import APPLY_CLUSTER, APPLY_OPERATOR, CREATE_HOOKS, DOOR_KINDS, IS_READY, PAGE
from tests.unit.defined_tests import CHECKOUT, names_in
from tests.unit.vitess.first.requests import FOLDER

REFERENCE = (CHECKOUT / "docs/reference/vitess-first-generation.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)`")


def test_every_line_of_the_operator_has_a_test_that_exists():
    rows = ROW.findall(REFERENCE)

    assert [int(line) for line, _, _ in rows] == [*range(109, 116)]
    assert [line for line, _, tests in rows if not NAMED.search(tests)] == []
    assert [name for path, name in NAMED.findall(REFERENCE) if name not in names_in(path)[0]] == []


def test_the_guide_has_the_commands_that_are_tried():
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")

    for command in (CREATE_HOOKS, APPLY_OPERATOR, APPLY_CLUSTER, IS_READY):
        assert f"$ {command}\n" in guide
    assert PAGE in guide
    assert DOOR_KINDS in REFERENCE
