"""`hanse pods`, `hanse explain pod` and `hanse doors status`, typed against a source and a target over HTTPS.

No control plane runs: what it would have written is written by hand.
"""

import orjson
import pytest
import yaml

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.keys import ANSWERS, ELECT, HAS_FINALIZER, MANIFEST, PROXY_SCHEDULER, REASON, TARGET
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.kube.client import WriteOptions
from hanse.kube.resources import NAMESPACES, PODS
from hanse.pods.installing.opening import write_into
from hanse.pods.installing.targets import target_manifests
from hanse.pods.placeholder.template import chaperon_of
from tests.component.served_federation import ServedFederation
from tests.unit.defined_tests import CHECKOUT

REFUSAL = '{"west": {"at": "2026-01-01T00:00:00Z", "why": "0/3 nodes are available"}}'


def submitted(name):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "batch", "annotations": {ELECT: ""}},
        "spec": {"containers": [{"name": "main", "image": "crunch:1", "resources": {"requests": {"cpu": "100m"}}}]},
    }


def placeholder(name, **annotations):
    pod = submitted(name)
    kept = {ELECT: "", MANIFEST: yaml.safe_dump(pod), **annotations}
    metadata = {**pod["metadata"], "annotations": kept, "labels": {HAS_FINALIZER: "true"}}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "schedulerName": PROXY_SCHEDULER}}


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("elsewhere"), "east", "west")
    for name in ("east", "west"):
        opened.join(name, region=name)
    opened.ask(send(opened))
    yield opened
    opened.close()


async def send(stage):
    east, west = stage.clients["east"], stage.clients["west"]
    for client in (east, west):
        await write_into(client, ADMIRALTY_CRDS)
        labels = {"multicluster-scheduler": "enabled"}
        await client.create(NAMESPACES, {"metadata": {"name": "batch", "labels": labels}})
    for target in target_manifests("east", ("east", "west")):
        await east.create(CLUSTER_TARGETS, target)
    await stage.host.patch(CLUSTERS, "east", {"metadata": {"annotations": {DOORS_ANNOTATION: "pods"}}})
    placed = await east.create(PODS, placeholder("placed", **{TARGET: "west", REASON: "it has most room"}))
    await west.create(POD_CHAPERONS, chaperon_of("east", placed, submitted("placed")))
    await east.patch(PODS, "placed", {"status": {"phase": "Running"}}, "batch", subresource="status")
    await east.create(PODS, placeholder("waiting", **{ANSWERS: REFUSAL}))
    await east.create(PODS, submitted("ordinary"))


@pytest.fixture
def hanse(stage):
    return stage.say


def test_one_table_says_where_pods_really_run(hanse):
    code, told = hanse("pods", "-n", "batch")

    lines = [line.split() for line in told.splitlines()]
    assert code == 0
    assert lines[0] == ["SOURCE", "POD", "PHASE", "RUNS", "IN", "AGE", "WHY"]
    assert lines[1][:4] == ["east", "placed", "Running", "west"]
    assert " ".join(lines[1][5:]) == "it has most room"
    assert lines[2][:4] == ["east", "waiting", "Pending", "-"]


def test_programs_are_told_what_the_others_answered_and_what_the_pod_is_called_there(hanse):
    code, told = hanse("pods", "-A", "--source", "east", "-o", "json")

    placed, waiting = orjson.loads(told)["items"]
    assert code == 0
    assert placed["child"].startswith("placed-")
    assert (placed["cluster"], waiting["cluster"]) == ("west", "")
    assert waiting["answers"] == {"west": "0/3 nodes are available"}


def test_a_cluster_without_elected_pods_says_so(hanse):
    assert hanse("pods", "-n", "batch", "--source", "west") == (
        0,
        "no pod of namespace batch was elected to run elsewhere\n",
    )
    assert hanse("pods", "--source", "mars")[0] == 1


def test_a_pod_is_explained_in_one_paragraph_and_target_by_target(hanse):
    code, told = hanse("explain", "pod", "placed", "-n", "batch")

    assert code == 0
    assert told.startswith("Pod batch/placed of east: runs in west as placed-")
    assert "at the first attempt, since it has most room" in told
    assert "\neast  " in told
    assert "\nwest  has the pod" in told
    assert not any(word in told for word in ("It is named", "At most 1 cluster"))


def test_a_target_that_refused_a_pod_is_explained_by_its_answer(hanse):
    code, told = hanse("explain", "pod/waiting", "--source", "east", "-o", "json")

    targets = {each["cluster"]: each for each in orjson.loads(told)["clusters"]}
    assert code == 0
    assert not targets["west"]["chosen"]
    assert any("0/3 nodes are available" in sentence for sentence in targets["west"]["sentences"])
    assert targets["east"]["chosen"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["explain", "pod", "ordinary", "-n", "batch"], 1, "it was made before the door was open"),
        (["explain", "pod", "nobody", "-n", "batch"], 1, "no pod nobody of namespace batch was elected"),
        (["doors", "disable", "pods", "--cluster", "east", "--wait", "-3"], 2, "-3.0 is not in the range x>=0"),
        (["explain", "deployment", "web", "--source", "east"], 2, "--source: is for pods"),
        (["doors", "enable", "windows", "--cluster", "east"], 2, "'windows' is not one of 'pods', 'composites'"),
        (["doors", "enable", "pods", "--cluster", "mars"], 1, "--cluster: no cluster mars is a member"),
        (["doors", "enable", "pods", "--cluster", "east"], 2, "--image: name an image"),
        (["doors", "disable", "pods", "--cluster", "east", "--context", "x"], 2, "--context: needs --kubeconfig"),
        (["doors", "enable", "pods", "--cluster", "east", "--targets", " ,"], 2, "--targets: name at least one"),
    ],
)
def test_what_cannot_be_said_or_done_is_one_sentence(hanse, words, code, told):
    assert hanse(*words)[0] == code
    assert told in hanse(*words)[1]


def test_the_state_of_every_door_is_shown(hanse):
    code, told = hanse("doors", "status", "-o", "wide")

    rows = [line.split()[:9] for line in told.splitlines()[1:]]
    assert code == 0
    assert rows[0][:8] == ["east", "open", "closed", "closed", "0/2", "1", "1", "0"]
    assert rows[0][8] == "batch"
    assert rows[1][:8] == ["west", "closed", "closed", "closed", "-", "0", "0", "1"]


def test_the_examples_are_accepted_by_a_cluster(stage):
    async def try_all():
        client = stage.clients["west"]
        for path in sorted((CHECKOUT / "examples/pods").glob("*.yaml")):
            for manifest in yaml.safe_load_all(path.read_text()):
                kind = await client.resource_of(manifest)
                if kind != NAMESPACES:
                    await client.create(kind, manifest, options=WriteOptions(field_validation="Strict"))
                tried.append(path.name)

    tried = []
    stage.ask(try_all())

    assert len(set(tried)) == 7
