"""`hanse migrate shipper`, typed against a management cluster and one of its clusters over HTTPS.

No control plane runs. One story is played once, and every test asks about it.
"""

import json

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import ADOPT_ANNOTATION, HOST_ANNOTATION, SYSTEM_NAMESPACE
from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION
from hanse.api.shipper.kinds import INSTALLATION_TARGETS, RELEASES, ROLLOUT_FINALIZER
from hanse.cli.migrating_shipper import WEBHOOKS
from hanse.kube.manifest import annotations_of, dig, finalizers_of, name_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, SERVICES
from tests.component.cli.shipper_world import NAMES, SHIPPER, SHOP, install
from tests.component.served_federation import ServedFederation

WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "shipper-webhook"},
    "webhooks": [
        {
            "name": "webhook.shipper.booking.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "shipper", "namespace": SHIPPER, "path": "/validate"}},
            "rules": [
                {
                    "apiGroups": ["shipper.booking.com"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                    "resources": ["*"],
                }
            ],
        }
    ],
}


class Story:
    """A take-over from the first look to its end."""

    def __init__(self, stage):
        self.stage = stage
        stage.ask(install(stage.host, {"eu": stage.clients["eu"]}, {"eu": stage.endpoints["eu"]}))
        stage.ask(running_shipper(stage.host))
        stage.ask(stage.host.create(WEBHOOKS, WEBHOOK))
        self.before = stage.ask(in_cluster(stage.clients["eu"]))
        self.refused = self._type("--yes")
        stage.ask(stage.host.delete(DEPLOYMENTS, "shipper", SHIPPER))
        self.rehearsed = self._type("--dry-run", "-o", "json")
        self.unanswered = self._type()
        self.untouched = stage.ask(in_cluster(stage.clients["eu"]))
        self.done = self._type("--yes", "-o", "json")
        self.after = stage.ask(in_cluster(stage.clients["eu"]))

    def _type(self, *words):
        return self.stage.say("migrate", "shipper", *words)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    stage = ServedFederation(tmp_path_factory.mktemp("shipper"), "eu")
    yield Story(stage)
    stage.close()


async def running_shipper(host):
    labels = {"app": "shipper"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "shipper", "image": "shipper"}]}}
    metadata = {"name": "shipper", "namespace": SHIPPER}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    await host.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    await host.patch(DEPLOYMENTS, "shipper", {"status": {"replicas": 1}}, SHIPPER, subresource="status")


async def in_cluster(client):
    kinds = (CONFIGMAPS, DEPLOYMENTS, SERVICES)
    return {(kind.kind, name_of(obj)): obj for kind in kinds for obj in (await client.list(kind, SHOP)).items}


def test_a_shipper_that_still_runs_is_not_taken_over(story):
    code, said = story.refused

    assert code == 1
    assert "Shipper still runs: its Deployment shipper-system/shipper has 1 pods; scale it to 0" in said
    assert len(said.splitlines()) == 1


def test_a_dry_run_names_everything_and_writes_nothing(story):
    code, said = story.rehearsed
    report = json.loads(said)

    assert code == 0
    assert [each["state"] for each in report["releases"]] == ["to be taken over"] * 2
    assert [each["name"] for each in report["webhooks"]] == ["shipper-webhook"]
    assert {each["state"] for each in report["definitions"]} == {"to be taken over"}
    assert [each["name"] for each in report["clusters"]] == ["eu"]
    assert not any("differs" in each for release in report["releases"] for each in release["objects"])
    assert story.untouched == story.before


def test_a_person_is_asked_first(story):
    code, said = story.unanswered

    assert "2 releases with 6 objects in 1 clusters would be taken over" in said
    assert (code, "Take this over?" in said) == (1, True)


def test_releases_are_taken_over_as_they_run(story):
    stage, (code, said) = story.stage, story.done
    assert code == 0, said
    report = json.loads(said)
    assert [each["state"] for each in report["releases"]] == ["Hanse's"] * 2
    assert report["done"]

    pieces = {name_of(each): each for each in stage.ask(stage.host.list(PIECES, SHOP)).items}
    for name in NAMES:
        installation = stage.ask(stage.host.get(INSTALLATION_TARGETS, name, SHOP))
        named = annotations_of(installation)[PIECES_ANNOTATION].split(",")
        assert sorted(named) == sorted([name, f"{name}-configmap-{name}-anchor", f"{name}-service-web"])
        for each in named:
            assert annotations_of(pieces[each])[ADOPT_ANNOTATION] == "true"
            assert (
                annotations_of(pieces[each])[RENDERING_ANNOTATION] == annotations_of(installation)[RENDERING_ANNOTATION]
            )
        assert ROLLOUT_FINALIZER in finalizers_of(stage.ask(stage.host.get(RELEASES, name, SHOP)))
    assert [name_of(each) for each in stage.ask(stage.host.list(CLUSTERS)).items] == ["eu"]
    own = stage.ask(stage.host.get(NAMESPACES, SYSTEM_NAMESPACE))
    assert annotations_of(own)[HOST_ANNOTATION] == "existing"


def test_clusters_lose_nothing_but_the_hold_of_their_anchors(story):
    assert story.after.keys() == story.before.keys()
    for key, obj in story.after.items():
        was = story.before[key]
        assert dig(obj, "metadata", "ownerReferences", default=[]) == []
        assert {name: value for name, value in obj.items() if name != "metadata"} == {
            name: value for name, value in was.items() if name != "metadata"
        }
        assert obj["metadata"].get("generation") == was["metadata"].get("generation")


def test_definitions_are_replaced_and_what_would_refuse_every_write_is_gone(story):
    stage = story.stage
    definition = stage.ask(stage.host.get(CRDS, "releases.shipper.booking.com"))

    assert "status" in definition["spec"]["versions"][0]["subresources"]
    assert stage.ask(stage.host.list(WEBHOOKS)).items == []
