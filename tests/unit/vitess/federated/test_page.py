"""The page about Vitess over many clusters: every line has tests, and those exist."""

import re

from tests.unit.defined_tests import CHECKOUT, names_in

REFERENCE = (CHECKOUT / "docs/reference/vitess.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([0-9, ]+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)`")


def test_every_line_of_the_federation_has_a_test_that_exists():
    rows = ROW.findall(REFERENCE)
    told = [int(word) for lines, _, _ in rows for word in lines.split(", ")]
    assert told == [*range(92, 109)]
    assert [lines for lines, _, tests in rows if not NAMED.search(tests)] == []
    assert [name for path, name in NAMED.findall(REFERENCE) if name not in names_in(path)[0]] == []
