"""The page about the operator: every line has tests, and those exist."""

import re

from tests.unit.defined_tests import CHECKOUT, names_in

REFERENCE = (CHECKOUT / "docs/reference/vitess-operator.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([0-9, ]+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)`")
LINES = [*range(1, 35), *range(39, 59), *range(66, 75), 79, *range(87, 92)]


def test_every_line_of_the_operator_has_a_test_that_exists():
    rows = ROW.findall(REFERENCE)
    told = [int(word) for lines, _, _ in rows for word in lines.split(", ")]
    assert told == LINES
    assert [lines for lines, _, tests in rows if not NAMED.search(tests)] == []
    assert [name for path, name in NAMED.findall(REFERENCE) if name not in names_in(path)[0]] == []
