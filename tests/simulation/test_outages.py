"""What a cluster's own controllers do while its API server refuses them, on virtual time."""

import pytest

from hanse.kube.resources import PODS
from hanse.simulator.faults.values import Fault, Party
from hanse.simulator.virtual_time import run_virtually
from tests.simulation.random_federation import random_federation

pytestmark = pytest.mark.timeout(60)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "alone", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "web:1"}]},
}


def counting(gate, bindings):
    """Return the gate, with every binding that is tried noted."""

    async def enter(request, identity, onward):
        if request.path.endswith("/binding"):
            bindings.append(request.path)
        return await gate(request, identity, onward)

    return enter


def test_a_scheduler_whose_bindings_are_refused_tries_ever_more_slowly_and_binds_in_the_end():
    bindings = []

    async def main():
        async with random_federation(0, ("a",), dict) as federation:
            member = federation.members["a"]
            await federation.runtime.sleep(1.0)
            member.server.gate = counting(member.server.gate, bindings)
            federation.set_faults("a", (Fault("expired-credentials", parties=(Party.NODES,)),))
            await federation.runtime.sleep(0.1)

            await member.client.create(PODS, POD)
            await federation.runtime.sleep(20.0)
            tried = len(bindings)
            federation.set_faults("a", ())
            await federation.runtime.sleep(30.0)
            return tried, await member.client.get(PODS, "alone", "default")

    tried, pod = run_virtually(main)

    assert 2 <= tried <= 20
    assert pod["spec"]["nodeName"] == "a-node-1"
