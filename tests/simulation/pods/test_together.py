"""Pods that mind where others are: gangs, and company."""

from __future__ import annotations

import pytest
import yaml

from hanse.api.plain_kinds import JOBS
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import PODS
from tests.simulation.pods.world import ELECT, elected_pod, sending

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

GANG = "pods.hanse.dev/gang"
CONSTRAINTS = "multicluster.admiralty.io/proxy-pod-scheduling-constraints"
TARGET = "pods.hanse.dev/target"


async def test_a_gang_of_a_job_runs_in_one_target():
    async with sending("home", "away", "far") as world:
        await world.clients["home"].create(JOBS, _job(4, cpu="100m"))
        await world.until(lambda: _bound(world, 4))
        assert len(set(await _targets(world))) == 1


async def test_a_gang_for_which_no_target_has_room_is_nowhere():
    """Each target has room for some of them, and none for all."""
    async with sending("home", "away", "far") as world:
        await world.clients["home"].create(JOBS, _job(8, cpu="3"))
        await world.until(lambda: _placeholders(world, 8))
        await world.runtime.sleep(60)
        assert await _targets(world) == []
        assert await world.leftovers() == []


async def test_pods_that_keep_apart_are_in_different_targets():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "apart"}}}
    rule = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    async with sending("home", "away", "far") as world:
        for name in ("one", "two", "three"):
            pod = elected_pod(name, {CONSTRAINTS: yaml.safe_dump(rule)})
            pod["metadata"]["labels"] = {"app": "apart"}
            await world.clients["home"].create(PODS, pod)
        await world.until(lambda: _bound(world, 2))
        await world.runtime.sleep(15)
        assert sorted(await _targets(world)) == ["away", "far"]


def _job(parallelism: int, cpu: str):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "parallelism": parallelism,
            "template": {
                "metadata": {"annotations": {ELECT: "", GANG: "all"}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
                },
            },
        },
    }


async def _targets(world):
    found = [annotations_of(pod).get(TARGET) for pod in await world.placeholders("home")]
    return [target for target in found if target]


async def _bound(world, count):
    running = [pod for pod in await world.placeholders("home") if dig(pod, "spec", "nodeName")]
    return len(running) == count


async def _placeholders(world, count):
    return len(await world.placeholders("home")) == count
