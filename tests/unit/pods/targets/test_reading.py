"""Targets read into values; the numbers are lines of the checklist."""

import pytest

from hanse.api.admiralty.keys import AUTOSCALES
from hanse.api.admiralty.names import TargetName
from hanse.kube.manifest import Key
from hanse.pods.targets.reading import Credentials, read_target
from tests.unit.pods.targets.cases import manifest

ILL_FORMED = [
    ("53 both", {"self": True, "kubeconfigSecret": {"name": "s"}}, "it has self and kubeconfigSecret"),
    ("53 neither", {}, "it has none of them"),
    ("all three", {"self": True, "kubeconfigSecret": {"name": "s"}, "clusterName": "eu"}, "and clusterName"),
    ("self is false", {"self": False}, "it has none of them"),
    ("self is a word", {"self": "yes"}, "spec.self must be true"),
    ("no spec", None, "it is empty"),
    ("spec is a list", [], "it is empty"),
    ("an empty secret", {"kubeconfigSecret": {}}, "spec.kubeconfigSecret.name"),
    ("a secret that is a word", {"kubeconfigSecret": "s"}, "must name a Secret"),
    ("an odd key", {"kubeconfigSecret": {"name": "s", "key": 3}}, "spec.kubeconfigSecret.key must be a text"),
    ("an odd cluster", {"clusterName": {"name": "eu"}}, "spec.clusterName must be the name"),
]


@pytest.mark.parametrize(("spec", "why"), [case[1:] for case in ILL_FORMED], ids=[case[0] for case in ILL_FORMED])
def test_an_ill_formed_target_is_a_sentence_that_names_the_field(spec, why):
    assert why in read_target(manifest(spec)).trouble


@pytest.mark.parametrize(
    ("spec", "credentials"),
    [
        ({"name": "s"}, Credentials(Key("default", "s"), "config", "")),
        ({"name": "s", "key": "k", "context": "c"}, Credentials(Key("default", "s"), "k", "c")),
        ({"name": "s", "namespace": "other"}, Credentials(Key("default", "s"), "config", "")),
    ],
    ids=["55 defaults", "55 named", "a namespaced target stays in its namespace"],
)
def test_credentials_are_a_secret_a_key_and_a_context(spec, credentials):
    read = read_target(manifest({"kubeconfigSecret": spec}))

    assert (read.credentials, read.trouble) == (credentials, "")


def test_a_cluster_target_names_the_namespace_of_its_secret():
    read = read_target(manifest({"kubeconfigSecret": {"name": "s", "namespace": "other"}}, namespace=""))
    lacking = read_target(manifest({"kubeconfigSecret": {"name": "s"}}, namespace=""))

    assert read.credentials == Credentials(Key("other", "s"))
    assert "spec.kubeconfigSecret.namespace" in lacking.trouble


def test_a_target_is_itself_or_a_registered_cluster():
    assert read_target(manifest({"self": True})).itself
    assert read_target(manifest({"clusterName": "eu"}, namespace="")).cluster == "eu"
    # What says nothing is nothing: a template that leaves fields empty is well-formed.
    assert not read_target(manifest({"clusterName": "eu", "self": False})).trouble


def test_names_are_those_of_virtual_nodes_and_finalizers():
    read = read_target(manifest({"self": True}))

    assert read.name == TargetName("default", "c2")
    assert (read.name.node, read.name.finalizer) == ("admiralty-default-c2", "multicluster.admiralty.io/default-c2")


@pytest.mark.parametrize(
    ("pattern", "used", "warned"),
    [(None, "", False), ("", "", False), ("^a=", "^a=", False), ("?!foo", "", True), (7, "", True)],
    ids=["none", "empty", "good", "59 bad", "59 no text"],
)
def test_a_pattern_that_does_not_compile_leaves_no_label_out_and_is_told(pattern, used, warned):
    read = read_target(manifest({"self": True, "excludedLabelsRegexp": pattern}))

    assert (read.excluded_labels, bool(read.warning), read.trouble) == (used, warned, "")


def test_its_owner_says_that_a_target_makes_nodes_for_pods_that_wait():
    assert read_target(manifest({"self": True}, annotations={AUTOSCALES: "true"})).autoscales
    assert not read_target(manifest({"self": True}, annotations={AUTOSCALES: "no"})).autoscales
