"""The page that says which test holds Hanse to each behaviour of KubeFed."""

import ast
import re
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
PAGE = (CHECKOUT / "docs/reference/kubefed.md").read_text(encoding="utf-8")
DECISION = (CHECKOUT / "docs/decisions/0011-kubefed-quirks.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
# Joining, leaving and electing a leader are Hanse's own; DNS belongs to federated services.
LINES = [*range(1, 116), *range(119, 123), *range(124, 128)]


@cache
def names_in(path):
    """The names of a file's tests, those in classes with their class, and its text."""
    text = (CHECKOUT / path).read_text(encoding="utf-8")
    names = set()
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {f"{prefix}{each.name}" for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names, text


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
    assert departing == {"17", "59", "67", "73", "100", "110"}
    assert [line for line in departing if not re.search(rf"\b{line}\b", DECISION)] == []
