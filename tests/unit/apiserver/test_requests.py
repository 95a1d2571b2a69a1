"""Paths, verbs, forms and names, as tables."""

from __future__ import annotations

import pytest

from hanse.apiserver.jsonpath import JsonPath
from hanse.apiserver.negotiation import Form, accepted_form, wants_aggregated_discovery
from hanse.apiserver.registry import version_priority
from hanse.apiserver.requests import Options, ResourcePath, parse_path, verb_of
from hanse.apiserver.tables.columns import duration
from hanse.kube.errors import ApiError
from hanse.kube.names import name_problems

PATHS = [
    ("/api/v1/pods", ResourcePath("", "v1", "", "pods")),
    ("/api/v1/namespaces", ResourcePath("", "v1", "", "namespaces")),
    ("/api/v1/namespaces/a", ResourcePath("", "v1", "a", "namespaces", "a")),
    ("/api/v1/namespaces/a/status", ResourcePath("", "v1", "a", "namespaces", "a", "status")),
    ("/api/v1/namespaces/a/finalize", ResourcePath("", "v1", "a", "namespaces", "a", "finalize")),
    ("/api/v1/namespaces/a/pods/p/log", ResourcePath("", "v1", "a", "pods", "p", "log")),
    ("/apis/apps/v1/namespaces/a/deployments", ResourcePath("apps", "v1", "a", "deployments")),
    ("/apis/apps/v1/namespaces/a/deployments/d/scale", ResourcePath("apps", "v1", "a", "deployments", "d", "scale")),
    ("/apis/apps/v1", ResourcePath("apps", "v1")),
    ("/apis/apps", None),
    ("/healthz", None),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_paths_name_kind_namespace_object_and_part(path: str, expected: ResourcePath | None) -> None:
    assert parse_path(path) == expected


VERBS = [
    ("GET", "/api/v1/pods", (), "list"),
    ("GET", "/api/v1/pods", (("watch", "true"),), "watch"),
    ("GET", "/api/v1/pods", (("watch", "0"),), "list"),
    ("GET", "/api/v1/namespaces/a/pods/p", (), "get"),
    ("POST", "/api/v1/namespaces/a/pods", (), "create"),
    ("DELETE", "/api/v1/namespaces/a/pods", (), "deletecollection"),
    ("DELETE", "/api/v1/namespaces/a/pods/p", (), "delete"),
    ("PATCH", "/api/v1/namespaces/a/pods/p", (), "patch"),
]


@pytest.mark.parametrize(("method", "path", "query", "expected"), VERBS)
def test_methods_become_verbs(method: str, path: str, query: tuple[tuple[str, str], ...], expected: str) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    assert verb_of(method, parsed, Options(query)) == expected


FORMS = [
    ("", Form()),
    ("*/*", Form()),
    ("application/vnd.kubernetes.protobuf,application/json", Form()),
    ("application/yaml", Form("application/yaml")),
    ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form(view="Table")),
    ("application/json;as=Other;v=v1;g=meta.k8s.io,application/json", Form()),
    ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Form(view="PartialObjectMetadata")),
]


@pytest.mark.parametrize(("accept", "expected"), FORMS)
def test_the_first_form_that_can_be_given_is_chosen(accept: str, expected: Form) -> None:
    assert accepted_form(accept) == expected


def test_a_form_that_nobody_serves_is_not_acceptable() -> None:
    with pytest.raises(ApiError) as refused:
        accepted_form("text/html")
    assert refused.value.code == 406


def test_aggregated_discovery_is_recognised_by_its_accept_header() -> None:
    assert wants_aggregated_discovery(
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    )
    assert not wants_aggregated_discovery("application/json")


NAMES = [
    ("a.b", "subdomain", True),
    ("a.b", "label", False),
    ("1a", "service", False),
    ("1a", "label", True),
    ("a" * 64, "label", False),
    ("system:node:x", "path", True),
    ("a/b", "path", False),
    ("..", "path", False),
]


@pytest.mark.parametrize(("name", "rule", "right"), NAMES)
def test_names_follow_their_kinds_rule(name: str, rule: str, right: bool) -> None:
    assert (not name_problems(name, rule)) is right  # type: ignore[arg-type]


DURATIONS = [
    (0, "0s"),
    (119, "119s"),
    (120, "2m"),
    (150, "2m30s"),
    (600, "10m"),
    (10_799, "179m"),
    (3 * 3600, "3h"),
    (3 * 3600 + 300, "3h5m"),
    (8 * 3600, "8h"),
    (48 * 3600, "2d"),
    (50 * 3600, "2d2h"),
    (8 * 86400, "8d"),
    (800 * 86400, "2y70d"),
    (4000 * 86400, "10y"),
]


@pytest.mark.parametrize(("seconds", "expected"), DURATIONS)
def test_ages_read_as_kubectl_prints_them(seconds: int, expected: str) -> None:
    assert duration(seconds) == expected


OBJECT = {
    "spec": {"a.b": 1, "list": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}
JSON_PATHS = [
    (".spec.list[0].v", [1]),
    (".spec.list[*].v", [1, 2]),
    (".spec.list[-1:].k", ["y"]),
    ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
    (".spec.list[?(@.v>1)].k", ["y"]),
    (r".spec.a\.b", [1]),
    ("{.spec['a.b']}", [1]),
    ("$..k", ["x", "y"]),
    (".spec.missing.deep", []),
]


@pytest.mark.parametrize(("path", "expected"), JSON_PATHS)
def test_printer_column_paths_find_what_they_name(path: str, expected: list[object]) -> None:
    assert JsonPath.parse(path).find(OBJECT) == expected


def test_versions_are_ordered_by_maturity() -> None:
    versions = ["v1alpha1", "v1", "foo", "v2beta1", "v10", "v1beta2", "v2"]
    assert sorted(versions, key=version_priority, reverse=True) == [
        "v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo",
    ]  # fmt: skip
