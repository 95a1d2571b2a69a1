"""`hanse doors enable` and `disable`, typed against clusters that have joined with an account of few rights."""

import asyncio
import socket

import pytest
import yaml

from hanse.api.admiralty.keys import ELECT, HAS_FINALIZER, MANIFEST, POD_FINALIZER, PREFIX, PROXY_SCHEDULER
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.cli.agent_admission import admit
from hanse.cli.agent_chaperons import keep
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.errors import ApiError
from hanse.kube.manifest import annotations_of, dig, finalizers_of
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES, NODES, PODS, SECRETS
from hanse.pods.admission.certificate_secret import CONFIGURATION_NAME, MUTATING_WEBHOOKS
from hanse.pods.installing.closing import listed as listing
from hanse.pods.placeholder.template import chaperon_of
from tests.component.served_federation import ServedFederation

# Where the admission server of this module answers, in the test that runs one.
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    PORT = probe.getsockname()[1]
URL = f"https://127.0.0.1:{PORT}"
ENABLE = ("doors", "enable", "pods", "--cluster", "east")
DISABLE = ("doors", "disable", "pods", "--cluster", "east", "--wait", "0.3")


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("doors"), "east", "west")
    for name in ("east", "west"):
        code, told = opened.say("join", name, "--kubeconfig", opened.config)
        assert code == 0, told
    yield opened
    opened.close()


def doors(stage, cluster="east"):
    return annotations_of(stage.ask(stage.host.get(CLUSTERS, cluster))).get(DOORS_ANNOTATION)


def open_door(stage, *words):
    code, told = stage.say(*ENABLE, "--kubeconfig", stage.config, "--admission-url", URL, *words)
    assert code == 0, told
    return told


def everything(stage):
    """Return the versions of what a door is made of, wherever it is."""

    async def read():
        kinds = (CRDS, CLUSTER_TARGETS, CLUSTER_ROLES, MUTATING_WEBHOOKS, CLUSTERS)
        listed = [await listing(stage.clients[name], kind) for name in ("host", "east", "west") for kind in kinds]
        return [each["metadata"]["resourceVersion"] for items in listed for each in items]

    return stage.ask(read())


def test_a_rehearsal_shows_everything_place_by_place_and_changes_nothing(stage):
    before = everything(stage)
    done = stage.type(*ENABLE, "--image", "hanse:1", "--kubeconfig", stage.config, "--dry-run")

    documents = [each for each in yaml.safe_load_all(done.stdout) if each]
    kinds = [each["kind"] for each in documents]
    assert done.exit_code == 0, done.output
    assert done.stdout.index("# in the cluster west") < done.stdout.index("# in the cluster east")
    assert done.stdout.index("# in the cluster east") < done.stdout.index("# in the federation")
    assert kinds.count("CustomResourceDefinition") == 12
    assert {"Deployment", "Service", "PodDisruptionBudget", "ClusterTarget", "MutatingWebhookConfiguration"} <= {*kinds}
    assert kinds.index("Deployment") < kinds.index("MutatingWebhookConfiguration")
    secret = next(each for each in documents if each["kind"] == "Secret")
    assert all("hidden" in str(value).lower() for value in secret["data"].values())
    assert everything(stage) == before


def test_opening_a_door_again_changes_nothing_leaves_somebody_elses_target_alone_and_believes_no_source(stage):
    told = open_door(stage)
    east = stage.clients["east"]

    async def written():
        webhook = await east.get(MUTATING_WEBHOOKS, CONFIGURATION_NAME)
        secret = await east.get(SECRETS, "hanse-admission", "hanse-system")
        role = await stage.host.get(CLUSTER_ROLES, "hanse:east:pods")
        return [each["metadata"]["resourceVersion"] for each in (webhook, secret, role)]

    targets = {each["metadata"]["name"]: each["spec"] for each in stage.ask(east.list(CLUSTER_TARGETS)).items}
    before = stage.ask(written())
    stage.ask(east.patch(CLUSTER_TARGETS, "east", {"metadata": {"labels": {"hanse.dev/door": None}}}))
    # Whoever administers the source names a cluster that the federation has not given it.
    attic = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "metadata": {"name": "attic"}}
    stage.ask(stage.host.create(CLUSTERS, {**attic, "spec": {"server": "https://127.0.0.1:1"}}))
    sneaky = {"apiVersion": CLUSTER_TARGETS.api_version, "kind": CLUSTER_TARGETS.kind, "metadata": {"name": "sneaky"}}
    stage.ask(east.create(CLUSTER_TARGETS, {**sneaky, "spec": {"clusterName": "attic"}}))
    # What is there admits already.
    again = stage.say(*ENABLE, "--targets", "east", "--kubeconfig", stage.config)
    stage.ask(stage.host.delete(CLUSTERS, "attic"))
    for name in ("east", "west", "sneaky"):
        stage.ask(east.delete(CLUSTER_TARGETS, name))

    assert "pods of cluster east may run in east, west" in told
    assert targets == {"east": {"self": True}, "west": {"clusterName": "west"}}
    assert stage.ask(stage.host.get(CLUSTER_ROLES, "hanse:east:pods"))["rules"][0]["resourceNames"] == ["west"]
    assert doors(stage) == "pods"
    assert "note: ClusterTarget east is somebody else's and stays as it is" in again[1]
    assert "a ClusterTarget of east names cluster attic, which its pods may not use; give it with --targets" in again[1]
    assert (again[0], stage.ask(written())) == (0, before)


def test_a_context_of_another_cluster_is_refused_before_anything_is_written(stage):
    uid = dig(stage.ask(stage.host.get(CLUSTERS, "east")), "status", "clusterUID")

    async def say_uid(value):
        await stage.host.patch(CLUSTERS, "east", {"status": {"clusterUID": value}}, subresource="status")

    stage.ask(say_uid("of-another-cluster"))
    before = everything(stage)
    code, told = stage.say(*ENABLE, "--kubeconfig", stage.config, "--admission-url", URL)
    after = everything(stage)
    stage.ask(say_uid(uid))

    assert (code, "its context east leads to another cluster than the member east" in told) == (2, True)
    assert after == before


def test_a_door_that_closes_while_a_cluster_cannot_be_asked_says_so_and_fails(stage):
    lost = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "metadata": {"name": "lost"}}
    stage.ask(stage.host.create(CLUSTERS, {**lost, "spec": {"server": "https://127.0.0.1:1"}}))
    code, told = stage.say(*DISABLE, "--kubeconfig", stage.config, "--yes")
    stage.ask(stage.host.delete(CLUSTERS, "lost"))

    assert code == 1
    assert "cluster east sends no pods elsewhere any more" in told
    assert "error: what lost may still run for east could not be stopped: " in told


def test_hanses_own_account_may_not_open_a_door_and_says_what_to_do(stage):
    before = everything(stage)
    code, told = stage.say(*ENABLE, "--admission-url", URL)

    assert code == 1
    assert "give a kubeconfig of somebody who may with --kubeconfig, or apply there what --dry-run prints" in told
    assert everything(stage) == before


def test_no_pod_is_refused_while_no_server_answers(stage):
    west = stage.clients["west"]
    words = ("doors", "enable", "pods", "--cluster", "west", "--targets", "west", "--image", "hanse:1", "--wait", "0")
    code, told = stage.say(*words, "--kubeconfig", stage.config)

    assert code == 1
    assert "so the API server is not told to call it yet" in told
    assert stage.ask(west.find(DEPLOYMENTS, "hanse-admission", "hanse-system")) is not None
    assert stage.ask(west.find(MUTATING_WEBHOOKS, CONFIGURATION_NAME)) is None
    assert doors(stage, "west") is None


async def leave_placeholders(east):
    """Leave what a control plane that died had under way."""
    await east.create(NAMESPACES, {"metadata": {"name": "batch"}})
    held = {"labels": {HAS_FINALIZER: "true"}, "finalizers": [f"{PREFIX}west", POD_FINALIZER]}
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": PROXY_SCHEDULER}
    for name, phase in (("running", "Running"), ("ended", "Succeeded")):
        metadata = {"name": name, "namespace": "batch", "annotations": {ELECT: "", MANIFEST: "{}"}, **held}
        await east.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        await east.patch(PODS, name, {"status": {"phase": phase}}, "batch", subresource="status")
    baggage = {"name": "baggage", "namespace": "batch", "finalizers": [POD_FINALIZER]}
    await east.create(CONFIGMAPS, {"metadata": baggage})
    await east.create(
        NODES, {"metadata": {"name": "admiralty-west", "labels": {"virtual-kubelet.io/provider": "admiralty"}}}
    )


def test_52_a_door_that_closes_leaves_nothing_stuck_even_where_no_control_plane_runs(stage):
    open_door(stage, "--targets", "east")
    east = stage.clients["east"]
    stage.ask(leave_placeholders(east))
    config = ("--kubeconfig", stage.config)

    leaving = stage.say("unjoin", "east", "--keep")
    asked = stage.say(*DISABLE, *config)
    held = finalizers_of(stage.ask(east.get(PODS, "running", "batch")))
    code, told = stage.say(*DISABLE, *config, "--yes")

    assert leaving[0] == 1
    assert "`hanse doors disable pods --cluster east` first" in leaving[1]
    assert (asked[0], "1 that wait for a place are deleted" in asked[1], len(held)) == (1, True, 2)
    assert code == 0, told
    assert "cluster east sends no pods elsewhere any more" in told
    assert stage.ask(east.find(PODS, "running", "batch")) is None
    assert finalizers_of(stage.ask(east.get(PODS, "ended", "batch"))) == []
    assert finalizers_of(stage.ask(east.get(CONFIGMAPS, "baggage", "batch"))) == []
    assert doors(stage) is None
    for kind in (CLUSTER_TARGETS, NODES, MUTATING_WEBHOOKS):
        assert stage.ask(east.list(kind)).items == []
    assert stage.ask(east.find(SECRETS, "hanse-admission", "hanse-system")) is None
    for kind in (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS):
        assert stage.ask(east.list(kind, labels="hanse.dev/door=pods")).items == []
        assert stage.ask(stage.host.list(kind, labels="hanse.dev/door=pods,hanse.dev/member=east")).items == []
    assert dig(stage.ask(east.get(CLUSTER_ROLES, "hanse:east")), "metadata", "name") == "hanse:east"
    assert stage.say(*DISABLE, *config, "--yes")[0] == 0


async def forget(client, kind, obj):
    """Take an object away that others would wait for."""
    metadata = obj["metadata"]
    await client.patch(kind, metadata["name"], {"metadata": {"finalizers": None}}, metadata["namespace"])
    await client.delete(kind, metadata["name"], metadata["namespace"])


def pod(name):
    spec = {"containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": name, "namespace": "elected", "annotations": {ELECT: ""}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_12_an_agent_beside_a_cluster_admits_its_elected_pods_and_without_it_they_are_refused(stage):
    open_door(stage)
    east = stage.clients["east"]

    async def elect():
        labels = {"multicluster-scheduler": "enabled"}
        await east.create(NAMESPACES, {"metadata": {"name": "elected", "labels": labels}})
        with pytest.raises(ApiError, match="failed calling webhook"):
            await east.create(PODS, pod("early"))
        serving = asyncio.create_task(admit(stage.endpoints["east"], "east", "127.0.0.1", PORT))
        try:
            async with asyncio.timeout(60):
                while True:
                    try:
                        made = await east.create(PODS, pod("late"))
                    except ApiError:
                        await asyncio.sleep(0.05)
                        continue
                    await forget(east, PODS, made)
                    return made
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    made = stage.ask(elect())

    assert made["spec"]["schedulerName"] == PROXY_SCHEDULER
    assert {f"{PREFIX}east", f"{PREFIX}west"} <= {*finalizers_of(made)}


def test_an_agent_inside_a_cluster_makes_the_pods_that_were_sent_there(stage):
    open_door(stage)
    west = stage.clients["west"]
    parent = {"metadata": {"name": "p", "namespace": "default", "uid": "u1"}}
    sent = {"metadata": {}, "spec": pod("p")["spec"]}

    async def receive():
        keeping = asyncio.create_task(keep(west, "agent"))
        made = await west.create(POD_CHAPERONS, chaperon_of("east", parent, sent))
        try:
            async with asyncio.timeout(60):
                while True:
                    if (found := await west.find(PODS, made["metadata"]["name"], "default")) is not None:
                        return found
                    await asyncio.sleep(0.05)
        finally:
            await forget(west, POD_CHAPERONS, made)
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    owner = stage.ask(receive())["metadata"]["ownerReferences"][0]

    assert (owner["kind"], owner["controller"]) == ("PodChaperon", True)
