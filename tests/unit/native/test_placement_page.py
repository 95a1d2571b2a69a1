"""What docs/reference/placement.md shows is what happens."""

import re
from pathlib import Path

import pytest
import yaml

from hanse.api.policies import DIVISIONS, PLACEMENT_POLICY_CRD
from hanse.placement.policy import read_policy

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "placement.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_policy_on_the_page_can_be_followed():
    (text,) = blocks("yaml")

    policy = read_policy(yaml.safe_load(text))

    assert policy.problem == ""
    assert policy.targets
    assert policy.overrides


def test_the_function_on_the_page_passes_its_own_test():
    (text,) = blocks("python")
    names = {}
    exec(text, names)

    names["test_the_shop_stays_in_europe"]()

    exec(text.replace('{"paris": 4}', '{"boston": 4}'), names)
    with pytest.raises(AssertionError):
        names["test_the_shop_stays_in_europe"]()


def test_every_field_and_division_is_on_the_page():
    spec = PLACEMENT_POLICY_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    listed = {match.removesuffix("[]") for match in re.findall(r"^\| `([a-zA-Z\[\]]+)`", PAGE, re.MULTILINE)}

    assert set(spec["properties"]) | set(DIVISIONS) == listed
