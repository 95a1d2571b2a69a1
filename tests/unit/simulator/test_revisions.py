"""Templates, hashes, revisions and what ReplicaSets note of them."""

from hanse.simulator.workloads.revisions import (
    annotations_to_write,
    forgotten_revisions,
    new_replica_set,
    next_revision,
    present_revision,
    same_template,
    template_hash,
)
from hanse.simulator.workloads.rollout import Bounds

REVISION = "deployment.kubernetes.io/revision"


def deployment(image="nginx:1", **metadata):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1", **metadata},
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": image}]}},
        },
    }


def replica_set(image="nginx:1", revision=1, replicas=0, created="1", **metadata):
    made = new_replica_set(deployment(image), revision=revision, replicas=replicas, bounds=Bounds(3, 1, 0))
    made["metadata"] |= {"creationTimestamp": created, **metadata}
    made["status"] = {"replicas": replicas, "observedGeneration": 1}
    made["metadata"].setdefault("generation", 1)
    return made


def test_a_new_replica_set_carries_its_hash_everywhere():
    made = replica_set(revision=4, replicas=2)
    suffix = template_hash(deployment()["spec"]["template"], 0)
    assert made["metadata"]["name"] == f"web-{suffix}"
    assert made["metadata"]["labels"] == {"app": "web", "pod-template-hash": suffix}
    assert made["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": suffix}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": suffix}
    assert made["spec"]["replicas"] == 2
    assert made["metadata"]["annotations"] == {
        REVISION: "4",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }


def test_the_hash_depends_on_the_template_and_on_collisions_but_not_on_the_order_of_fields():
    template = {"a": 1, "b": [1, 2]}
    assert template_hash(template, 0) == template_hash({"b": [1, 2], "a": 1}, 0)
    assert len({template_hash(template, 0), template_hash(template, 1), template_hash({"a": 2, "b": [1, 2]}, 0)}) == 3


def test_the_present_revision_is_the_oldest_with_the_same_template():
    first, twin = replica_set(created="1"), replica_set(created="2")
    assert present_revision(deployment(), [twin, replica_set("nginx:2"), first]) == first
    assert present_revision(deployment("nginx:9"), [first]) is None


def test_a_template_is_the_same_whatever_the_server_adds_to_its_metadata():
    made = replica_set()
    made["spec"]["template"]["metadata"]["creationTimestamp"] = None
    assert same_template(deployment(), made)
    made["spec"]["template"]["metadata"]["annotations"] = {"restarted": "now"}
    assert not same_template(deployment(), made)


def test_revisions_count_on_from_the_largest_old_one():
    assert next_revision([]) == 1
    assert next_revision([replica_set(revision=7), replica_set(revision=3)]) == 8


def test_returning_to_an_old_revision_is_noted_in_its_history():
    old = replica_set(revision=2)
    old["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] = "1"
    assert annotations_to_write(deployment(), old, 5) == {
        REVISION: "5",
        "deployment.kubernetes.io/revision-history": "1,2",
    }
    assert annotations_to_write(deployment(), old, 1) == {}


def test_annotations_of_the_deployment_are_copied_except_its_bookkeeping():
    annotated = deployment(annotations={"team": "shop", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
    assert annotations_to_write(annotated, replica_set(revision=1), 1) == {"team": "shop"}


def test_only_empty_revisions_beyond_the_limit_are_forgotten_oldest_first():
    one, two, three = (replica_set(f"nginx:{number}", revision=number) for number in (1, 2, 3))
    assert forgotten_revisions(deployment(), [three, one, two]) == [one, two]
    busy = replica_set("nginx:1", revision=1, replicas=2)
    unseen = replica_set("nginx:2", revision=2, generation=5)
    assert forgotten_revisions(deployment(), [three, busy, unseen]) == []
