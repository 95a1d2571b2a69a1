"""The real KubeFed and Hanse, one after the other on the same real clusters, with the same YAML.

KubeFed is given every example, and stopped. Hanse takes over, and touches nothing; then everything is deleted through
it, and it is given the same examples. With HANSE_RECORD=1 what KubeFed left is recorded for the tests that run without.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import pytest

from tests.kubernetes.kubefed.control_plane import SYSTEM_NAMESPACE, KubeFed
from tests.kubernetes.kubefed.departures import DEPARTURES, agreed
from tests.kubernetes.kubefed.examples import CLUSTERS, LABELS, Obj, read_examples
from tests.kubernetes.kubefed.member_objects import identities, read_members
from tests.kubernetes.kubefed.playing import RECORDED, Left, Stage, settled, settled_in_kubefed
from tests.kubernetes.kubefed.taking_over import Hanse, everything
from tests.kubernetes.real import MEMBER, real_clusters, wait_until

# The tests share one world, which has to be in one process.
pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubefed"), pytest.mark.timeout(900)]

EXAMPLES = {example.name: example for example in read_examples()}
KUBEFED_CLUSTERS = "kubefedclusters.core.kubefed.io"
SAMPLE = ("federateddeployments.types.kubefed.io/test-deployment", "--namespace=test-namespace")
SAMPLE_COPY = ("deployment/test-deployment", "--namespace=test-namespace")
CANARY = "canary"
PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with real_clusters({"host": MEMBER, **dict.fromkeys(CLUSTERS, MEMBER)}) as clusters:
        host = clusters.pop("host")
        with ThreadPoolExecutor() as starters:
            list(starters.map(lambda index: clusters[CLUSTERS[index]].start_nodes(index=index), range(len(CLUSTERS))))
        yield Stage(host, clusters, list(EXAMPLES.values()))


@dataclass(frozen=True, slots=True)
class Running:
    """A KubeFed that has done its work: what it left, and what Hanse says to a take-over while it still runs."""

    kubefed: KubeFed
    left: Left
    refusal: str
    rehearsal: Obj


@pytest.fixture(scope="module")
def running(stage: Stage) -> Running:
    kubefed = KubeFed(stage.host)
    kubefed.install()
    kubefed.join(stage.members)
    for name, labels in LABELS.items():
        pairs = (f"{key}={value}" for key, value in labels.items())
        stage.host.kubectl("label", f"{KUBEFED_CLUSTERS}/{name}", f"--namespace={SYSTEM_NAMESPACE}", *pairs)
    kubefed.start()
    before = stage.begin(lambda: settled_in_kubefed(stage))
    stage.go_on()
    wait_until(lambda: settled_in_kubefed(stage), seconds=PATIENCE_SECONDS, what="KubeFed has settled")
    left = stage.left(before)
    if os.environ.get("HANSE_RECORD"):
        for example in stage.examples:
            recording = json.dumps(left.of(example), indent=1, sort_keys=True)
            (RECORDED / f"{example.name}.json").write_text(f"{recording}\n")
    hanse = Hanse(stage.host)
    return Running(kubefed, left, hanse.refusal("--yes"), hanse.migrate("--dry-run"))


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A take-over: what members had before, after `hanse migrate`, and once `hanse controller` had looked at it all."""

    before: dict[str, Obj]
    marked: dict[str, Obj]
    after: dict[str, Obj]
    report: Obj
    again: Obj
    edited: dict[str, tuple[str, list[str]]]
    leftover: dict[str, dict[str, Obj]]


@pytest.fixture(scope="module")
def hanse(stage: Stage) -> Iterator[Hanse]:
    here = Hanse(stage.host)
    yield here
    here.stop()


@pytest.fixture(scope="module")
def taken_over(stage: Stage, running: Running, hanse: Hanse) -> TakenOver:
    running.kubefed.stop()
    before = _at_rest(stage)
    report = hanse.migrate("--yes")
    marked = _at_rest(stage)
    again = hanse.migrate("--yes", "--force")
    hanse.start()
    _looks(stage)
    after = {title: seen for title, seen in everything(stage.members).items() if CANARY not in title}
    edited = _edit(stage)
    stage.remove()
    return TakenOver(before, marked, after, report, again, edited, read_members(stage.members))


@pytest.fixture(scope="module")
def hanse_left(stage: Stage, taken_over: TakenOver, running: Running) -> Left:
    """What Hanse leaves of the same examples on clusters from which everything was removed."""
    before = stage.begin(lambda: settled(stage))
    stage.go_on()
    # A preference changes nothing on the host from which it could be seen that it has had its say.
    with suppress(TimeoutError):
        wait_until(lambda: _is_like(stage, running.left), seconds=PATIENCE_SECONDS, what="Hanse has settled")
    return stage.left(before)


def _is_like(stage: Stage, left: Left) -> bool:
    now = stage.left({})
    return all(agreed(now.of(example)) == agreed(left.of(example)) for example in stage.examples)


def _at_rest(stage: Stage) -> dict[str, Obj]:
    """Return what members have once their own controllers have followed: a Deployment's marks reach its ReplicaSets."""
    seen: list[dict[str, Obj]] = [everything(stage.members)]

    def unchanged() -> bool:
        time.sleep(2)
        seen.append(everything(stage.members))
        return seen[-1] == seen[-2]

    wait_until(unchanged, seconds=PATIENCE_SECONDS, what="members at rest")
    return seen[-1]


def _looks(stage: Stage) -> None:
    """Wait until Hanse has carried an object of its own time into every cluster, and so has seen what was there."""
    data = {"data": {"a": "1"}}
    canary = {
        "apiVersion": "types.kubefed.io/v1beta1",
        "kind": "FederatedConfigMap",
        "metadata": {"name": CANARY, "namespace": "frontend"},
        "spec": {"template": data, "placement": {"clusterSelector": {}}},
    }
    stage.host.kubectl("create", "--filename=-", input=json.dumps(canary))

    def arrived() -> bool:
        return all(f"ConfigMap frontend/{CANARY}" in held for held in read_members(stage.members).values())

    wait_until(arrived, seconds=PATIENCE_SECONDS, what="Hanse carries an object into every cluster")


def _edit(stage: Stage) -> dict[str, tuple[str, list[str]]]:
    """Change the sample's image and take a label away through Hanse; returns what the clusters have of both then."""
    template = "/spec/template"
    changes = [
        {"op": "replace", "path": f"{template}/spec/template/spec/containers/0/image", "value": "nginx:after"},
        {"op": "remove", "path": f"{template}/metadata/labels/app"},
    ]
    stage.host.kubectl("patch", *SAMPLE, "--type=json", "--patch", json.dumps(changes))

    def found() -> dict[str, tuple[str, list[str]]]:
        copies = {name: stage.members[name].get(*SAMPLE_COPY) for name in CLUSTERS[:2]}
        return {
            name: (copy["spec"]["template"]["spec"]["containers"][0]["image"], sorted(copy["metadata"]["labels"]))
            for name, copy in copies.items()
        }

    def arrived() -> bool:
        return all("app" not in labels for _, labels in found().values())

    wait_until(arrived, seconds=PATIENCE_SECONDS, what="an edit arrives")
    return found()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_recorded_is_what_kubefed_leaves(running, name):
    assert running.left.of(EXAMPLES[name]) == json.loads((RECORDED / f"{name}.json").read_text())
    assert running.left.replaced == []


def test_a_running_kubefed_is_not_taken_over(running):
    assert "KubeFed still runs" in running.refusal
    assert {each["state"] for each in running.rehearsal["clusters"]} == {"to be taken over"}


def test_a_take_over_changes_nothing_but_metadata(taken_over):
    assert taken_over.report["done"]
    assert _without_generations(taken_over.marked) == _without_generations(taken_over.before)
    for title, had in taken_over.before.items():
        # The API server counts a changed annotation of a Deployment, and of nothing else, as a new generation.
        annotated = title.split()[1] == "Deployment"
        assert taken_over.marked[title]["generation"] == had["generation"] + annotated, title


def test_a_take_over_can_be_repeated(taken_over):
    assert taken_over.again == taken_over.report


def test_hanse_touches_no_workload_that_it_took_over(taken_over):
    assert taken_over.after == taken_over.marked
    pods = [seen for title, seen in taken_over.after.items() if title.split()[1] == "Pod"]
    assert len(pods) > 20
    assert {seen["restarts"] for seen in pods} == {0}


def test_an_edit_arrives_by_hanse_and_what_is_taken_out_goes(taken_over):
    labels = ["hanse.dev/managed", "kubefed.io/managed"]
    assert taken_over.edited == {"cluster1": ("nginx:after", labels), "cluster2": ("nginx:1.17.0-alpine", labels)}


def test_a_deletion_takes_the_copies_along(taken_over):
    kept = {"ConfigMap adoption/kept-out"}
    assert all(set(objects) <= kept for objects in taken_over.leftover.values()), identities(taken_over.leftover)


@pytest.mark.parametrize("name", EXAMPLES)
def test_hanse_leaves_what_kubefed_leaves(running, hanse_left, name):
    example = EXAMPLES[name]
    assert agreed(hanse_left.of(example)) == agreed(running.left.of(example))
    assert hanse_left.replaced == []


@pytest.mark.parametrize("departure", DEPARTURES, ids=lambda departure: departure.why)
def test_hanse_departs_from_kubefed_only_where_that_was_decided(running, hanse_left, departure):
    example = EXAMPLES[departure.example]
    assert departure.of(hanse_left.of(example)) != departure.of(running.left.of(example))


def _without_generations(found: dict[str, Obj]) -> dict[str, Obj]:
    return {title: {**seen, "generation": None} for title, seen in found.items()}
