"""`hanse doors enable vitess`, typed against a cluster that has joined with few rights: enough for the operator."""

import asyncio
import json

import pytest

from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION, parse_cluster
from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.api.planetscale.kinds import VITESS_CLUSTERS, VITESS_SHARDS
from hanse.cli.connection import connect_member
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import CRDS, PODS
from hanse.vitess.operator.running import VitessOperator
from tests.component.served_federation import ServedFederation
from tests.simulation.composite.stage import parent_crd
from tests.vitess_specs import vitess_cluster

DOOR = ("vitess", "--cluster", "east")


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("vitess"), "east")
    code, told = opened.say("join", "east", "--kubeconfig", opened.config)
    assert code == 0, told
    yield opened
    opened.close()


def doors(stage):
    return annotations_of(stage.ask(stage.host.get(CLUSTERS, "east"))).get(DOORS_ANNOTATION)


def test_the_door_is_rehearsed_opened_used_and_closed(stage):
    east = stage.clients["east"]
    rehearsed = stage.type("doors", "enable", *DOOR, "--kubeconfig", stage.config, "--dry-run", "-o", "json")
    kinds = [each["kind"] for each in json.loads(rehearsed.stdout)["in the cluster east"]]
    assert kinds[len(PLANETSCALE_CRDS) :] == ["PriorityClass", "ClusterRole", "ClusterRoleBinding"]
    assert doors(stage) is None

    stage.ask(east.create(CRDS, parent_crd(VITESS_CLUSTERS)))
    code, told = stage.say("doors", "enable", *DOOR, "--kubeconfig", stage.config)
    assert code == 1
    assert "another Vitess operator's definitions are there" in told

    code, told = stage.say("doors", "enable", *DOOR, "--kubeconfig", stage.config, "--take-over")
    assert code == 0, told
    assert doors(stage) == "vitess"
    states = json.loads(stage.type("doors", "status", "-o", "json").stdout)["items"]
    assert [state["vitess"] for state in states] == [True]

    stage.ask(east.create(VITESS_CLUSTERS, vitess_cluster()))
    assert stage.ask(operated(stage)) == 6

    code, told = stage.say("doors", "disable", *DOOR, "--kubeconfig", stage.config, "--yes")
    assert code == 0, told
    assert not doors(stage)
    bindings = stage.ask(east.list(CLUSTER_ROLE_BINDINGS)).items
    assert not [each for each in bindings if each["metadata"]["name"].endswith(":vitess")]


async def operated(stage):
    """Run the operator as Hanse's account until the tablets and the lockserver's members are there."""
    member = await connect_member(stage.host, parse_cluster(await stage.host.get(CLUSTERS, "east")))
    with pytest.raises(Forbidden):
        await member.client.list(CLUSTER_ROLES)
    working = asyncio.create_task(VitessOperator(member.client, None).run())
    try:
        async with asyncio.timeout(30):
            return await _pods_once_seen(stage)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await member.client.close()


async def _pods_once_seen(stage):
    client = stage.clients["east"]
    while True:
        pods = (await client.list(PODS, "default")).items
        shards = (await client.list(VITESS_SHARDS, "default")).items
        if len(pods) >= 6 and any("status" in shard for shard in shards):
            return len(pods)
        await client.runtime.sleep(0.1)
