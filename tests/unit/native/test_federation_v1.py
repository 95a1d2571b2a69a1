"""The page that says which test holds Hanse to each behaviour of federation v1, and behaviours that need no more."""

import re

from hanse.kube.resources import DEPLOYMENTS
from hanse.native.template import template_of
from tests.unit.defined_tests import CHECKOUT, names_in

PAGE = (CHECKOUT / "docs/reference/federation-v1.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[^`:]+)::([^`\[]+)(?:\[([^`]+)\])?`")
FEATURES = {"federated types", "installing a host"}
LINES = 110


def test_every_line_is_on_the_page_once_and_has_a_test_or_a_feature():
    rows = ROW.findall(PAGE)

    assert [int(line) for line, _, _ in rows] == list(range(1, LINES + 1))
    assert {tests for _, _, tests in rows if not NAMED.search(tests)} == FEATURES


def test_every_test_on_the_page_exists():
    missing = []
    for path, name, case in NAMED.findall(PAGE):
        names, text = names_in(path)
        if name not in names or (case and f'"{case}"' not in text):
            missing.append(f"{path}::{name}[{case}]")

    assert missing == []


def test_a_deployment_that_differs_in_its_revision_alone_is_not_written():
    """Line 70: what goes into members is the same, so that there is nothing to write."""

    def deployment(**annotations):
        metadata = {"name": "web", "namespace": "default", "annotations": annotations}
        return {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "metadata": metadata, "spec": {}}

    revision = {"deployment.kubernetes.io/revision": "7"}

    assert template_of(deployment(**revision, mine="1")) == template_of(deployment(mine="1"))
    assert template_of(deployment(**revision, mine="2")) != template_of(deployment(mine="1"))
