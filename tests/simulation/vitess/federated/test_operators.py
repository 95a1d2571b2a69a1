"""A federated Vitess with the real operators in its members: begun once, drained across clusters; and by hand."""

from __future__ import annotations

import pytest

from hanse.api.planetscale.kinds import (
    DRAIN_FINISHED_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
)
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.kube.resources import PODS
from hanse.vitess.federated.splitting import split
from hanse.vitess.topology import paths
from tests.simulation.vitess.federated.operators import HOMES, NAME, OperatedWorld, operated_world
from tests.simulation.vitess.tablet_world import EXTERNAL
from tests.unit.vitess.federated.shop import keyspace, plan_of, pool

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(240)]


def _example(east: int = 1, west: int = 1) -> Obj:
    return {
        "apiVersion": "planetscale.com/v2",
        "kind": "VitessCluster",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "globalLockserver": {"external": EXTERNAL},
            "federation": {"vtctldAddress": "vtctld.example:15999"},
            "cells": [{"name": cell, "cluster": home} for cell, home in HOMES.items()],
            "keyspaces": [
                keyspace("commerce", [pool("useast1a", replicas=east), pool("uswest2a", replicas=west)], parts=1)
            ],
        },
    }


async def _primary(world: OperatedWorld) -> str:
    return await world.tablets.primary()


async def test_it_is_ready_with_one_primary_that_the_first_member_chose():
    async with operated_world() as world:
        await world.host.create(VITESS_CLUSTERS, _example())
        await world.until(world.is_ready, 400)
        assert (await _primary(world)).startswith("useast1a")
        aliases = (await world.tablets.topology.find(paths.cells_alias("planetscale_operator_default"))) or None
        assert aliases is not None
        assert aliases.cells == ("useast1a", "uswest2a")
        assert sorted(str(alias.cell) for alias in world.tablets.tablets) == ["useast1a", "uswest2a"]


async def test_a_primary_that_is_drained_hands_over_to_the_other_cluster_and_then_is_drained():
    async with operated_world() as world:
        await world.host.create(VITESS_CLUSTERS, _example())
        await world.until(world.is_ready, 400)
        primary = await _primary(world)
        pod = await world.tablet_pod(primary)
        assert pod is not None
        mark = {"metadata": {"annotations": {DRAIN_STARTED_ANNOTATION: "maintenance"}}}
        await world.clients["east"].patch(PODS, name_of(pod), mark, "default")

        async def drained() -> bool:
            found = await world.tablet_pod(primary)
            return found is not None and DRAIN_FINISHED_ANNOTATION in annotations_of(found)

        await world.until(drained, 400)
        assert (await _primary(world)).startswith("uswest2a")
        assert world.tablets.reparents[-1][0] == primary


async def test_a_keyspace_that_is_removed_goes_from_members_and_from_topology():
    async with operated_world() as world:
        await world.host.create(VITESS_CLUSTERS, _example())
        await world.until(world.is_ready, 400)
        await world.host.patch(VITESS_CLUSTERS, NAME, {"spec": {"keyspaces": []}}, "default")

        async def gone() -> bool:
            lists = [await world.clients[member].list(VITESS_KEYSPACES) for member in HOMES.values()]
            left = [each for found in lists for each in found.items]
            return not left and await world.tablets.topology.find(paths.keyspace("commerce")) is None

        await world.until(gone, 900)


async def test_objects_written_by_hand_in_each_cluster_form_one_vitess_without_the_layer():
    async with operated_world() as world:
        source = _example()
        for member, part in split(source, plan_of(source)).items():
            await world.clients[member].create(VITESS_CLUSTERS, part)

        async def both_ready() -> bool:
            told = [await world.condition("Ready", member) for member in HOMES.values()]
            return all(status == "True" for status, _ in told)

        await world.until(both_ready, 400)
        assert (await _primary(world)).startswith("useast1a")
        for member in HOMES.values():
            found = await world.find(member, VITESS_CLUSTERS, NAME)
            assert dig(found, "status", "keyspaces", "commerce", "readyTablets") == 1
        cells = set(await world.tablets.topology.names("global", "cells"))
        assert cells == set(HOMES)
