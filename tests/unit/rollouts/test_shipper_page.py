"""The page that says which test holds Hanse to each behaviour of Shipper."""

import re

from tests.unit.defined_tests import CHECKOUT, names_in

PAGE = (CHECKOUT / "docs/reference/shipper.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
LINES = [*range(1, 83)]


def test_every_line_is_on_the_page_once_and_has_a_test():
    rows = ROW.findall(PAGE)
    assert [int(line) for line, _, _ in rows] == LINES
    assert [line for line, _, tests in rows if not NAMED.search(tests)] == []


def test_every_test_on_the_page_exists():
    missing = []
    for path, name, case in NAMED.findall(PAGE):
        names, text = names_in(path)
        if name not in names or (case and f'"{case}"' not in text):
            missing.append(f"{path}::{name}[{case}]")
    assert missing == []
