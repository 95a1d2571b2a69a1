"""Federations that are used and broken by chance, on virtual time, and must be whole in the end.

`make test` plays a few seeds; `make soak-guards` two hundred, each twice. A seed that fails is played again by the
command that the failure names.
"""

import asyncio
import subprocess
import sys

import pytest

from hanse.cli.simulation.convergence import Holdings, problems
from hanse.cli.simulation.drill import Drill, run_drill
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.faults.chance import random_schedule
from hanse.simulator.settings import ClusterSettings
from hanse.simulator.virtual_time import Deadlock, run_virtually
from tests.unit.federated.cases import federated, in_clusters, preference

SECONDS = 60.0
CLUSTERS = tuple(
    ClusterSettings(name=name, index=index, region=name, zones=(f"{name}-a", f"{name}-b"), nodes=2)
    for index, name in enumerate(("us-east", "eu-west", "ap-south"))
)


def play(seed):
    return run_drill(Drill(seed, CLUSTERS, random_schedule(seed, CLUSTERS, SECONDS, count=6), SECONDS))


# Two more where there is time: `make soak-guards` plays two hundred.
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.kubernetes) for seed in (1, 2))])
def test_a_federation_is_whole_once_its_faults_are_over(seed):
    outcome = play(seed)

    assert outcome.problems == ()
    assert any(entry.text.startswith("faults: ") for entry in outcome.log.entries)


def test_federated_objects_are_rehearsed_as_they_are_written():
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    web = federated(placement=in_clusters("us-east"))
    divided = preference(total=3, clusters={"us-east": {"weight": 1}, "eu-west": {"weight": 2}})
    written = tuple({**each, "metadata": {"name": "web", "namespace": "shop"}} for each in (web, divided))

    outcome = run_drill(Drill(0, CLUSTERS[:2], seconds=10.0, manifests=(namespace, *written)))

    pods = [entry for entry in outcome.log.entries if "SuccessfulCreate ReplicaSet web-" in entry.text]
    assert outcome.problems == ()
    assert sorted(entry.place for entry in pods) == ["eu-west", "eu-west", "us-east"]


_PRINT_LOG = """
import logging, structlog, sys
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
from tests.simulation.test_drills import play
sys.stdout.write(play(5).log.text())
"""


def test_the_same_seed_is_the_same_run_byte_for_byte_in_another_process_too():
    here = play(5)

    # Another order of everything that is unordered by nature.
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(path for path in sys.path if path)}
    command = [sys.executable, "-c", _PRINT_LOG]
    there = subprocess.run(command, capture_output=True, check=True, env=environment, timeout=240)

    assert here.problems == ()
    assert len(here.log.entries) > 300
    assert there.stdout.decode() == here.log.text()


class TestVirtualTime:
    def test_a_day_passes_at_once_and_in_order(self):
        async def main():
            runtime, heard = SeededRuntime(), []

            async def say(hour):
                await runtime.sleep(hour * 3600.0)
                heard.append((hour, runtime.monotonic()))

            await asyncio.gather(*(say(hour) for hour in (24, 1, 12)))
            return heard

        assert run_virtually(main) == [(hour, pytest.approx(hour * 3600.0)) for hour in (1, 12, 24)]

    def test_what_is_due_at_one_moment_comes_in_the_order_in_which_it_was_set(self):
        async def main():
            loop, heard = asyncio.get_running_loop(), []
            others = [loop.call_later(1.0 + number % 7, heard.append, -1) for number in range(200)]
            for number in range(50):
                loop.call_at(10.0, heard.append, number)
            for other in others:
                other.cancel()
            await asyncio.sleep(20.0)
            return heard

        assert run_virtually(main) == list(range(50))

    def test_waiting_for_what_never_comes_is_an_error_and_no_endless_wait(self):
        async def main():
            await asyncio.Event().wait()

        with pytest.raises(Deadlock):
            run_virtually(main)


def deployment(name="web", replicas=2, available=None, **metadata):
    counts = replicas if available is None else available
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"{name}-uid", "generation": 1, **metadata},
        "spec": {"replicas": replicas},
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": counts,
        },
    }


def replica_set(name="web-1", owner="web-uid", replicas=2):
    owners = [{"kind": "Deployment", "uid": owner, "controller": True}]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"{name}-uid", "ownerReferences": owners},
        "spec": {"replicas": replicas},
    }


def pod(name, *, owner="web-1-uid", node="n", ip=None, ready="True", **metadata):
    owners = [{"kind": "ReplicaSet", "uid": owner, "controller": True}]
    return {
        "metadata": {"name": name, "namespace": "default", "ownerReferences": owners, **metadata},
        "spec": {"nodeName": node},
        "status": {
            "phase": "Running",
            "podIP": ip or f"10.0.0.{name}",
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


NODE = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
READY = {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
MANAGED = {"labels": {"hanse.dev/managed": "true"}}


def federated_web(status="True", observed=1, **condition):
    return {
        "kind": "FederatedDeployment",
        "metadata": {"name": "web", "namespace": "default", "generation": 1},
        "status": {
            "observedGeneration": observed,
            "conditions": [{"type": "Propagation", "status": status, **condition}],
        },
    }


def judged(*, source=None, copy=None, sets=None, pods=None, nodes=(NODE,), clusters=(READY,), federated=()):
    member = Holdings(
        [copy or deployment(**MANAGED)],
        [replica_set()] if sets is None else sets,
        [pod("1"), pod("2")] if pods is None else pods,
        nodes,
    )
    host = Holdings(deployments=[deployment()] if source is None else source, federated=federated)
    return problems(host, clusters, {"a": member})


class TestConvergence:
    def test_a_federation_as_it_was_asked_to_be_has_no_problem(self):
        assert judged() == []

    def test_the_copies_of_a_federated_object_are_not_left_over(self):
        assert judged(source=[], federated=[federated_web()]) == []

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            (
                {"source": [], "federated": [federated_web("False", reason="CheckClusters", message="a is full")]},
                "FederatedDeployment default/web is not propagated: a is full",
            ),
            (
                {"source": [], "federated": [federated_web(observed=0)]},
                "FederatedDeployment default/web: its last change was not observed",
            ),
            ({"clusters": ({"metadata": {"name": "a"}},)}, "cluster a is not Ready"),
            ({"nodes": ({"metadata": {"name": "n"}},)}, "a: node n is not Ready"),
            ({"pods": [pod("1")]}, "a: ReplicaSet default/web-1 has 1 pods and should have 2"),
            ({"pods": [pod("1"), pod("2"), pod("3")]}, "a: ReplicaSet default/web-1 has 3 pods and should have 2"),
            (
                {"pods": [pod("1"), pod("2"), pod("3", owner="gone")]},
                "a: pod default/3 is left over: its ReplicaSet is gone",
            ),
            ({"pods": [pod("1"), pod("2", ready="False")]}, "a: pod default/2 is not ready: Running"),
            ({"pods": [pod("1"), pod("2", deletionTimestamp="now")]}, "a: pod default/2 is still ending"),
            ({"pods": [pod("1"), pod("2", node="x")]}, "a: pod default/2 is on a node that is not there"),
            ({"pods": [pod("1", ip="10.9.9.9"), pod("2", ip="10.9.9.9")]}, "a: 2 pods have the address 10.9.9.9"),
            (
                {"sets": [replica_set(), replica_set("old", owner="gone", replicas=0)]},
                "a: ReplicaSet default/old is left over: its Deployment is gone",
            ),
            (
                {"copy": deployment(available=1, **MANAGED)},
                "a: Deployment default/web should have 2 replicas: availableReplicas is 1",
            ),
            (
                {"copy": deployment(generation=2, **MANAGED)},
                "a: Deployment default/web: its last change was not observed",
            ),
            ({"source": []}, "a: the copy of Deployment default/web is left over"),
            (
                {"source": [deployment(replicas=5, available=5)]},
                "Deployment default/web should have 5 replicas over all clusters and has 2",
            ),
            (
                {"source": [deployment(available=1)]},
                "Deployment default/web tells of 1 available replicas and should tell of 2",
            ),
        ],
    )
    def test_what_is_wrong_is_said(self, changes, sentence):
        assert judged(**changes) == [sentence]
