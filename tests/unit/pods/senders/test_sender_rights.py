"""Who gets which bindings, under which names."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.kube.manifest import Key, Obj, name_of
from hanse.pods.senders.rights import (
    Sender,
    account_of,
    bindings_of,
    sender_named,
    sender_rules,
    viewer_rules,
)


def source(name: str, namespace: str = "", **spec: Any) -> Obj:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (
            source("c1", "default", userName="u"),
            ["admiralty-source-c1", "admiralty-source-default-c1-cluster-summary-viewer"],
        ),
        (
            source("c-1", userName="u"),
            ["admiralty-cluster-source-c-1", "admiralty-cluster-source-c-1-cluster-summary-viewer"],
        ),
    ],
)
def test_bindings_are_named_as_in_admiralty(given: Obj, names: list[str]) -> None:
    assert [name_of(binding) for binding in bindings_of(given)] == names


def test_names_that_could_be_two_sources_are_told_apart() -> None:
    first, second = (
        bindings_of(each)[1] for each in (source("b-c", "a", userName="u"), source("c", "a-b", userName="u"))
    )
    assert name_of(first) != name_of(second)


@pytest.mark.parametrize(
    ("given", "account", "subjects"),
    [
        (source("s", "default", serviceAccountName="x"), Key("default", "x"), ["x"]),
        (source("s", serviceAccount={"name": "x", "namespace": "n"}), Key("n", "x"), ["x"]),
        (source("s", serviceAccount={"name": "x"}), None, []),
        (source("s", "default", userName="u"), None, ["u"]),
        (source("s", "default"), None, []),
        (source("s", "default", userName=7, serviceAccountName=["x"]), None, []),
        ({"metadata": {"name": "s"}, "spec": None}, None, []),
    ],
)
def test_who_a_source_names(given: Obj, account: Key | None, subjects: list[str]) -> None:
    found = bindings_of(given)
    assert account_of(given) == account
    assert [[each["name"] for each in binding["subjects"]] for binding in found] == ([subjects] * 2 if subjects else [])


def test_a_source_that_goes_has_no_bindings() -> None:
    going = source("s", "default", userName="u")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert bindings_of(going) == bindings_of(None) == []


@pytest.mark.parametrize("sender", [Sender("default", "home"), Sender("", "home")])
def test_a_binding_says_for_whom_it_is(sender: Sender) -> None:
    assert sender_named(str(sender)) == sender


@pytest.mark.parametrize(
    "text", ["", "Source", "Source/default/", "Source//home", "ClusterSource/default/home", "x/y/z"]
)
def test_a_binding_that_says_nothing_sensible_is_for_nobody(text: str) -> None:
    assert sender_named(text) is None


def test_a_sender_never_writes_pods_and_sees_only_summaries_of_the_whole_cluster() -> None:
    pods = [rule for rule in sender_rules() if "pods" in rule["resources"]]
    assert [rule["verbs"] for rule in pods] == [["get", "list"]]
    assert viewer_rules() == [
        {
            "apiGroups": ["multicluster.admiralty.io"],
            "resources": ["clustersummaries"],
            "verbs": ["get", "list", "watch"],
        }
    ]
