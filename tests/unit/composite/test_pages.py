"""The pages about lambda controllers: every line of the sheet has tests that exist, and the examples can be read."""

import re

import pytest
import yaml

from hanse.api.metacontroller.definitions import COMPOSITE_CONTROLLER_CRD
from hanse.cli.composite_files import read_local
from hanse.composite.reading import read_controller
from hanse.composite.spec import ControllerSpec, Sort
from tests.behaviour.composite_lines import LINES
from tests.unit.defined_tests import CHECKOUT, names_in

PAGE = (CHECKOUT / "docs/reference/metacontroller.md").read_text(encoding="utf-8")
FRONT = (CHECKOUT / "docs/reference/composites.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
BLOCK = re.compile(r"^```(\w+)\n(.+?)^```", re.MULTILINE | re.DOTALL)


def test_every_line_is_on_the_page_once_and_has_a_test():
    rows = ROW.findall(PAGE)

    assert [int(line) for line, _, _ in rows] == [*range(1, 59)]
    assert [line for line, _, tests in rows if not NAMED.search(tests)] == []


def test_every_line_is_tried_on_the_embedded_and_on_a_real_api_server():
    told = {int(name.split("_")[1]) for name in LINES}
    told |= {
        int(line) for function in LINES.values() for line in re.findall(r"Line (\d+), too", function.__doc__ or "")
    }

    assert told == {*range(1, 59)}


def test_every_test_on_the_page_exists():
    missing = [f"{path}::{name}" for path, name, _ in NAMED.findall(PAGE) if name not in names_in(path)[0]]

    assert missing == []


def test_the_controller_on_the_front_page_can_be_read():
    (written,) = [yaml.safe_load(text) for language, text in BLOCK.findall(FRONT) if language == "yaml"]

    assert isinstance(read_controller(written), ControllerSpec)


def test_the_python_file_on_the_front_page_says_what_it_controls(tmp_path):
    (text,) = [text for language, text in BLOCK.findall(FRONT) if language == "python" and "CONTROLLER" in text]
    (tmp_path / "cats.py").write_text(text)

    spec = read_local(tmp_path / "cats.py", "FILE").spec

    assert (spec.sort, spec.name, spec.hooks.sync is not None) == (Sort.COMPOSITE, "cats", True)


@pytest.mark.parametrize("path", [["hooks"], ["childResources", "items", "updateStrategy", "rollout"]])
def test_every_hook_and_every_setting_of_a_rollout_is_on_the_front_page(path):
    schema = COMPOSITE_CONTROLLER_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for step in path:
        schema = schema["items"] if step == "items" else schema["properties"][step]

    assert [name for name in schema["properties"] if f"`{name}`" not in FRONT] == []


def test_every_page_that_the_pages_lead_to_is_there():
    led = {path for page in (PAGE, FRONT) for path in re.findall(r"\]\(([^)#]+)", page)}

    assert [path for path in sorted(led) if not (CHECKOUT / "docs/reference" / path).exists()] == []
