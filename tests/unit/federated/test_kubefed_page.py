"""The page that says which test holds Hanse to each behaviour of KubeFed."""

import re

from tests.unit.defined_tests import CHECKOUT, names_in

PAGE = (CHECKOUT / "docs/reference/kubefed.md").read_text(encoding="utf-8")
DECISION = (CHECKOUT / "docs/decisions/0011-kubefed-quirks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
# DNS, from line 129 on, belongs to federated services.
LINES = [*range(1, 129)]


def test_every_line_is_on_the_page_once_and_has_a_test_or_was_decided_against():
    rows = ROW.findall(PAGE)
    assert [int(line) for line, _, _ in rows] == LINES
    assert {line for line, _, tests in rows if not NAMED.search(tests)} == {"67"}


def test_every_test_on_the_page_exists():
    missing = []
    for path, name, case in NAMED.findall(PAGE):
        names, text = names_in(path)
        if name not in names or (case and f'"{case}"' not in text):
            missing.append(f"{path}::{name}[{case}]")
    assert missing == []


def test_what_departs_is_in_the_decision():
    departing = {line for line, what, _ in ROW.findall(PAGE) if "0011-kubefed-quirks" in what}
    assert departing == {"17", "59", "67", "73", "100", "110", "116", "117", "118"}
    assert [line for line in departing if not re.search(rf"\b{line}\b", DECISION)] == []
