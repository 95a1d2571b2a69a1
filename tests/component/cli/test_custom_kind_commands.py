"""People's commands on a custom kind that was enabled, typed against a host and a cluster; no control plane runs."""

import pytest
import yaml

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.kube.conditions import is_true
from hanse.kube.manifest import dig
from hanse.kube.resources import CRDS, EVENTS, Resource
from tests.behaviour.federated_kinds import WIDGETS as DEFINITION
from tests.behaviour.stage import Stage
from tests.component.served_federation import ServedFederation

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
GEAR = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "gear", "namespace": "default"},
    "spec": {"size": 4},
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("custom"), "east")
    opened.join("east")
    opened.ask(furnish(opened))
    yield opened
    opened.close()


def is_served(definition):
    return is_true(dig(definition, "status", "conditions"), "Established")


async def furnish(stage):
    for client in stage.clients.values():
        await client.create(CRDS, DEFINITION)
        await Stage(client, "").until(CRDS, "widgets.example.com", is_served)
        await client.create(WIDGETS, GEAR)
    taught = federated_kind_manifest(WIDGETS)
    taught["spec"]["replicas"] = {"path": "spec.size"}
    await stage.host.create(FEDERATED_KINDS, taught)
    involved = {"kind": "Widget", "name": "gear", "namespace": "default"}
    event = {"metadata": {"name": "gear.1", "namespace": "default"}, "involvedObject": involved, "reason": "Turned"}
    await stage.clients["east"].create(EVENTS, {**event, "type": "Normal", "lastTimestamp": "2026-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("get", "widgets"), 0, "(federation)   gear"),
        (("get", "widget/gear"), 0, "east           gear"),
        (("get", "widget/none"), 1, "no widget named none in namespace default"),
        (("explain", "widget", "gear"), 0, "4 replicas divided equally over 1 ready cluster give it 4."),
        (("tree", "widget", "gear"), 0, "└─ cluster east"),
        (("events", "widget", "gear"), 0, "Turned"),
    ],
)
def test_a_custom_kind_is_shown_as_any_other(stage, words, code, told):
    ended, said = stage.say(*words)

    assert (ended, told in said) == (code, True), said


def test_a_custom_kind_is_planned_as_any_other(stage, tmp_path):
    (tmp_path / "widget.yaml").write_text(yaml.safe_dump({**GEAR, "metadata": {**GEAR["metadata"], "name": "cog"}}))

    code, said = stage.say("plan", "-f", tmp_path / "widget.yaml")

    assert (code, "Widget default/cog created in east" in said) == (1, True), said
