"""A pod that fits nowhere is told so in the words of kube-scheduler."""

import pytest

from hanse.kube.manifest import key_of
from hanse.simulator.scheduling.board import Board, NodeOffer, PlacedPod
from hanse.simulator.scheduling.decision import Refused, decide
from hanse.simulator.scheduling.volume_filters import Storage
from hanse.simulator.scheduling.wishes import Wish
from tests.unit.simulator.scheduling_cases import CASES, Case
from tests.unit.simulator.scheduling_record import RECORDED


def admitted(pod, case):
    """Give a pod what an API server adds: the priority of its class."""
    classes = {obj["metadata"]["name"]: obj for obj in case.objects if obj["kind"] == "PriorityClass"}
    found = classes.get(pod["spec"].get("priorityClassName"), {"value": 0})
    more = {"priority": found["value"], "preemptionPolicy": found.get("preemptionPolicy", "PreemptLowerPriority")}
    return {**pod, "spec": {**pod["spec"], **more}}


def storage_of(case):
    def find(kind):
        return {key_of(obj): obj for obj in case.objects if obj["kind"] == kind}

    volumes = find("PersistentVolume")
    return Storage(
        find("PersistentVolumeClaim").get, volumes.get, find("StorageClass").get, lambda: iter(volumes.values())
    )


def answer_to(case: Case):
    placed = [PlacedPod.of(admitted(pod, case), pod["spec"]["nodeName"]) for pod in case.pods]
    board = Board(map(NodeOffer.of, case.nodes), placed)
    return decide(Wish.of(admitted(case.pod, case)), board, storage_of(case))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_message_is_the_one_that_kube_scheduler_gave(case):
    assert answer_to(case) == Refused(RECORDED[case.name])


def test_every_case_is_recorded_and_nothing_else():
    assert set(RECORDED) == {case.name for case in CASES}
