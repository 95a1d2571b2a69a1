"""The pages about Vitess: together they tell of every line of the sheet, each with tests that exist."""

import re

import pytest

from tests.unit.defined_tests import CHECKOUT, names_in

ROW = re.compile(r"^\| ([0-9E, ]+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)`")
PAGES = ("vitess-operator", "vitess-topology", "vitess", "vitess-first-generation")


def _text(page: str) -> str:
    return (CHECKOUT / f"docs/reference/{page}.md").read_text(encoding="utf-8")


def test_every_line_is_on_one_of_the_pages():
    told = [word for page in PAGES for lines, _, _ in ROW.findall(_text(page)) for word in lines.split(", ")]
    numbers = sorted(int(word) for word in told if word.isdigit())
    # Line 73 is of the operator, which turns nothing down, and of topology, where nothing is removed.
    assert numbers == sorted([*range(1, 116), 73])


@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_a_page_names_a_test_that_exists(page):
    text = _text(page)
    assert [lines for lines, _, tests in ROW.findall(text) if not NAMED.search(tests)] == []
    assert [name for path, name in NAMED.findall(text) if name not in names_in(path)[0]] == []
