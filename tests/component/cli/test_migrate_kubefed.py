"""`hanse migrate kubefed`, typed against a host that was KubeFed's and two clusters over HTTPS.

No control plane runs, and nothing is as dear as these servers: one story is played once, and every test asks about it.
"""

import json
from dataclasses import dataclass

import pytest

from hanse.api.cluster_forms import KUBEFED_CLUSTERS
from hanse.api.clusters import CLUSTERS
from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.names import FINALIZER, HOST_ANNOTATION, MANAGED_LABEL, OWNER_ANNOTATION, SYSTEM_NAMESPACE
from hanse.clusters.credentials import encoded
from hanse.federated.migration import SYNC_FINALIZER
from hanse.kube.manifest import Obj, annotations_of, finalizers_of, labels_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, SECRETS
from tests.component.served_federation import ServedFederation

MEMBERS = ("cluster1", "cluster2")
KUBEFED = "kube-federation-system"
MANAGER = "kubefed-controller-manager"
FEDERATED_CONFIGMAPS = template_resource(FORM_D, CONFIGMAPS)
SERVED = ("FederatedConfigMap", "FederatedNamespace", "KubeFedConfig", "FederatedTypeConfig")
SETTINGS = {
    "apiVersion": "types.kubefed.io/v1beta1",
    "kind": "FederatedConfigMap",
    "metadata": {"name": "settings", "namespace": "shop", "finalizers": [SYNC_FINALIZER]},
    "spec": {"template": {"data": {"a": "1"}}, "placement": {"clusterSelector": {}}},
}
COPY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "shop", "labels": {"kubefed.io/managed": "true"}},
    "data": {"a": "1"},
}


@dataclass(frozen=True)
class Moment:
    """What a command said, and what there was after it."""

    code: int
    said: str
    copies: dict[str, Obj]
    source: Obj
    clusters: list[str]

    @property
    def report(self):
        return json.loads(self.said)

    @property
    def states(self):
        copies = [copy["state"] for each in self.report["objects"] for copy in each["copies"]]
        return [each["state"] for each in self.report["clusters"]] + copies


class Story:
    def __init__(self, stage):
        self._stage = stage
        stage.ask(installed(stage))
        self.begun = self._look(0, "")
        self.rehearsed = self._type("--dry-run", "-o", "json")
        self.unanswered = self._type()
        self.misused = self._type("-o", "yaml")
        stage.ask(running_controllers(stage.host))
        self.refused = self._type("--yes")
        stage.ask(stage.host.delete(DEPLOYMENTS, MANAGER, KUBEFED))
        self._sign_in("wrong")
        self.partly = self._type("--yes", "-o", "json")
        self._sign_in(stage.endpoints["cluster2"].token)
        self.done = self._type("--yes", "-o", "json")
        self.again = self._type("--yes", "-o", "json")
        self.own_namespace = stage.ask(stage.host.get(NAMESPACES, SYSTEM_NAMESPACE))

    def _type(self, *words):
        return self._look(*self._stage.say("migrate", "kubefed", *words))

    def _look(self, code, said):
        ask, host = self._stage.ask, self._stage.host
        copies = {name: ask(self._stage.clients[name].get(CONFIGMAPS, "settings", "shop")) for name in MEMBERS}
        source = ask(host.get(FEDERATED_CONFIGMAPS, "settings", "shop"))
        return Moment(code, said, copies, source, [name_of(each) for each in ask(host.list(CLUSTERS)).items])

    def _sign_in(self, token):
        patch = {"data": {"token": encoded(token)}}
        self._stage.ask(self._stage.host.patch(SECRETS, "cluster2", patch, KUBEFED))


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    stage = ServedFederation(tmp_path_factory.mktemp("kubefed"), *MEMBERS)
    yield Story(stage)
    stage.close()


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def installed(stage):
    """KubeFed's objects on the host, and what it wrote into its clusters."""
    host = stage.host
    for definition in kubefed_definitions(forms=(FORM_D,)):
        if definition["spec"]["names"]["kind"] in SERVED:
            await host.create(CRDS, definition)
    for name in (KUBEFED, "shop"):
        await host.create(NAMESPACES, namespace(name))
    for name in MEMBERS:
        endpoint = stage.endpoints[name]
        metadata = {"name": name, "namespace": KUBEFED}
        data = {"token": encoded(endpoint.token)}
        await host.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        spec = {"apiEndpoint": endpoint.server, "caBundle": encoded(endpoint.ca), "secretRef": {"name": name}}
        form = {"apiVersion": KUBEFED_CLUSTERS.api_version, "kind": KUBEFED_CLUSTERS.kind, "metadata": metadata}
        await host.create(KUBEFED_CLUSTERS, {**form, "spec": spec})
        await stage.clients[name].create(NAMESPACES, namespace("shop"))
        await stage.clients[name].create(CONFIGMAPS, COPY)
    await host.create(FEDERATED_CONFIGMAPS, SETTINGS)


async def running_controllers(host):
    labels = {"app": "kubefed"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "kubefed"}]}}
    metadata = {"name": MANAGER, "namespace": KUBEFED}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    await host.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    await host.patch(DEPLOYMENTS, MANAGER, {"status": {"replicas": 2}}, KUBEFED, subresource="status")


def found(moment):
    return moment.copies, moment.source, moment.clusters


def test_a_dry_run_says_what_would_be_taken_over_and_writes_nothing(story):
    assert story.rehearsed.code == 0, story.rehearsed.said
    assert story.rehearsed.states == ["to be taken over"] * 4
    assert found(story.rehearsed) == found(story.begun)


def test_a_person_is_asked_first(story):
    assert (story.unanswered.code, story.misused.code) == (1, 2)
    assert "Take this over?" in story.unanswered.said
    assert found(story.misused) == found(story.unanswered) == found(story.begun)


def test_pods_of_kubefeds_own_keep_it_from_being_taken_over(story):
    assert story.refused.code == 1
    assert f"{MANAGER} has 2 pods; scale it to 0" in story.refused.said
    assert found(story.refused) == found(story.begun)


def test_a_cluster_that_does_not_let_in_is_named_and_the_others_are_taken_over(story):
    assert story.partly.code == 1
    report, _, error = story.partly.said.rpartition("error: ")
    assert error == "cluster2 could not be looked at; run the command again when that is mended\n"
    told = {each["name"]: each.get("why", "") for each in json.loads(report)["clusters"]}
    assert told["cluster1"] == ""
    assert told["cluster2"] != ""
    assert labels_of(story.partly.copies["cluster1"])[MANAGED_LABEL] == "true"
    assert story.partly.copies["cluster2"] == story.begun.copies["cluster2"]


def test_everything_is_taken_over_by_metadata_alone(story):
    assert story.done.code == 0, story.done.said
    assert story.done.states == ["Hanse's"] * 4
    assert story.done.clusters == list(MEMBERS)
    assert finalizers_of(story.done.source) == [FINALIZER]
    assert story.done.source["spec"] == story.begun.source["spec"]
    for name, copy in story.done.copies.items():
        assert (uid_of(copy), copy["data"]) == (uid_of(story.begun.copies[name]), {"a": "1"})
        assert annotations_of(copy)[OWNER_ANNOTATION] == uid_of(story.done.source)


def test_a_take_over_that_was_done_finds_nothing_to_do(story):
    assert (story.again.code, story.again.said) == (story.done.code, story.done.said)
    assert found(story.again) == found(story.done)


def test_the_host_keeps_its_plain_objects_to_itself(story):
    assert annotations_of(story.own_namespace)[HOST_ANNOTATION] == "existing"
