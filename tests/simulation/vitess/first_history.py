"""A random history of the first Vitess operator: people edit, resize and break things while it rolls out."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable

from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import PODS
from tests.simulation.tally import note_fault
from tests.simulation.vitess.first_stage import FirstStage, first_stage, my_vitess

STEPS = 8
_FAILING = "simulator.hanse.dev/failing-probes"


def _cluster() -> Obj:
    found = my_vitess()
    found["spec"]["cells"] = [{"name": "zone1"}, {"name": "zone2"}]
    pools = {"defaults": {"image": "a"}, "masterEligible": {"replicas": 2}, "batch": {"replicas": 1}}
    found["spec"]["keyspaces"] = [{"name": "db", "cells": ["zone1", "zone2"], "tablets": pools}]
    return found


class People:
    """Somebody who does one thing or another."""

    def __init__(self, vitess: FirstStage) -> None:
        self.vitess = vitess
        self.wanted = _cluster()
        self.told: list[str] = []

    @property
    def tablets(self) -> Obj:
        """What is asked for of the tablets."""
        found: Obj = self.wanted["spec"]["keyspaces"][0]["tablets"]
        return found

    async def act(self) -> None:
        """Do something."""
        acts = (self._edit, self._edit, self._resize, self._kill_server, self._delete_pod, self._crash)
        act = acts[self._chosen(len(acts))]
        self.told.append(act.__name__.removeprefix("_"))
        await act()

    def _chosen(self, count: int) -> int:
        return int(self.vitess.on.runtime.uniform(0, count))

    async def _edit(self) -> None:
        self.tablets["defaults"]["image"] = "abcd"[self._chosen(4)]
        await self.vitess.change(self.wanted)

    async def _resize(self) -> None:
        self.tablets["masterEligible"]["replicas"] = self.vitess.witness.most = 2 + self._chosen(3)
        await self.vitess.change(self.wanted)

    async def _kill_server(self) -> None:
        note_fault("death")
        await self.vitess.on.kill()
        await self.vitess.on.settle(self.vitess.on.runtime.uniform(0, 3))
        self.vitess.on.serve()

    async def _delete_pod(self) -> None:
        await self._upon_a_pod(lambda name: self.vitess.on.client.delete(PODS, name, "default"))

    async def _crash(self) -> None:
        on = self.vitess.on

        async def break_and_mend(name: str) -> None:
            note_fault("failing probes")
            await on.client.patch(PODS, name, {"metadata": {"annotations": {_FAILING: "liveness"}}}, "default")
            await on.settle(2)
            await on.client.patch(PODS, name, {"metadata": {"annotations": {_FAILING: None}}}, "default")

        await self._upon_a_pod(break_and_mend)

    async def _upon_a_pod(self, does: Callable[[str], Awaitable[object]]) -> None:
        names = sorted(self.vitess.witness.pods)
        if not names:
            return
        name = names[self._chosen(len(names))]
        self.vitess.witness.by_hand.add(name)
        try:
            await does(name)
        except NotFound:
            return


async def play(seed: int, steps: int = STEPS) -> list[str]:
    """Play a history and return what was wrong with it, each a sentence."""
    async with first_stage(seed) as vitess:
        on, witness, people = vitess.on, vitess.witness, People(vitess)
        await on.create(copy.deepcopy(people.wanted))
        await on.until(vitess.ready, seconds=300)
        witness.primaries["db/0"] = witness.replicas("db/0")[-1]
        for _ in range(steps):
            await people.act()
            await on.settle(on.runtime.uniform(0, 6))
        await on.until(vitess.ready, seconds=900)
        wrongs = list(witness.wrongs)
        if set(witness.images.values()) != {people.tablets["defaults"]["image"]}:
            wrongs.append(f"not the image that was asked for: {witness.images}")
        if len(witness.pods) != 2 * (people.tablets["masterEligible"]["replicas"] + 1):
            wrongs.append(f"not the tablets that were asked for: {sorted(witness.pods)}")
        if not await on.silent():
            wrongs.append(f"something is still written: {on.wire.writes}")
        return [f"seed {seed}, {', '.join(people.told)}: {each}" for each in wrongs]
