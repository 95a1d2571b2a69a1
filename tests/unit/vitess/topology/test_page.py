"""The page about topology and tablets: every line has tests, and those exist."""

import re

from tests.unit.defined_tests import CHECKOUT, names_in

REFERENCE = (CHECKOUT / "docs/reference/vitess-topology.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([0-9E, ]+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)`")
LINES = [*range(35, 39), *range(59, 66), 73, *range(75, 79), *range(80, 87)]


def test_every_line_of_topology_and_tablets_has_a_test_that_exists():
    rows = ROW.findall(REFERENCE)
    told = [int(word) for lines, _, _ in rows for word in lines.split(", ") if word.isdigit()]
    assert told == LINES
    assert [lines for lines, _, tests in rows if not NAMED.search(tests)] == []
    assert [name for path, name in NAMED.findall(REFERENCE) if name not in names_in(path)[0]] == []
