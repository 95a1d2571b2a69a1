"""The page that says which test holds Hanse to each behaviour of Admiralty, and the words on the front page."""

import re

from hanse.api.admiralty import keys
from tests.unit.defined_tests import CHECKOUT, names_in

PAGE = (CHECKOUT / "docs/reference/admiralty.md").read_text(encoding="utf-8")
FRONT = (CHECKOUT / "docs/reference/pods.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
LINES = [*range(1, 76)]


def test_every_line_is_on_the_page_once_and_has_a_test():
    rows = ROW.findall(PAGE)

    assert [int(line) for line, _, _ in rows] == LINES
    assert [line for line, _, tests in rows if not NAMED.search(tests)] == []


def test_every_test_on_the_page_exists():
    missing = [f"{path}::{name}" for path, name, _ in NAMED.findall(PAGE) if name not in names_in(path)[0]]

    assert missing == []


def test_every_annotation_that_users_write_is_on_the_front_page():
    words = {*keys.USER_ANNOTATIONS, keys.GANG, keys.FOLLOW, keys.LOST_AFTER, keys.AUTOSCALES, keys.JOB_MANAGER}

    assert [word for word in sorted(words) if f"`{word}" not in FRONT and word not in FRONT] == []


def test_every_page_that_the_front_page_leads_to_is_there():
    led = {path for path in re.findall(r"\]\(([^)#]+)", FRONT) if not path.startswith("http")}

    assert [path for path in sorted(led) if not (CHECKOUT / "docs/reference" / path).exists()] == []
