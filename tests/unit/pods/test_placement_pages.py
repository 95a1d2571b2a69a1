"""What the pages on placement and on whole Jobs show is placed as they say."""

import re
from pathlib import Path

import pytest
import yaml

from hanse.api.admiralty.names import TargetName
from hanse.pods.jobs.door import JobDoor
from hanse.pods.wishes.company import company_terms, in_company
from hanse.pods.wishes.placement import placement_of
from tests.unit.pods.wishes.scenes import EU, FLEET, US, beside, decided, placeholder

PAGES = Path(__file__).parents[3] / "docs" / "reference"


def shown(page):
    blocks = re.findall(r"^```yaml\n(.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)
    return {obj["metadata"]["name"]: obj for obj in map(yaml.safe_load, blocks)}


@pytest.mark.parametrize(("name", "target"), [("train", EU), ("web", US)])
def test_the_pods_of_the_page_are_placed(name, target):
    pod = shown("pods-placement.md")[name]
    own = placeholder(name, labels=pod["metadata"].get("labels"))
    others = [beside(EU, "other", labels={"app": "web"})]
    terms = company_terms(pod, own, others, FLEET)
    placement = in_company(placement_of(pod, own, [each.name for each in FLEET]), terms)
    assert decided(placement).chosen() == [target]


def test_the_job_of_the_page_is_placed():
    class Targets:
        def targets(self):
            return [TargetName("", EU), TargetName("", US)]

        def is_self(self, _name):
            return False

    job = shown("pods-jobs.md")["report"]
    job["metadata"]["uid"] = "u"
    door = JobDoor("", Targets())
    assert door.admits(job)
    assert decided(door.translate(job).placement).chosen() == [EU]
