"""Taking over from KubeFed: what is marked, what is left alone, and what is said of it."""

from dataclasses import replace

import pytest

from hanse.api.clusters import Cluster
from hanse.api.names import FINALIZER, MANAGED_LABEL, OWNER_ANNOTATION, RENDERED_ANNOTATION
from hanse.federated.door import FederatedDoor
from hanse.federated.migration import SYNC_FINALIZER, Step, handed_over, plan_object
from hanse.kube.manifest import dig, key_of
from hanse.kube.patches.merge_patch import apply_merge_patch
from hanse.kube.resources import DEPLOYMENTS, NAMESPACES
from hanse.propagation.comparison import Present, compare
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation, plan
from hanse.propagation.scale import with_field
from tests.unit.federated.cases import KEY, UID, federated, in_clusters, override, preference
from tests.unit.federated.test_door import config, knowing, resource_of, type_config

TARGET = Ref(DEPLOYMENTS, KEY)
CLUSTERS = [Cluster("cluster1"), Cluster("cluster2")]
KUBEFED_FIELDS = {
    "manager": "controller-manager",
    "operation": "Update",
    "apiVersion": "apps/v1",
    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubefed.io/managed": {}}}, "f:spec": {"f:replicas": {}}},
}
STATUS_FIELDS = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {}}


def source(**spec):
    written = federated(placement=in_clusters("cluster1", "cluster2"), **spec)
    written["metadata"]["finalizers"] = ["example.com/other", SYNC_FINALIZER]
    return written


def left_by_kubefed(written, *, replicas=3, labels=None, **metadata):
    """The Deployment that KubeFed leaves of an object."""
    template = written["spec"]["template"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "member-uid",
            "resourceVersion": "7",
            "labels": {"app": "web", "kubefed.io/managed": "true", **(labels or {})},
            "managedFields": [KUBEFED_FIELDS, STATUS_FIELDS],
            **metadata,
        },
        "spec": {**template["spec"], "replicas": replicas, "revisionHistoryLimit": 10},
        "status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas},
    }


def planned(written, copy, *inputs, clusters=CLUSTERS, own=(), target=TARGET):
    held = {"cluster1": {target: copy}, "cluster2": {}}
    return plan_object(resource_of(written), written, knowing(*inputs), clusters, held, own)


def only_copy(found):
    (copy,) = found.copies
    return copy


def test_a_copy_is_taken_over_by_its_metadata_alone():
    written = source()
    copy = only_copy(planned(written, left_by_kubefed(written)))
    assert (copy.cluster, copy.step, copy.differs) == ("cluster1", Step.TAKE, ())
    assert set(copy.patch) == {"metadata"}
    metadata = copy.patch["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("member-uid", "7")
    assert metadata["labels"] == {MANAGED_LABEL: "true"}
    assert metadata["annotations"][OWNER_ANNOTATION] == UID


@pytest.mark.parametrize(
    ("spec", "inputs", "replicas"),
    [
        ({}, (), 3),
        ({"overrides": [override("cluster1", {"path": "/spec/replicas", "value": 7})]}, (), 7),
        ({"retainReplicas": True}, (), 5),
        ({}, (preference(4, {"cluster1": {"weight": 1}, "cluster2": {"weight": 1}}),), 4),
    ],
    ids=["template", "override", "retained", "preference"],
)
def test_the_engine_finds_nothing_to_do_in_what_was_taken_over(spec, inputs, replicas):
    written = source(**spec)
    held = left_by_kubefed(written, replicas=replicas)
    marked = apply_merge_patch(held, only_copy(planned(written, held, *inputs)).patch)
    ready = [Cluster(name, ready=True) for name in ("cluster1", "cluster2")]
    observed = {"cluster1": Observation(True, marked), "cluster2": Observation(True)}
    wish = plan(knowing(*inputs).translate(written), ready, observed).wanted["cluster1"]
    assert isinstance(wish, Present)
    for path in wish.retain:
        # As a member's side does it before it compares.
        wish = replace(wish, manifest=with_field(wish.manifest, path, dig(marked, *path)))
    assert compare(wish, marked, None) is None


def test_kubefeds_fields_become_hanses_and_nobody_elses():
    other = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:metadata": {"f:annotations": {}}}}
    handed = handed_over([KUBEFED_FIELDS, other, STATUS_FIELDS])
    assert handed == [{**KUBEFED_FIELDS, "manager": "hanse"}, other, STATUS_FIELDS]
    assert handed_over(handed) == handed


def test_kubefeds_hold_on_the_fields_of_an_adopted_copy_ends():
    applied = {"manager": "hanse", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    written = source()
    adopted = {"annotations": {OWNER_ANNOTATION: UID}, "managedFields": [applied, KUBEFED_FIELDS]}
    copy = only_copy(planned(written, left_by_kubefed(written, **adopted)))
    handed = [applied, {**KUBEFED_FIELDS, "manager": "hanse"}]
    assert copy.patch == {"metadata": {"uid": "member-uid", "resourceVersion": "7", "managedFields": handed}}


def test_what_somebody_changed_in_a_cluster_is_said():
    written = source()
    copy = only_copy(planned(written, left_by_kubefed(written, replicas=9)))
    assert (copy.step, copy.differs) == (Step.TAKE, ("spec.replicas",))


@pytest.mark.parametrize(
    ("metadata", "step", "why"),
    [
        ({"annotations": {OWNER_ANNOTATION: UID}, "managedFields": [STATUS_FIELDS]}, Step.HAVE, ""),
        ({"annotations": {OWNER_ANNOTATION: "another"}}, Step.LEAVE, "copy of another object, another"),
        ({"labels": {"kubefed.io/managed": "false"}}, Step.LEAVE, 'labelled kubefed.io/managed: "false"'),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, Step.LEAVE, "being deleted"),
    ],
)
def test_what_is_not_kubefeds_any_more_is_left_alone(metadata, step, why):
    written = source()
    copy = only_copy(planned(written, left_by_kubefed(written, **metadata)))
    assert (copy.step, copy.patch) == (step, None)
    assert why in copy.why


def test_a_copy_that_is_not_asked_for_any_more_stays_the_clusters_own():
    written = source()
    copy = left_by_kubefed(written)
    written["spec"]["placement"] = in_clusters("cluster2")
    left = only_copy(planned(written, copy))
    assert (left.step, left.patch) == (Step.LEAVE, None)
    assert "no longer asks for it there" in left.why


def test_an_override_that_fails_keeps_what_is_there_and_takes_it_over():
    written = source(overrides=[override("cluster1", {"path": "/spec/nosuch/deep", "value": 1})])
    copy = only_copy(planned(written, left_by_kubefed(written)))
    assert copy.step is Step.TAKE
    assert RENDERED_ANNOTATION not in copy.patch["metadata"]["annotations"]


def test_the_finalizer_is_replaced_and_others_stay():
    written = source()
    assert planned(written, left_by_kubefed(written)).finalizers == ("example.com/other", FINALIZER)
    written["metadata"]["finalizers"] = [FINALIZER]
    assert planned(written, left_by_kubefed(written)).finalizers is None


def test_an_object_that_is_being_deleted_is_left_to_kubefed():
    written = source()
    written["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = planned(written, left_by_kubefed(written))
    assert found.is_done
    assert "let KubeFed finish" in only_copy(found).why
    written["metadata"]["finalizers"] = [FINALIZER]
    assert only_copy(planned(written, left_by_kubefed(written))).step is Step.TAKE


def test_a_type_that_does_not_propagate_is_left_alone():
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "pluralName": "deployments"}
    kind = {"group": "types.kubefed.io", "version": "v1beta1", "kind": "FederatedDeployment"}
    off = type_config("deployments.apps", target, kind, propagation="Disabled")
    written = source()
    found = planned(written, left_by_kubefed(written), off)
    assert found.is_done
    assert "does not propagate" in only_copy(found).why


def test_the_namespace_of_a_host_that_is_a_member_too_is_not_taken_over():
    written = federated("Namespace", template={}, name="shop", namespace="shop", placement=in_clusters("cluster1"))
    target = FederatedDoor().target(Ref(resource_of(written), key_of(written)))
    assert target.resource == NAMESPACES
    metadata = {"name": "shop", "uid": "u", "resourceVersion": "1", "labels": {"kubefed.io/managed": "true"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    assert only_copy(planned(written, namespace, target=target)).step is Step.TAKE
    assert only_copy(planned(written, namespace, target=target, own={"cluster1"})).step is Step.LEAVE


def test_a_placement_that_cannot_be_read_is_said_and_its_copies_are_known():
    selector = {"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Foo", "values": ["b"]}]}}
    written = source()
    copy = left_by_kubefed(written)
    written["spec"]["placement"] = selector
    found = planned(written, copy, config(scope="Namespaced"))
    assert "ComputePlacementFailed" in found.notes[0]
    assert only_copy(found).step is Step.TAKE
