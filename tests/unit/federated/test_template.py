"""What every chosen cluster gets; numbers are lines of KubeFed's checklist."""

import pytest

from hanse.federated.template import retained, runs_pods, template_for
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, SERVICES
from hanse.propagation.stored_form import as_stored
from tests.unit.federated.cases import DEPLOYMENT, KEY


def test_an_object_is_called_as_the_federated_one_is():
    """Lines 2 and 3."""
    written = {"apiVersion": "apps/v1", "kind": "Odd", "metadata": {"name": "nginx", "namespace": "x", "uid": "1"}}
    made = template_for(written, DEPLOYMENTS, KEY).manifest
    assert made == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}


def test_labels_travel_and_the_managed_label_is_put_beside_them():
    """Line 50."""
    made = template_for(DEPLOYMENT, DEPLOYMENTS, KEY, label="kubefed.io/managed").manifest
    assert made["metadata"]["labels"] == {"app": "web", "kubefed.io/managed": "true"}
    assert made["spec"] == DEPLOYMENT["spec"]


def test_annotations_and_finalizers_of_a_template_are_left_out_with_a_warning():
    """Line 50."""
    written = {"metadata": {"annotations": {"c": "d"}, "finalizers": ["x/y"]}, "data": {}}
    made = template_for(written, CONFIGMAPS, KEY)
    assert made.manifest["metadata"] == {"name": "web", "namespace": "shop"}
    assert [each.reason for each in made.warnings] == ["AnnotationsNotSupported", "FinalizersNotSupported"]
    assert template_for({"metadata": {"annotations": {}}}, CONFIGMAPS, KEY).warnings == ()


def test_a_template_may_name_its_version_where_its_form_lets_it():
    written = {"apiVersion": "apps/v1beta2"}
    assert template_for(written, DEPLOYMENTS, KEY).manifest["apiVersion"] == "apps/v1beta2"
    assert template_for(written, DEPLOYMENTS, KEY, own_version=False).manifest["apiVersion"] == "apps/v1"
    assert template_for({}, DEPLOYMENTS, KEY).manifest["apiVersion"] == "apps/v1"


def test_a_namespace_is_in_no_namespace():
    assert template_for({}, NAMESPACES, Key("", "shop")).manifest["metadata"] == {"name": "shop"}


def test_status_and_nulls_say_nothing():
    written = {"metadata": {"creationTimestamp": None}, "spec": {"paused": None, "replicas": 0}, "status": {"x": 1}}
    assert template_for(written, DEPLOYMENTS, KEY).manifest == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 0},
    }


@pytest.mark.parametrize(
    ("target", "spec", "kept"),
    [
        pytest.param(SERVICES, {"ports": [{"port": 80}]}, (), id="52 what the template leaves out is never touched"),
        pytest.param(SERVICES, {"clusterIP": "10.0.0.7"}, (("spec", "clusterIP"),), id="52 what cannot change is kept"),
        pytest.param(SERVICE_ACCOUNTS, {}, (), id="53"),
        pytest.param(DEPLOYMENTS, {"replicas": 1}, (("spec", "replicas"),), id="54"),
    ],
)
def test_clusters_keep_what_their_own_controllers_set(target, spec, kept):
    assert retained(target, {"spec": spec}, replicas=True) == kept


def test_replicas_are_kept_only_where_that_is_asked_for():
    """Line 54."""
    assert retained(DEPLOYMENTS, {"spec": {"replicas": 1}}, replicas=False) == ()


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        (DEPLOYMENT["spec"], True),
        ({"containers": [{"name": "x"}]}, True),
        ({"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "x"}]}}}}}, True),
        ({"ports": []}, False),
    ],
)
def test_what_runs_something_is_known_by_its_pods(spec, runs):
    assert runs_pods({"spec": spec}) == runs


def test_values_that_say_no_more_than_silence_are_not_rendered():
    """A server would drop them, and the copy would differ for ever from what was asked for."""
    pod = {"hostNetwork": False, "tolerations": [], "containers": [{"name": "web", "stdin": False}]}
    written = {"spec": {"replicas": 0, "paused": False, "template": {"spec": pod}}}
    made = as_stored(template_for(written, DEPLOYMENTS, KEY).manifest)
    assert made["spec"] == {"replicas": 0, "template": {"spec": {"containers": [{"name": "web"}]}}}
    service = as_stored(template_for({"spec": {"ports": [{"port": 80, "nodePort": 0}]}}, SERVICES, KEY).manifest)
    assert service["spec"] == {"ports": [{"port": 80}]}


def test_a_secrets_texts_are_rendered_as_its_data():
    written = {"stringData": {"a": "1"}, "data": {"b": "Mg=="}, "immutable": False}
    made = as_stored(template_for(written, SECRETS, KEY).manifest)
    assert made["data"] == {"a": "MQ==", "b": "Mg=="}
    assert "stringData" not in made
    assert made["immutable"] is False
