"""Leftovers of a source in its targets, on embedded API servers and virtual time; numbers are lines of the sheet."""

import pytest

from hanse.api.admiralty.keys import PARENT_CLUSTER, PARENT_NAME, PARENT_NAMESPACE, PARENT_UID
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.names import MANAGED_LABEL, SYSTEM_NAMESPACE
from hanse.kube.manifest import uid_of
from hanse.kube.resources import CONFIGMAPS, LEASES, PODS
from hanse.pods.sweeping import Sweeper, SweepTerms
from tests.component.pods.targets.stage import SOURCE, chaperon, made, stage
from tests.simulation.wires import Passing

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

WHILE = 3 * SweepTerms().period_seconds


def marked(uid, name, source=SOURCE, *, managed=True):
    labels = {PARENT_UID: uid, PARENT_CLUSTER: source, **({MANAGED_LABEL: "true"} if managed else {})}
    return {"labels": labels, "annotations": {PARENT_NAMESPACE: "default", PARENT_NAME: name}}


def pod(name):
    return made(PODS, name, "default", spec={"containers": [{"name": "main", "image": "web"}]})


async def chaperons(here, cluster="east"):
    return {obj["metadata"]["name"] for obj in (await here.clients[cluster].list(POD_CHAPERONS)).items}


async def enlist(here):
    """Start the roster with a sweeper."""
    running = here.enlist()
    sweeper = Sweeper(SOURCE, here.wire(SOURCE), here.roster)
    here.start(sweeper.run())
    return running


async def test_only_what_this_source_left_behind_is_swept():
    async with stage("east") as here:
        await here.namespace("east", SYSTEM_NAMESPACE)
        east = here.clients["east"]
        living = uid_of(await here.source.create(PODS, pod("living")))
        reused = uid_of(await here.source.create(PODS, pod("reused")))
        assert reused
        for name, metadata in {
            "living": marked(living, "living"),
            "49-orphan": marked("gone", "gone"),
            "d19-name-used-again": marked("the-one-before", "reused"),
            "50-of-another-source": marked("gone", "gone", source="other"),
            "of-admiralty-itself": marked("gone", "gone", managed=False),
            "without-a-parent": {"labels": {PARENT_CLUSTER: SOURCE, MANAGED_LABEL: "true"}},
        }.items():
            await east.create(POD_CHAPERONS, chaperon(name, **metadata))
        kept = {"living", "50-of-another-source", "of-admiralty-itself", "without-a-parent"}
        for name, uid in {"copy": "gone", "theirs": ""}.items():
            copy = made(CONFIGMAPS, name, "default")
            copy["metadata"] |= marked(uid, name) if uid else {}
            await east.create(CONFIGMAPS, copy)
        await here.make("eu", clusterName="east")
        await enlist(here)
        await here.ready("eu")
        await here.runtime.sleep(WHILE)

        assert await chaperons(here) == kept

        await here.runtime.sleep(WHILE)
        assert await east.find(CONFIGMAPS, "copy", "default") is None
        assert await east.find(CONFIGMAPS, "theirs", "default") is not None

        # What is in order is not written to, and hardly asked about.
        here.forget_writes()
        await here.runtime.sleep(WHILE)
        assert here.writes() == {}


async def test_nothing_is_swept_on_ignorance():
    async with stage("east") as here:
        await here.namespace("east", SYSTEM_NAMESPACE)
        east = here.clients["east"]
        await here.make("eu", clusterName="east")
        await enlist(here)
        await here.ready("eu")
        await east.create(POD_CHAPERONS, chaperon("orphan", **marked("gone", "gone")))

        # While the source does not answer nobody knows what is in it.
        here.wires[SOURCE].hanging = True
        await here.runtime.sleep(2 * WHILE)
        assert await chaperons(here) == {"orphan"}

        # Where another source has the name, it may be that one's.
        lease = f"pods.hanse.dev-{SOURCE}"
        await east.patch(LEASES, lease, {"spec": {"holderIdentity": "another"}}, SYSTEM_NAMESPACE)
        here.wires[SOURCE].hanging = False
        await here.runtime.sleep(2 * WHILE)
        assert await chaperons(here) == {"orphan"}

        await east.delete(LEASES, lease, SYSTEM_NAMESPACE)
        await here.runtime.sleep(WHILE)
        assert await chaperons(here) == set()


class Overtaken(Passing):
    """A way on which somebody else is faster than the first deletion."""

    def __init__(self, inner, meanwhile):
        super().__init__(inner)
        self.meanwhile = meanwhile
        self.deletions = 0

    async def send(self, request, timeout):
        if request.method == "DELETE":
            self.deletions += 1
            if self.deletions == 1:
                await self.meanwhile()
        return await super().send(request, timeout)


async def test_what_changes_while_it_is_looked_at_stays_for_the_next_time():
    async with stage("east") as here:
        await here.namespace("east", SYSTEM_NAMESPACE)
        east = here.clients["east"]
        await here.make("eu", clusterName="east")
        await enlist(here)
        await here.ready("eu")
        await east.create(POD_CHAPERONS, chaperon("orphan", **marked("gone", "gone")))
        note = {"metadata": {"annotations": {"somebody": "was here"}}}
        way = here.wires["east"].inner = Overtaken(
            here.wires["east"].inner, lambda: east.patch(POD_CHAPERONS, "orphan", note, "default")
        )

        await here.until(lambda: way.deletions == 1, WHILE)
        await here.runtime.sleep(1.0)
        assert await chaperons(here) == {"orphan"}

        await here.until(lambda: way.deletions == 2, WHILE)
        await here.runtime.sleep(1.0)
        assert await chaperons(here) == set()
