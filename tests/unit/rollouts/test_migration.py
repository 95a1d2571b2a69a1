"""What becomes of Shipper's releases, decided from what runs in its clusters."""

import pytest

from hanse.api.names import ADOPT_ANNOTATION
from hanse.api.pieces import PIECES_ANNOTATION, RENDERING_ANNOTATION, parse_piece
from hanse.kube.manifest import annotations_of, name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES
from hanse.rollouts.cluster_reading import Targets
from hanse.rollouts.migration import Held, Step, is_part, plan_release
from tests.unit.cli.rollout_cases import release, targets

RELEASE = release(generation=1, step=1, achieved=1, complete=True)
RELEASE["metadata"]["uid"] = "release-uid"
ANCHOR = {"kind": "ConfigMap", "apiVersion": "v1", "name": "web-1-anchor", "uid": "u"}


def held(resource, name, *, writer="web-1", app="web", spec=None, **metadata):
    labels = {"shipper-app": app, "shipper-release": writer, "shipper-owned-by": writer}
    obj = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "resourceVersion": "7",
            "labels": labels,
            **metadata,
        },
        "spec": spec or {},
        "status": {"x": 1},
    }
    return Held(resource, obj, {"spec": obj["spec"]})


def deployment(replicas=3, image="nginx:1", **metadata):
    return held(DEPLOYMENTS, "web-1-nginx", spec={"replicas": replicas, "template": {"image": image}}, **metadata)


def service(**metadata):
    return held(SERVICES, "web", writer="web-0", spec={"selector": {"app": "web"}}, **metadata)


def aims(**numbers):
    return Targets(*targets(RELEASE, **numbers))


def plan(*objects, others=None, goals=None):
    return plan_release(RELEASE, goals or aims(), {"eu": list(objects), **(others or {})})


def test_a_release_is_made_of_what_runs():
    found = plan(deployment(), service())

    assert found.step is Step.TAKE
    assert [name_of(piece) for piece in found.pieces] == ["web-1", "web-1-service-web"]
    for piece in found.pieces:
        assert annotations_of(piece)[ADOPT_ANNOTATION] == "true"
        assert piece["metadata"]["ownerReferences"][0]["uid"] == "release-uid"
    assert found.annotations is not None
    assert found.annotations[PIECES_ANNOTATION] == "web-1,web-1-service-web"
    assert found.annotations["hanse.dev/replicas"] == "3"
    assert found.finalizers == ("hanse.dev/rollout",)


def test_a_piece_has_what_the_object_has_but_for_what_its_server_gave_it():
    annotated = deployment(annotations={"deployment.kubernetes.io/revision": "4", "team": "a"})
    template = parse_piece(plan(annotated).pieces[0]).template

    assert template["metadata"] == {
        "name": "web-1-nginx",
        "namespace": "shop",
        "labels": {"shipper-app": "web", "shipper-release": "web-1", "shipper-owned-by": "web-1"},
        "annotations": {"team": "a"},
    }
    assert template["spec"] == {"replicas": 0, "template": {"image": "nginx:1"}}
    assert "status" not in template


def test_nothing_differs_where_clusters_have_what_capacity_says():
    assert [copy.differs for copy in plan(deployment(), service()).copies] == [(), ()]


def test_what_will_be_written_is_named():
    goals = aims(percent=34)
    others = {"us": [deployment(2, "nginx:2")]}
    chosen = {**RELEASE, "metadata": {**RELEASE["metadata"], "annotations": {**annotations_of(RELEASE)}}}
    chosen["metadata"]["annotations"]["shipper.booking.com/release.clusters"] = "eu,us"

    found = plan_release(chosen, goals, {"eu": [deployment(3), service()], **others})

    told = {(copy.cluster, copy.resource.kind): (copy.differs, copy.missing) for copy in found.copies}
    assert told["eu", "Deployment"] == (("spec.replicas",), False)
    assert "spec.template.image" in told["us", "Deployment"][0]
    assert told["us", "Service"] == ((), True)


def test_an_anchor_loses_its_hold_and_fields_change_hands():
    shippers = {
        "manager": "shipper",
        "operation": "Update",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:shipper-owned-by": {}}}},
    }
    kubelets = {"manager": "kcm", "operation": "Update", "subresource": "status", "fieldsV1": {}}
    owner = {"kind": "Team", "apiVersion": "v1", "name": "a", "uid": "t"}
    (copy,) = plan(deployment(ownerReferences=[ANCHOR, owner], managedFields=[shippers, kubelets])).copies

    assert copy.patch == {
        "metadata": {
            "uid": "web-1-nginx",
            "resourceVersion": "7",
            "ownerReferences": [owner],
            "managedFields": [{**shippers, "manager": "hanse"}, kubelets],
        }
    }
    assert plan(deployment(ownerReferences=[owner])).copies[0].patch is None


def committed():
    found = aims()
    assert found.installation is not None
    found.installation["metadata"]["annotations"] = {RENDERING_ANNOTATION: "x"}
    return found


@pytest.mark.parametrize(
    ("found", "step", "why"),
    [
        (plan(deployment(), goals=committed()), Step.HAVE, ""),
        (plan(deployment(), goals=Targets()), Step.LEAVE, "no cluster was chosen for it yet"),
        (plan(service()), Step.LEAVE, "no cluster has a Deployment of it; delete the release"),
        (plan(deployment(), held(DEPLOYMENTS, "web-1-b")), Step.LEAVE, "more than one Deployment in its clusters"),
        (plan_release(RELEASE, aims(), {}), Step.LEAVE, "eu could not be looked at"),
        (plan_release(release(generation=1, deleting=True), aims(), {}), Step.LEAVE, "it is being deleted"),
    ],
)
def test_what_is_not_certain_is_left_alone_with_the_reason(found, step, why):
    assert found.step is step
    assert why in found.why


@pytest.mark.parametrize(
    ("part", "belongs"),
    [
        (held(CONFIGMAPS, "settings"), True),
        (held(CONFIGMAPS, "settings", writer="web-0"), True),
        (held(CONFIGMAPS, "web-0-settings", writer="web-0"), False),
        (held(CONFIGMAPS, "web-1-anchor", writer=""), True),
        (held(CONFIGMAPS, "web-0-anchor", writer=""), False),
        (held(CONFIGMAPS, "settings", app="other"), False),
        (held(CONFIGMAPS, "settings", namespace="other"), False),
    ],
)
def test_an_object_is_a_releases_by_label_by_name_or_because_all_share_it(part, belongs):
    assert is_part(part, RELEASE) is belongs
