"""What each plain kind divides by, and what of it does not travel; numbers are the fact sheet's lines."""

import pytest

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest, parse_federated_kind
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.resources import CRDS, LEASES, PODS, SECRETS, Resource
from hanse.native import NativeDoor
from hanse.native.kinds import DEFAULT_KINDS, is_federated, why_never
from hanse.native.template import template_of
from hanse.placement import Placement
from hanse.placement.ask import ClusterTerm
from hanse.propagation.door import keyed
from hanse.propagation.intent import Problem
from hanse.propagation.parts import ScaledParts
from hanse.propagation.scale import Scale

DOOR = NativeDoor()
KINDS = {kind.kind: kind for kind in DEFAULT_KINDS}
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def obj(kind, name="x", namespace="default", annotations=None, owner=None, **fields):
    api_version = KINDS[kind].api_version if kind in KINDS else fields.pop("api_version")
    metadata = {"name": name, "uid": "u1", "annotations": annotations or {}}
    if namespace:
        metadata["namespace"] = namespace
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": "o", "controller": True}]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


@pytest.mark.parametrize(
    ("made", "federated"),
    [
        (obj("ServiceAccount"), True),
        (obj("ServiceAccount", "default"), False),
        (obj("PriorityClass", "urgent", namespace=""), True),
        (obj("PriorityClass", "system-node-critical", namespace=""), False),
        (obj("Job", owner=("batch/v1", "CronJob")), False),
        (obj("Job", spec={"managedBy": "pods.hanse.dev/whole-job"}), False),
        (obj("Job", spec={"managedBy": "kueue.x-k8s.io/multikueue"}), True),
        (obj("ReplicaSet", owner=("apps/v1", "Deployment")), False),
        (obj("ReplicaSet"), True),
        (obj("PersistentVolumeClaim", owner=("apps/v1", "StatefulSet")), False),
        (obj("ConfigMap", annotations={"hanse.dev/federate": "false"}), False),
        (obj("ClusterRole", "system:admin", namespace="", api_version="rbac.authorization.k8s.io/v1"), False),
        (obj("CustomResourceDefinition", namespace="", api_version="x", spec={"group": "hanse.dev"}), False),
        (obj("CustomResourceDefinition", namespace="", api_version="x", spec={"group": "example.com"}), True),
    ],
)
def test_what_belongs_to_one_cluster_is_not_federated(made, federated):
    assert is_federated(made) == federated


def test_rights_are_not_handed_out_without_being_asked():
    assert not [kind for kind in DEFAULT_KINDS if kind.group == "rbac.authorization.k8s.io"]


@pytest.mark.parametrize("resource", [PODS, LEASES, FEDERATED_KINDS], ids=str)
def test_some_kinds_can_never_be_enabled_and_say_why(resource):
    assert why_never(resource)
    assert resource not in informed(federated_kind_manifest(resource)).resources


@pytest.mark.parametrize(
    ("made", "spec"),
    [
        pytest.param(
            obj("PersistentVolumeClaim", spec={"volumeName": "pv-1", "storageClassName": "fast"}),
            {"storageClassName": "fast"},
            id="a claim leaves its volume behind",
        ),
        pytest.param(
            obj(
                "Job",
                spec={
                    "completions": 2,
                    "ttlSecondsAfterFinished": 5,
                    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
                    "template": {"metadata": {"labels": {"job-name": "x", "controller-uid": "1", "app": "pi"}}},
                },
            ),
            {"completions": 2, "template": {"metadata": {"labels": {"app": "pi"}}}},
            id="a Job leaves its generated selector behind, and what would have a finished copy begun again",
        ),
        pytest.param(
            obj(
                "Job",
                spec={
                    "manualSelector": True,
                    "selector": {"matchLabels": {"app": "pi"}},
                    "template": {"metadata": {"labels": {"app": "pi"}}},
                },
            ),
            {
                "manualSelector": True,
                "selector": {"matchLabels": {"app": "pi"}},
                "template": {"metadata": {"labels": {"app": "pi"}}},
            },
            id="a Job keeps a selector that somebody wrote",
        ),
        pytest.param(
            obj("StatefulSet", spec={"volumeClaimTemplates": [{"metadata": {"name": "d"}, "status": {"phase": "P"}}]}),
            {"volumeClaimTemplates": [{"metadata": {"name": "d"}}]},
            id="a StatefulSet's claims have no status",
        ),
    ],
)
def test_what_the_hosts_server_added_does_not_travel(made, spec):
    assert template_of(made)["spec"] == spec


def test_the_tokens_of_a_service_account_do_not_travel():
    made = template_of(obj("ServiceAccount", secrets=[{"name": "t"}], imagePullSecrets=[{"name": "p"}]))

    assert ("secrets" in made, "imagePullSecrets" in made) == (False, True)


@pytest.mark.parametrize(
    ("made", "annotation"),
    [
        (obj("ReplicaSet", spec={"replicas": 4}), "federation.kubernetes.io/replica-set-preferences"),
        (obj("ReplicationController", spec={"replicas": 4}), "federation.kubernetes.io/replica-set-preferences"),
        (obj("Job", spec={"parallelism": 4}), "federation.kubernetes.io/job-preferences"),
    ],
)
def test_each_kind_has_its_own_preferences(made, annotation):
    made["metadata"]["annotations"] = {annotation: '{"clusters": {"*": {"weight": 1}}}'}

    intent = DOOR.translate(made)

    assert intent.replicas == 4
    assert intent.sources == (f"annotation {annotation} divides the replicas",)


def test_the_cluster_selector_of_a_job_is_honoured():
    """Line 19."""
    made = obj("Job", annotations={CLUSTER_SELECTOR_ANNOTATION: '[{"key": "gpu", "operator": "exists"}]'}, spec={})

    assert DOOR.translate(made).placement.clusters != ClusterTerm()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(
            obj("Deployment", annotations={"federation.kubernetes.io/hpa-target-cluster-list": "{"}),
            "InvalidAutoscaledClusters",
            id="44",
        ),
        pytest.param(
            obj("HorizontalPodAutoscaler", spec={"scaleTargetRef": {"kind": "StatefulSet"}, "maxReplicas": 3}),
            "InvalidTarget",
            id="60",
        ),
        pytest.param(
            obj(
                "HorizontalPodAutoscaler",
                spec={"scaleTargetRef": {"kind": "Deployment"}, "minReplicas": 4, "maxReplicas": 3},
            ),
            "InvalidLimits",
            id="58: a minimum above the maximum",
        ),
    ],
)
def test_what_cannot_be_divided_is_a_problem(made, reason):
    problem = DOOR.translate(made)

    assert isinstance(problem, Problem)
    assert problem.reason == reason


def test_a_workload_that_is_scaled_in_some_clusters_is_not_divided():
    """Line 43; the annotation is read whatever the case of its field."""
    made = obj("Deployment", annotations={"federation.kubernetes.io/hpa-target-cluster-list": '{"names":["c1"]}'})

    intent = DOOR.translate(made)

    assert (intent.replicas, intent.parts) == (None, ScaledParts(("c1",)))
    assert "annotations" not in intent.template["metadata"]


def informed(*kinds):
    return DOOR.informed(keyed({PLACEMENT_POLICIES: [], CLUSTER_PLACEMENT_POLICIES: [], FEDERATED_KINDS: list(kinds)}))


def widget(**spec):
    return obj("Widget", api_version="example.com/v1", spec=spec)


def test_a_custom_kind_teaches_where_its_replicas_are():
    kind = federated_kind_manifest(WIDGETS)
    kind["spec"] |= {"replicas": {"path": "spec.size", "readyPath": "status.up"}, "omit": ["spec.own.id"]}

    intent = informed(kind).translate(widget(size=5, own={"id": 1, "name": "x"}))

    assert intent.replicas == 5
    assert intent.scale == Scale(("spec", "size"), ("status", "up"), ("status", "availableReplicas"))
    assert intent.template["spec"] == {"size": 5, "own": {"name": "x"}}


def test_a_custom_kind_without_lessons_is_copied_whole():
    intent = informed(federated_kind_manifest(WIDGETS)).translate(widget(size=5))

    assert (intent.replicas, intent.placement.division) == (None, Placement().division)


@pytest.mark.parametrize("size", [-1, "five", True])
def test_replicas_that_are_no_number_are_a_problem(size):
    kind = federated_kind_manifest(WIDGETS)
    kind["spec"]["replicas"] = {"path": "spec.size"}

    assert informed(kind).translate(widget(size=size)) == Problem(
        "InvalidReplicas", "spec.size must be a number that is not negative"
    )


@pytest.mark.parametrize(
    ("change", "admitted"),
    [({}, True), ({"enabled": False}, False), ({"deleted": True}, False)],
    ids=["enabled", "disabled", "being deleted"],
)
def test_a_kind_that_is_being_let_go_is_followed_and_admits_nothing(change, admitted):
    kind = federated_kind_manifest(WIDGETS, enabled=change.get("enabled", True))
    if "deleted" in change:
        kind["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    door = informed(kind)

    assert WIDGETS in door.resources
    assert door.admits(widget()) == admitted


def test_a_kind_that_is_federated_without_being_asked_can_be_disabled():
    assert not informed(federated_kind_manifest(SECRETS, enabled=False)).admits(obj("Secret", type="Opaque"))


def test_a_kind_reads_as_it_was_written():
    assert parse_federated_kind(federated_kind_manifest(CRDS)).resource == CRDS
