"""Differences are told field by field; a digest is the same for the same manifest."""

from hanse.kube.patches.differences import Difference, differences, digest
from hanse.kube.schemas import schema_for


def pod(**containers):
    return {"spec": {"containers": [{"name": name, "image": image} for name, image in containers.items()]}}


def test_equal_manifests_have_none():
    assert list(differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})) == []


def test_each_field_has_its_path_and_both_values():
    old = {"spec": {"replicas": 3, "paused": True}, "metadata": {"labels": {"a": "1"}}}
    new = {"spec": {"replicas": 5}, "metadata": {"labels": {"a": "1", "b": "2"}}}

    assert list(differences(old, new)) == [
        Difference("metadata.labels.b", None, "2"),
        Difference("spec.paused", True, None),
        Difference("spec.replicas", 3, 5),
    ]


def test_keyed_lists_are_matched_by_key():
    found = list(differences(pod(web="1", log="1"), pod(mesh="1", web="2"), schema_for("", "v1", "Pod")))

    assert found == [
        Difference("spec.containers[name=web].image", "1", "2"),
        Difference("spec.containers[name=log]", {"name": "log", "image": "1"}, None),
        Difference("spec.containers[name=mesh]", None, {"name": "mesh", "image": "1"}),
    ]


def test_other_lists_are_matched_by_place():
    assert list(differences({"a": [1, 2]}, {"a": [1, 3, 4]})) == [
        Difference("a[1]", 2, 3),
        Difference("a[2]", None, 4),
    ]


def test_a_digest_does_not_depend_on_the_order_of_fields():
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
