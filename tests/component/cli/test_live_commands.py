"""`get`, `tree`, `events`, `plan` and `explain` typed against a host and two clusters that are served over HTTPS.

No control plane runs: what the members have is written by hand, as the engine would have written it.
"""

import asyncio
from typing import Any

import orjson
import pytest
import yaml

from hanse.api.clusters import CLUSTERS
from hanse.cli.following import Followed
from hanse.cli.rehearsal import Federation, fleet
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import owner_reference
from hanse.kube.reflector import Scope
from hanse.kube.resources import DEPLOYMENTS, EVENTS, PODS, REPLICASETS
from tests.component.served_federation import ServedFederation

MEMBERS = ("east", "west")
CONTAINERS = {"containers": [{"name": "main", "image": "web:1"}]}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": CONTAINERS},
    },
}


def owned(owner, name, api_version, kind, spec):
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"app": "web"},
        "ownerReferences": [owner_reference(owner)],
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def told_of(kind, name, reason, when):
    return {
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "default"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "default"},
        "reason": reason,
        "message": "as it should be",
        "type": "Normal",
        "lastTimestamp": when,
    }


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("live"), *MEMBERS)
    for name in MEMBERS:
        opened.join(name, region=name)
    opened.ask(roll_out(opened))
    yield opened
    opened.close()


async def roll_out(stage):
    source = await stage.host.create(DEPLOYMENTS, WEB)
    planned = Federation(fleet({name: {} for name in MEMBERS})).rehearse(source).planned
    for name in MEMBERS:
        client = stage.clients[name]
        copy = await client.create(DEPLOYMENTS, planned.wanted[name].manifest)
        status = {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        await client.patch(DEPLOYMENTS, "web", {"status": status}, "default", subresource="status")
        spec = {**WEB["spec"], "replicas": 1}
        replica_set = await client.create(REPLICASETS, owned(copy, "web-1", "apps/v1", "ReplicaSet", spec))
        await client.create(PODS, owned(replica_set, "web-1-x", "v1", "Pod", CONTAINERS))
        await client.create(EVENTS, told_of("Pod", "web-1-x", "Pulling", f"2026-01-01T00:00:0{MEMBERS.index(name)}Z"))
    await stage.host.create(EVENTS, told_of("Deployment", "web", "Placed", "2026-01-01T00:00:09Z"))


@pytest.fixture
def hanse(stage):
    return stage.say


def write(folder, *objects):
    path = folder / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


def test_one_table_has_the_federation_and_every_cluster(hanse):
    code, told = hanse("get", "deploy/web")

    lines = told.splitlines()
    assert code == 0
    assert [line.split()[:2] for line in lines] == [
        ["CLUSTER", "NAME"],
        ["(federation)", "web"],
        ["east", "web"],
        ["west", "web"],
    ]
    assert all(len(line) <= 80 for line in lines)


def test_following_hears_of_a_change_where_it_happens_and_of_clusters_that_come(stage):
    async def image(client):
        found = await client.get(DEPLOYMENTS, "web", "default")
        return found["metadata"].get("annotations", {}).get("look", "")

    async def until(heard, *wanted):
        missing = set(wanted)
        while missing:
            told = await heard.get()
            missing -= {(told.cluster, told.answer)}
        return heard

    async def follow():
        heard = asyncio.Queue()
        followed = Followed(stage.host, DEPLOYMENTS, Scope("default", metadata_only=True), image, heard.put_nowait)
        following = asyncio.create_task(followed.run())
        async with asyncio.timeout(60):
            await until(heard, ("(federation)", ""), ("east", ""), ("west", ""))
            look = {"metadata": {"annotations": {"look": "here"}}}
            await stage.clients["east"].patch(DEPLOYMENTS, "web", look, "default")
            await until(heard, ("east", "here"))
            # Nobody else was asked again.
            assert heard.empty()
            await join(stage.host, joining_manifests("mars", Endpoint("https://127.0.0.1:1", token="t"), {}))
            await until(heard, ("mars", None))
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await stage.clients["east"].patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {"look": None}}}, "default")
        await stage.host.delete(CLUSTERS, "mars")

    stage.ask(follow())


def test_a_cluster_without_credentials_is_a_warning_and_hides_nobody_else(stage, hanse):
    bare = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": "bare"}}
    stage.ask(stage.host.create(CLUSTERS, bare))
    code, told = hanse("get", "deploy/web")
    stage.ask(stage.host.delete(CLUSTERS, "bare"))

    assert code == 0
    assert "warning: bare: cluster bare names no credentials in spec.authInfo.controller" in told
    assert [line.split()[0] for line in told.splitlines()[-2:]] == ["east", "west"]


def test_labels_choose_what_is_shown(hanse):
    assert "web-1-x" in hanse("get", "pods", "-l", "app=web")[1]
    assert "no pods in namespace default" in hanse("get", "pods", "-l", "app=other")[1]


def test_the_tree_leads_from_the_source_to_the_pods(hanse):
    code, told = hanse("tree", "deployment", "web")

    assert code == 0
    assert [line.split("  ")[0].strip() for line in told.splitlines()[1:5]] == [
        "Deployment/web",
        "├─ cluster east",
        "│",
        "│",
    ]
    assert told.count("Pod/web-1-x") == 2
    assert "\x1b" not in told


def test_events_of_all_servers_are_one_story(hanse):
    code, told = hanse("events", "deploy/web", "-o", "json")

    assert code == 0
    assert [(each["cluster"], each["reason"]) for each in orjson.loads(told)["events"]] == [
        ("east", "Pulling"),
        ("west", "Pulling"),
        ("(federation)", "Placed"),
    ]
    assert len(hanse("events", "--last", "1")[1].splitlines()) == 2


def test_a_plan_of_what_is_there_changes_nothing(hanse, tmp_path):
    assert hanse("plan", "-f", write(tmp_path, WEB)) == (0, "Nothing would change.\n")


def test_a_plan_is_a_diff_for_each_group_of_clusters_and_writes_nothing(hanse, stage, tmp_path):
    newer = {**WEB, "spec": {**WEB["spec"], "replicas": 5}}

    code, told = hanse("plan", "-f", write(tmp_path, newer))

    assert code == 1
    assert "-  replicas: 2\n+  replicas: 3\n" in told
    assert told.endswith("1 changed over all clusters.\n")
    assert stage.ask(stage.clients["host"].get(DEPLOYMENTS, "web", "default"))["spec"]["replicas"] == 4


def test_a_plan_shows_what_a_policy_moves_and_what_a_loss_means(hanse, tmp_path):
    policy = {
        "apiVersion": "hanse.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "home", "namespace": "default"},
        "spec": {"selects": [{"kind": "Deployment"}], "clusters": {"names": ["east"]}},
    }

    code, told = hanse("plan", "-f", write(tmp_path, policy))
    assert code == 1
    assert "Deployment default/web removed in west (only east may be used)" in told
    assert hanse("plan", "--lose", "west", "-o", "name") == (1, "Deployment default/web\n")


def test_secrets_are_planned_without_their_values(hanse, tmp_path):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"password": "s3cret"}}

    code, told = hanse("plan", "-f", write(tmp_path, secret))

    assert (code, told.count("created in east, west")) == (1, 1)
    assert "s3cret" not in told
    assert "czNjcmV0" not in told


@pytest.mark.parametrize(
    ("obj", "sentence"),
    [
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": CONTAINERS},
            "pods are not federated: write a Deployment, whose pods run in the clusters",
        ),
        ({**WEB, "spec": {**WEB["spec"], "replicas": -1}}, "must be greater than or equal to 0"),
        ({**WEB, "apiVersion": "apps/v7"}, 'no matches for kind "Deployment" in version "apps/v7"'),
    ],
)
def test_a_plan_of_what_cannot_be_had_ends_with_2_and_says_why(hanse, tmp_path, obj, sentence):
    code, told = hanse("plan", "-f", write(tmp_path, obj))

    assert code == 2
    assert sentence in told


def test_an_explanation_says_what_would_have_to_change(hanse, stage):
    stage.ask(stage.clients["host"].patch(CLUSTERS, "west", {"spec": {"unschedulable": True}}))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    selector = '[{"key": "region", "operator": "in", "values": ["east"]}]'
    config["metadata"]["annotations"] = {"federation.alpha.kubernetes.io/cluster-selector": selector}
    resource = stage.ask(stage.clients["host"].resource_of(config))
    stage.ask(stage.clients["host"].create(resource, config))

    code, told = hanse("explain", "cm/c")
    stage.ask(stage.clients["host"].patch(CLUSTERS, "west", {"spec": {"unschedulable": None}}))

    assert code == 0
    assert "To place it there: `kubectl label cluster west region=east --overwrite`" in told


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["get", "deploy", "no-such"], 1, "no deploy named no-such in namespace default"),
        (["get", "a/b/c"], 2, "'a/b/c' names no object; write `hanse get deployment web`"),
        (["get", "gizmos"], 1, "the federation serves no kind 'gizmos'"),
        (["get", "deploy/web", "-l", "app=web"], 2, "a name and -l/--selector do not go together"),
        (["get", "deploy/web", "-A"], 2, "a name is looked for in one namespace"),
        (["get", "deploy", "-w", "-o", "json"], 2, "-w prints tables only"),
        (["tree", "deploy"], 2, "which of the deploy? Write `hanse tree deploy NAME`"),
        (["tree", "deploy/no-such"], 1, '"no-such" not found in any namespace'),
        (["events", "deploy"], 2, "name an object, as `hanse events deployment web`"),
        (["explain", "pod", "web-1-x"], 1, "pods are not federated: write a Deployment"),
        (["plan"], 2, "name the objects with -f"),
        (["plan", "--lose", "mars"], 2, "--lose mars: there is no such cluster"),
    ],
)
def test_a_mistake_is_one_sentence_and_an_exit_code(hanse, arguments, code, sentence):
    ended, told = hanse(*arguments)

    assert ended == code
    assert sentence in told
    assert len(told.strip().splitlines()) == 1
