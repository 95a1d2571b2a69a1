"""Every command that says what becomes of an object, typed about federated ones: a host and two clusters over HTTPS.

No control plane runs: what the members have is written by hand, as the engine would have written it.
"""

import orjson
import pytest
import yaml

from hanse.api.kubefed.forms import CLUSTER_ROLES, FORM_A, FORM_D, template_resource
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.names import HOST_ANNOTATION, SYSTEM_NAMESPACE
from hanse.cli.enrolment import federated_kinds
from hanse.cli.rehearsal import Federation, fleet
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, EVENTS, NAMESPACES
from tests.component.served_federation import ServedFederation
from tests.unit.federated.cases import federated, in_clusters, override, part, preference

MEMBERS = ("east", "west")
FEDERATED_DEPLOYMENTS = template_resource(FORM_D, DEPLOYMENTS)
SERVED = ("FederatedDeployment", "FederatedDeploymentPlacement", "FederatedNamespace", "ReplicaSchedulingPreference")
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def written(obj):
    """An object as a user writes it, without what a server adds."""
    kept = {name: value for name, value in obj["metadata"].items() if name in ("name", "namespace")}
    return {**obj, "metadata": kept}


WEB = written(
    federated(placement=in_clusters(*MEMBERS), overrides=[override("west", {"path": "/spec/replicas", "value": 5})])
)
SPLIT = written(federated(form=FORM_A, name="old"))
PLACEMENT = written(part("Deployment", "Placement", {"clusterNames": ["east"]}, name="old"))
PREFERENCE = written(preference(total=9, clusters={"east": {"weight": 1}, "west": {"weight": 2}}))


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("federated"), *MEMBERS)
    for name in MEMBERS:
        opened.join(name, region=name)
    opened.ask(roll_out(opened))
    yield opened
    opened.close()


async def roll_out(stage):
    for definition in kubefed_definitions(forms=(FORM_D, FORM_A)):
        if definition["spec"]["names"]["kind"] in SERVED:
            await stage.host.create(CRDS, definition)
    for client in stage.clients.values():
        await client.create(NAMESPACES, SHOP)
    for manifest in (SPLIT, PLACEMENT):
        await stage.host.create(await stage.host.resource_of(manifest), manifest)
    source = await stage.host.create(FEDERATED_DEPLOYMENTS, WEB)
    wanted = Federation(fleet({name: {} for name in MEMBERS})).rehearse(source).planned.wanted
    for name in MEMBERS:
        client, manifest = stage.clients[name], wanted[name].manifest
        await client.create(DEPLOYMENTS, manifest)
        count = manifest["spec"]["replicas"]
        status = {"observedGeneration": 1, "replicas": count, "readyReplicas": count, "availableReplicas": count}
        await client.patch(DEPLOYMENTS, "web", {"status": status}, "shop", subresource="status")
        # A cluster's own, of which the federation knows nothing.
        await client.create(DEPLOYMENTS, {**manifest, "metadata": {"name": "local", "namespace": "shop"}})
        await client.create(EVENTS, told_of("Deployment", "web", "Scaled"))
    await stage.host.create(EVENTS, told_of("FederatedDeployment", "web", "Placed"))


def told_of(kind, name, reason):
    return {
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "shop"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "shop"},
        "reason": reason,
        "message": "as it should be",
        "type": "Normal",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


@pytest.fixture
def hanse(stage):
    return stage.say


def write(folder, *objects):
    path = folder / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


@pytest.mark.parametrize("word", ["fdeploy", "federateddeployment", "federateddeployments.types.kubefed.io"])
def test_an_explanation_tells_what_every_cluster_has_of_a_federated_object(hanse, word):
    code, told = hanse("explain", word, "web")

    assert code == 0
    assert told.startswith("FederatedDeployment shop/web: 8 replicas wanted, 8 available\n")
    assert "east  3 replicas, 3 available" in told
    assert "west  5 replicas, 5 available" in told
    assert "Overrides change /spec/replicas." in told


def test_what_is_asked_about_a_copy_leads_to_the_object_that_speaks_for_it(hanse):
    code, told = hanse("explain", "deploy", "web", "-n", "shop")

    assert code == 0
    assert told.startswith("FederatedDeployment shop/web: ")
    assert "Note: FederatedDeployment shop/web speaks for Deployment shop/web.\n" in told


def test_a_kind_without_its_group_means_whichever_group_has_the_object(hanse):
    code, told = hanse("explain", "federateddeployment", "old")

    assert code == 0
    assert told.startswith("FederatedDeployment shop/old: 3 replicas wanted, 0 available\n")
    assert "add west to the clusters that its policy or placement names" in told


@pytest.mark.parametrize("words", [("fdeploy", "web"), ("deploy/web", "-n", "shop")])
def test_a_tree_has_the_copies_of_a_federated_object_in_every_cluster(hanse, words):
    code, told = hanse("tree", *words)

    assert code == 0
    assert [line.split()[:4] for line in told.splitlines()[1:]] == [
        ["FederatedDeployment/web", "-", "ok", "-"],
        ["├─", "cluster", "east", "3/3"],
        ["└─", "cluster", "west", "5/5"],
    ]


def test_events_are_those_of_a_federated_object_and_of_its_copies(hanse):
    code, told = hanse("events", "fdeploy", "web", "-o", "json")

    assert code == 0
    assert sorted((each["cluster"], each["kind"], each["reason"]) for each in orjson.loads(told)["events"]) == [
        ("(federation)", "FederatedDeployment", "Placed"),
        ("east", "Deployment", "Scaled"),
        ("west", "Deployment", "Scaled"),
    ]


def test_one_table_has_federated_objects_and_the_replicas_of_their_copies(hanse):
    code, told = hanse("get", "fdeploy", "-n", "shop")

    heading, *lines = [line.split() for line in told.splitlines()]
    assert code == 0
    assert heading == ["CLUSTER", "NAME", "PROPAGATED", "REASON", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert [line[:5] for line in lines] == [
        ["(federation)", "web", "-", "-", "-"],
        ["east", "web", "-", "-", "3/3"],
        ["west", "web", "-", "-", "5/5"],
    ]


def test_a_table_of_a_kind_without_its_group_is_of_whichever_group_has_objects(stage, hanse):
    in_west = {**SPLIT, "metadata": {"name": "lonely", "namespace": "default"}}
    stage.ask(stage.host.create(template_resource(FORM_A, DEPLOYMENTS), in_west))

    _, bare = hanse("get", "federateddeployments")
    _, newest = hanse("get", "federateddeployments.types.kubefed.io")

    assert "lonely" in bare
    assert newest.startswith("no federateddeployments.types.kubefed.io in namespace default")


def test_a_plan_shows_what_a_changed_override_changes_in_its_cluster(hanse, tmp_path):
    changed = {"overrides": [override("west", {"path": "/spec/replicas", "value": 7})]}
    code, told = hanse("plan", "-f", write(tmp_path, {**WEB, "spec": {**WEB["spec"], **changed}}))

    assert code == 1
    assert "FederatedDeployment shop/web changed in west\n" in told
    assert [line for line in told.splitlines() if line.startswith(("+", "-"))] == ["-  replicas: 5", "+  replicas: 7"]


def test_a_plan_of_a_preference_shows_what_it_makes_of_the_object_that_it_speaks_of(hanse, tmp_path):
    code, told = hanse("plan", "-f", write(tmp_path, PREFERENCE), "-o", "json")

    (planned,) = orjson.loads(told)["objects"]
    assert code == 1
    assert planned["object"] == "FederatedDeployment shop/web"
    assert planned["placedBy"] == ["ReplicaSchedulingPreference shop/web divides 9 replicas"]
    assert {part["cluster"]: part["replicas"] for part in planned["clusters"]} == {"east": 4, "west": 5}


def test_a_plan_of_a_placement_moves_the_object_that_it_belongs_to(hanse, tmp_path):
    code, told = hanse("plan", "-f", write(tmp_path, {**PLACEMENT, "spec": {"clusterNames": ["west"]}}))

    assert code == 1
    assert "FederatedDeployment shop/old removed in east (only west may be used)\n" in told
    assert "FederatedDeployment shop/old created in west\n" in told


def test_a_plan_of_a_federated_namespace_takes_its_namespace_over_and_shows_what_leaves_with_it(hanse, tmp_path):
    federated_namespace = written(federated("Namespace", template={}, name="shop", placement=in_clusters("east")))
    code, told = hanse("plan", "-f", write(tmp_path, SHOP, federated_namespace))

    assert code == 1
    assert "FederatedNamespace shop/shop changed in east\n" in told
    assert "FederatedNamespace shop/shop removed in west" in told
    assert "FederatedDeployment shop/web removed in west (only east may be used)\n" in told


def test_a_plan_says_of_the_second_of_two_that_mean_the_same_who_has_the_word(hanse, tmp_path):
    plain = {**WEB["spec"]["template"], "apiVersion": "apps/v1", "kind": "Deployment", "metadata": WEB["metadata"]}
    code, told = hanse("plan", "-f", write(tmp_path, plain))

    assert code == 2
    assert "Deployment shop/web: FederatedDeployment shop/web speaks for Deployment shop/web\n" in told


def test_a_cluster_that_joins_gives_rights_on_what_federated_kinds_put_there_and_not_on_roles(stage):
    kinds = stage.ask(federated_kinds(stage.host))

    assert {DEPLOYMENTS, NAMESPACES} <= set(kinds)
    assert not {kind.group for kind in kinds} & {FORM_D.group, FORM_A.group, CLUSTER_ROLES.group}


def test_on_a_cluster_with_work_of_its_own_plain_objects_are_not_said_to_be_federated(stage, hanse):
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}}
    stage.ask(stage.host.create(CONFIGMAPS, mine))
    assert hanse("explain", "configmap", "mine")[0] == 0

    def turn_into(host):
        patch = {"metadata": {"annotations": {HOST_ANNOTATION: host}}}
        stage.ask(stage.host.patch(NAMESPACES, SYSTEM_NAMESPACE, patch))

    turn_into("existing")
    code, told = hanse("explain", "configmap", "mine")
    turn_into(None)

    assert code == 1
    assert "ConfigMap default/mine is not federated" in told
