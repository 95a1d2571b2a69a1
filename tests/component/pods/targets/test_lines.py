"""Pods of a source and its targets together: an engine on a roster. The names begin with lines of the checklist."""

import pytest

from hanse.api.admiralty.keys import ELECT, PARENT_CLUSTER, PARENT_NAME
from hanse.api.admiralty.kinds import POD_CHAPERONS, TARGETS
from hanse.cli.pod_parts import PodSource
from hanse.clusters.access import Access
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of
from hanse.kube.resources import PODS
from hanse.pods.admission.mutation import AdmissionRequest, admit
from hanse.pods.chaperons.keeper import ChaperonKeeper
from tests.component.pods.targets.stage import SOURCE, made, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

EAST, WEST = "multicluster.admiralty.io/default-east", "multicluster.admiralty.io/default-west"


async def send(here):
    """Have the pods of the source sent to two private targets of its namespace `default`."""
    await here.namespace(SOURCE, "other")
    for name in ("east", "west"):
        await here.open(name)
        await here.credentials(name, name)
        await here.make(name, "default", kubeconfigSecret={"name": name})
    here.enlist()
    source = PodSource(SOURCE, here.wire(SOURCE), here.roster, Access(here.clients["host"]))
    here.start(source.run())
    for name in ("east", "west"):
        here.start(ChaperonKeeper(here.clients[name]).run())
    await here.ready("default/east", "default/west")


async def elect(here, name, namespace="default", **spec):
    pod = made(PODS, name, namespace, spec={"containers": [{"name": "main", "image": "web"}], **spec})
    pod["metadata"]["annotations"] = {ELECT: ""}
    targets = [target for target in here.roster.targets() if target.serves(namespace)]
    request = AdmissionRequest("ann", ("dev",), namespace=namespace)
    return await here.source.create(PODS, admit(pod, request, targets, SOURCE))


async def places(here, name):
    """Return the clusters that have a chaperon of a pod."""
    found = {}
    for cluster in ("east", "west"):
        for obj in (await here.clients[cluster].list(POD_CHAPERONS)).items:
            if annotations_of(obj)[PARENT_NAME] == name:
                found[cluster] = obj
    return found


def placed(here, name):
    async def found():
        return await places(here, name)

    return found


def gone(here, name):
    async def found():
        return await here.source.find(PODS, name, "default") is None

    return found


async def test_pods_go_only_to_targets_that_serve_them_and_answer_and_wait_for_no_others():
    async with stage() as here:
        await send(here)
        stray = await elect(here, "stray", "other")
        await elect(here, "first")
        assert await here.until(placed(here, "first")) < 2.0

        # 47: the target that does not answer is waited for, and no other.
        (where,) = await places(here, "first")
        other, own = {"east": ("west", EAST), "west": ("east", WEST)}[where]
        here.wires[where].hanging = True
        await here.source.delete(PODS, "first", "default", grace_seconds=0)
        await here.until(lambda: here.seen(f"default/{where}").offline)
        held = await here.source.get(PODS, "first", "default")
        assert [each for each in finalizers_of(held) if each in (EAST, WEST)] == [own]

        # 18: nothing goes there meanwhile, and nobody is kept waiting by it.
        for name in ("second", "third"):
            await elect(here, name)
            assert await here.until(placed(here, name)) < 2.0
            assert set(await places(here, name)) == {other}

        here.wires[where].hanging = False
        await here.until(gone(here, "first"))
        assert await places(here, "first") == {}

        # 48: a target that is taken away is waited for no longer; one that cannot be drained goes by a person's hand.
        here.wires[other].hanging = True
        await here.source.delete(PODS, "second", "default", grace_seconds=0)
        await here.source.delete(TARGETS, other, "default")
        await here.runtime.sleep(10)
        assert not await gone(here, "second")()
        told = await here.condition(other, "default")
        assert (told["reason"], "take its finalizer" in told["message"]) == ("TargetLeaving", True)
        await here.source.patch(TARGETS, other, {"metadata": {"finalizers": None}}, "default")
        assert await here.until(gone(here, "second")) < 10.0

        # 19: none of the targets serves the other namespace.
        assert await places(here, "stray") == {}
        assert (EAST in finalizers_of(stray), WEST in finalizers_of(stray)) == (False, False)


async def test_a_bare_pod_of_the_federation_itself_goes_to_a_member():
    async with stage() as here:
        host = here.clients["host"]
        parts = []

        def source(roster):
            parts.append(PodSource("", here.wire("host"), roster, Access(host), nodes=False))

        roster = await here.govern(source)
        here.start(parts[0].run())
        pod = made(PODS, "web", "default", spec={"containers": [{"name": "main", "image": "web"}]})
        pod["metadata"]["annotations"] = {ELECT: ""}
        request = AdmissionRequest("ann", namespace="default")
        await host.create(PODS, admit(pod, request, roster.targets(), ""))

        async def placed_there():
            return (await here.source.list(POD_CHAPERONS)).items

        await here.until(placed_there)
        (sent,) = await placed_there()
        assert annotations_of(sent)[PARENT_NAME] == "web"
        assert labels_of(sent)[PARENT_CLUSTER] == ""
