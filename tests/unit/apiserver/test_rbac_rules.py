"""Which rules cover which others: the arithmetic behind the escalation check."""

from __future__ import annotations

import pytest

from hanse.apiserver.escalation import uncovered
from hanse.kube.manifest import Obj


def rule(verbs: str, groups: str = "", resources: str = "", names: str = "", urls: str = "") -> Obj:
    made: Obj = {"verbs": verbs.split()}
    if urls:
        return {**made, "nonResourceURLs": urls.split()}
    made |= {"apiGroups": [one.removeprefix("core") for one in groups.split()], "resources": resources.split()}
    return {**made, "resourceNames": names.split()} if names else made


CASES = [
    ("the same rule", [rule("get", "core", "pods")], rule("get", "core", "pods"), 0),
    ("another verb", [rule("get", "core", "pods")], rule("get list", "core", "pods"), 1),
    ("every verb", [rule("*", "core", "pods")], rule("get list", "core", "pods"), 0),
    ("a wildcard is not covered by names", [rule("get list", "core", "pods")], rule("*", "core", "pods"), 1),
    ("another group", [rule("get", "apps", "pods")], rule("get", "core", "pods"), 1),
    ("every group and resource", [rule("*", "*", "*")], rule("get", "apps", "deployments/scale"), 0),
    ("a subresource is not its resource", [rule("get", "core", "pods")], rule("get", "core", "pods/log"), 1),
    ("a subresource of everything", [rule("get", "apps", "*/scale")], rule("get", "apps", "deployments/scale"), 0),
    ("a name of one", [rule("get", "core", "pods", "a")], rule("get", "core", "pods", "a b"), 1),
    ("no name covers every name", [rule("get", "core", "pods")], rule("get", "core", "pods", "a"), 0),
    ("a name does not cover all", [rule("get", "core", "pods", "a")], rule("get", "core", "pods"), 1),
    (
        "several rules together",
        [rule("get", "core", "pods"), rule("list", "core", "pods")],
        rule("get list", "core", "pods"),
        0,
    ),
    ("a path", [rule("get", urls="/metrics")], rule("get", urls="/metrics /healthz"), 1),
    ("paths below", [rule("get", urls="/api/*")], rule("get", urls="/api/v1 /api/*"), 0),
    ("resources do not cover paths", [rule("*", "*", "*")], rule("get", urls="/metrics"), 1),
    ("every path", [rule("*", urls="*")], rule("get", urls="/metrics"), 0),
    ("nothing", [], rule("get list", "core apps", "pods services"), 8),
]


@pytest.mark.parametrize(("owned", "wanted", "missing"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_rules_cover_exactly_what_they_allow(owned: list[Obj], wanted: Obj, missing: int) -> None:
    assert len(uncovered(owned, [wanted])) == missing
