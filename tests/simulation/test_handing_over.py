"""`hanse federate` and `hanse unfederate` on a running federation: the copies change hands and nothing else changes."""

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.names import OWNER_ANNOTATION
from hanse.cli.federate import Wish, federate
from hanse.cli.unfederate import unfederate
from hanse.kube.manifest import Key, annotations_of, dig, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, PODS
from hanse.propagation.planning import Observation
from tests.simulation.world import deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FEDERATED = template_resource(FORM_D, DEPLOYMENTS)
WISH = Wish("deployment", "web", "default", contents=False, skip=(), enable=False, writes=True, assumes=False)


async def test_copies_change_hands_and_no_pod_notices():
    async with federation("a", "b", forms=(FORM_D,)) as world:

        async def observe(_host, resource, key):
            found = {name: await world.find(name, resource, key.name, key.namespace) for name in world.clusters}
            return {name: Observation(seen=True, copy=copy) for name, copy in found.items()}

        async def state():
            """What must stay: each cluster's Deployment, its replicas, and its pods."""
            copies = {name: await world.find(name, DEPLOYMENTS, "web") for name in world.clusters}
            return {
                name: (
                    uid_of(copy),
                    copy["spec"]["replicas"],
                    dig(copy, "spec", "template"),
                    sorted(name_of(pod) for pod in (await world.clients[name].list(PODS, "default")).items),
                )
                for name, copy in copies.items()
            }

        async def owned_by(source):
            copies = [await world.find(name, DEPLOYMENTS, "web") for name in world.clusters]
            return all(
                annotations_of(copy or {"metadata": {}}).get(OWNER_ANNOTATION) == uid_of(source) for copy in copies
            )

        plain = await world.host.create(DEPLOYMENTS, deployment(replicas=3))
        await world.until(lambda: spreads(world, 3))
        before = await state()

        [step] = await federate(world.host, WISH, observe)

        assert step.done == "made, copies handed over"
        made = await world.host.get(FEDERATED, "web", "default")
        await world.until(lambda: owned_by(made))
        await world.runtime.sleep(10)
        assert await state() == before

        await unfederate(world.host, "fdeploy", Key("default", "web"), 60.0)

        await world.until(lambda: owned_by(plain))
        await world.runtime.sleep(10)
        assert await state() == before
        assert await world.host.find(FEDERATED, "web", "default") is None
        world.forget_writes()
        await world.runtime.sleep(10)
        assert world.writes() == {}


async def spreads(world, replicas):
    return sum((await world.spread()).values()) == replicas
