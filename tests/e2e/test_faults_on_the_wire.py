"""A federation of `hanse up` that is broken by command and by schedule, as kubectl meets it."""

import json
import time

import pytest

from tests.e2e.federation import HANSE, Refused, run
from tests.kubernetes.real import wait_until
from tests.kubernetes.real.components import find_kubectl

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(240)]


class Broken:
    """A running federation, and the two commands that people type at it."""

    def __init__(self, data, home):
        self._data = data
        self._home = home
        self._kubectl = str(find_kubectl())

    def hanse(self, *arguments):
        return run([*HANSE, *arguments, "--data-dir", str(self._data)], home=self._home)

    def kubectl(self, *arguments):
        """Return what kubectl prints in us-east, or the error that it ends with."""
        where = ["--kubeconfig", str(self._data / "kubeconfig"), "--context", "us-east", "--request-timeout=120s"]
        try:
            return run([self._kubectl, *where, *arguments], home=self._home)
        except Refused as error:
            return str(error)

    def status(self):
        document = json.loads(self.hanse("status", "-o", "json"))
        return {one["name"]: one for one in document["clusters"]}


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    data, schedule, clusters = home / "data", home / "faults.yaml", home / "clusters.yaml"
    schedule.write_text("faults: [{at: 0s, cluster: eu-west, fault: throttle, from: users, for: 10m}]")
    clusters.write_text("clusters: [{name: us-east, nodes: 1, latency: 20ms}, {name: eu-west, nodes: 1}]")
    here = Broken(data, home)
    here.hanse("up", "--detach", "--ephemeral", "--clusters", str(clusters), "--faults", str(schedule))
    try:
        yield here
        told = here.hanse("down")
    except BaseException:
        here.hanse("down")
        raise
    assert told == "the federation has stopped and leaves nothing behind\n"
    wait_until(lambda: not data.exists(), what="the data folder is gone", seconds=60)


def test_a_scheduled_fault_is_listed_and_everything_is_healed_at_once(federation):
    def listed():
        return json.loads(federation.hanse("cluster", "faults", "-o", "json"))["faults"]

    wait_until(listed, what="the schedule has begun", seconds=60)
    (fault,) = listed()
    assert (fault["cluster"], fault["fault"], fault["from"]) == ("eu-west", "throttle", ["users"])

    federation.hanse("cluster", "heal", "--all")

    assert federation.hanse("cluster", "faults") == "nothing is broken\n"


def test_kubectl_meets_the_faults_that_users_are_to_meet(federation):
    federation.hanse("cluster", "slow", "us-east", "--by", "2s")
    begin = time.monotonic()
    assert "us-east-node-1" in federation.kubectl("get", "nodes")
    assert time.monotonic() - begin >= 2

    federation.hanse("cluster", "heal", "us-east")
    federation.hanse("cluster", "break", "us-east", "expired-credentials", "from=users")
    assert "Unauthorized" in federation.kubectl("get", "nodes")

    federation.hanse("cluster", "heal", "us-east")
    federation.kubectl("create", "configmap", "kept")
    federation.hanse("cluster", "fail", "us-east", "--api-server")
    assert "refused" in federation.kubectl("get", "nodes")

    federation.hanse("cluster", "heal", "us-east")
    assert "kept" in federation.kubectl("get", "configmaps", "-o", "name")


def test_a_cluster_cut_off_from_the_control_plane_is_offline_and_its_users_notice_nothing(federation):
    federation.hanse("cluster", "partition", "us-east")

    wait_until(lambda: federation.status()["us-east"]["state"] == "Offline", what="us-east is Offline", seconds=60)
    assert "us-east-node-1" in federation.kubectl("get", "nodes")
    assert federation.status()["us-east"]["faults"] == [{"fault": "partition", "from": ["control-plane"]}]

    federation.hanse("cluster", "heal", "us-east")
    wait_until(lambda: federation.status()["us-east"]["state"] == "Ready", what="us-east is Ready", seconds=60)
