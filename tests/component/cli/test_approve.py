"""`hanse approve` typed against a host that is served over HTTPS."""

from functools import partial

import orjson
import pytest

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.held_changes import HELD_CHANGES, held_change
from hanse.api.names import ROLLOUT_ANNOTATION, ROLLOUT_APPROVED_ANNOTATION
from hanse.kube.resources import CONFIGMAPS, Resource
from tests.component.served_federation import ServedFederation

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
CHANGE = {
    "objects": 30,
    "of": 40,
    "clusters": [{"name": "eu", "objects": 30}],
    "examples": ["configmaps/shop/settings"],
    "approved": False,
}
ROLLING = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "settings",
        "namespace": "shop",
        "annotations": {ROLLOUT_ANNOTATION: '{"template": "abc", "asksFor": 2}'},
    },
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("approve"))
    yield opened
    opened.close()


@pytest.fixture
def hanse(stage):
    return partial(stage.say, "approve")


def test_what_waits_is_listed_and_approved_one_by_one(stage, hanse):
    assert hanse() == (0, "nothing waits for approval\n")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    stage.ask(stage.host.create(stage.ask(stage.host.discovery.named("namespaces")), namespace))
    stage.ask(stage.host.create(HELD_CHANGES, held_change("native", CHANGE)))
    stage.ask(stage.host.create(CONFIGMAPS, ROLLING))

    code, listed = hanse()
    assert code == 0
    assert listed.splitlines() == [
        "WHAT                 NAMESPACE   WAITS FOR",
        "native               -           30 of 40 objects would leave clusters that have them: eu (30)",
        "configmap/settings   shop        its new version goes on to group 3 of its rollout",
    ]
    code, document = hanse("-o", "json")
    assert orjson.loads(document)["items"][0]["examples"] == ["configmaps/shop/settings"]

    code, said = hanse("native", "--dry-run")
    assert (code, said.split(":")[0]) == (0, "native would be approved")
    assert not stage.ask(stage.host.get(HELD_CHANGES, "native"))["spec"]["approved"]

    code, said = hanse("native")
    assert (code, said.split(":")[0]) == (0, "native approved")
    assert stage.ask(stage.host.get(HELD_CHANGES, "native"))["spec"]["approved"]

    stage.ask(stage.host.create(FEDERATED_KINDS, federated_kind_manifest(ROLES)))
    role = {**ROLLING, "apiVersion": ROLES.api_version, "kind": "Role"}
    stage.ask(stage.host.create(ROLES, role))
    assert hanse("-o", "name") == (0, "configmap/settings\nrole/settings\n")

    assert hanse("configmap", "settings")[0] == 0
    source = stage.ask(stage.host.get(CONFIGMAPS, "settings", "shop"))
    assert source["metadata"]["annotations"][ROLLOUT_APPROVED_ANNOTATION] == "abc/2"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("federated",), 1, "no change 'federated' waits for approval; `hanse approve` lists what does"),
        (("configmap", "kube-root-ca.crt", "-n", "kube-system"), 1, "waits for approval"),
        (("configmap", "nothing"), 1, 'configmaps "nothing" not found'),
        (("unicorn", "x"), 1, "serves no kind 'unicorn'"),
        (("a", "b", "c"), 2, "names no object"),
    ],
)
def test_what_does_not_wait_is_refused_in_one_sentence(hanse, words, code, sentence):
    ended, said = hanse(*words)

    assert ended == code
    assert sentence in said
    assert len(said.splitlines()) == 1
