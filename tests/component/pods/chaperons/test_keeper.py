"""Chaperons of one simulated cluster: their pods really run there, on virtual time."""

from __future__ import annotations

import pytest

from hanse.api.admiralty.definitions import POD_CHAPERON_CRD
from hanse.api.admiralty.keys import (
    CHAPERON_FINALIZER,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
    POD_MISSING_SINCE,
)
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, SYSTEM_NAMESPACE
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import annotations_of, controller_of, dig, finalizers_of, labels_of, uid_of
from hanse.kube.resources import CRDS, LEASES, NODES, PODS, Resource
from hanse.kube.runtime import micro_timestamp
from hanse.pods.chaperons.makings import LATE_SECONDS
from hanse.pods.chaperons.reading import missing_since
from hanse.pods.chaperons.signs import KEEPER_LEASE, source_lease
from tests.component.pods.chaperons.stage import by_hand, chaperon, stage
from tests.component.pods.wire import ADMINISTRATOR

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

_ADMISSION = "admissionregistration.k8s.io"
POLICIES = Resource(_ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
BINDINGS = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
_CHAPERON = "/apis/multicluster.admiralty.io/v1alpha1/namespaces/default/podchaperons/web-abcde"


async def test_a_chaperon_gets_the_pod_that_it_describes():
    """Lines 29, 30, 35: the same name, labels and annotations, and nothing of the engine's or of the source's."""
    async with stage() as target:
        sent = chaperon(nodeName="elsewhere", terminationGracePeriodSeconds=7)
        sent["metadata"]["labels"] |= {MANAGED_LABEL: "true"}
        sent["metadata"]["annotations"] |= {OWNER_ANNOTATION: "uid-1", "multicluster.admiralty.io/elect": ""}
        stored = await target.send(sent)
        fence = await target.until_phase("Bound")
        pod = await target.pod()
        assert labels_of(pod) == {"app": "web", PARENT_UID: "uid-1", PARENT_CLUSTER: "home"}
        assert annotations_of(pod) == {
            "team": "blue",
            PARENT_NAMESPACE: "default",
            PARENT_NAME: "web",
            "pods.hanse.dev/attempt": "1",
        }
        assert controller_of(pod)["uid"] == uid_of(stored)
        assert controller_of(pod)["blockOwnerDeletion"]
        assert (pod["spec"]["terminationGracePeriodSeconds"], pod["spec"]["nodeName"]) == (7, fence["nodeName"])
        assert (fence["attempt"], fence["message"], fence["podUid"]) == (1, "", uid_of(pod))


async def test_a_chaperon_shows_what_its_pod_shows_and_then_nobody_writes():
    async with stage() as target:
        await target.send(chaperon())
        await target.until_phase("Bound")

        async def ready() -> bool:
            found = dig(await target.chaperon(), "status", "containerStatuses", default=[])
            return bool(found) and found[0]["ready"]

        await target.until(ready)
        shown = (await target.chaperon())["status"]
        has = (await target.pod())["status"]
        for condition in has["conditions"]:
            assert condition.pop("lastProbeTime") is None
        assert {name: value for name, value in shown.items() if name != "fence"} == has
        target.wire.writes.clear()
        await target.runtime.sleep(150.0)
        assert target.wire.writes == []


async def test_a_pod_costs_few_writes():
    async with stage() as target:
        await target.send(chaperon())
        await target.until_phase("Bound")
        await target.runtime.sleep(10.0)
        # Announced, made, told.
        assert target.wire.writes[1] == ("POST", "/api/v1/namespaces/default/pods")
        assert len(target.wire.writes) <= 4


async def test_an_annotation_that_the_pod_gets_is_told():
    """Line 38, the target's part."""
    async with stage() as target:
        await target.send(chaperon())
        await target.until_phase("Bound")
        added = {"result": "42", "multicluster.admiralty.io/is-reserved": "true"}
        await target.client.patch(PODS, "web-abcde", {"metadata": {"annotations": added}}, "default")

        async def told() -> object:
            return dig(await target.chaperon(), "status", "podAnnotations")

        assert await target.until(told) == {"result": "42"}
        assert "result" not in annotations_of(await target.chaperon())


async def test_no_node_is_said_with_the_schedulers_sentence_and_taken_back():
    """Lines 14 and 15, the target's part."""
    async with stage() as target:
        await target.send(chaperon(nodeSelector={"a": "b"}))
        fence = await target.until_phase("Unschedulable")
        assert "didn't match" in fence["message"]
        node = (await target.client.list(NODES)).items[0]["metadata"]["name"]
        await target.client.patch(NODES, node, {"metadata": {"labels": {"a": "b"}}})
        assert (await target.until_phase("Bound", seconds=90.0))["message"] == ""


async def test_a_gated_pod_is_unschedulable_at_once():
    """Line 24."""
    async with stage() as target:
        await target.send(chaperon(schedulingGates=[{"name": "example.com/wait"}]))
        await target.until_phase("Unschedulable", seconds=1.0)


async def test_a_pod_that_ended_is_told_and_never_made_again():
    async with stage() as target:
        await target.send(chaperon(restartPolicy="Never", containers=[_container("sleep 1; exit 3")]))
        await target.until_phase("Ended")
        assert dig(await target.chaperon(), "status", "phase") == "Failed"
        assert finalizers_of(await target.pod()) == []
        await target.client.delete(PODS, "web-abcde", "default")
        await target.runtime.sleep(120.0)
        assert await target.pod() is None
        assert (await target.fence())["phase"] == "Ended"
        assert POD_MISSING_SINCE not in annotations_of(await target.chaperon())


async def test_a_foreign_pod_of_the_same_name_is_not_adopted():
    """Line 36."""
    async with stage() as target:
        spec = {"containers": [{"name": "theirs", "image": "x"}]}
        metadata = {"name": "web-abcde", "namespace": "default"}
        theirs = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        before = await target.client.create(PODS, theirs)
        await target.send(chaperon())
        fence = await target.until_phase("Refused")
        assert "is there already and is not this chaperon's" in fence["message"]
        pod = await target.pod()
        assert (uid_of(pod), controller_of(pod)) == (uid_of(before), None)
        await target.client.delete(PODS, "web-abcde", "default")
        await target.until_phase("Bound", seconds=120.0)
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.until_gone()


async def test_a_refusal_of_the_cluster_is_told_in_its_own_words_and_tried_again():
    async with stage() as target:
        await _forbid_pods(target, "pods are not wanted here")
        await target.send(chaperon())
        fence = await target.until_phase("Refused")
        assert "pods are not wanted here" in fence["message"]
        assert "podUid" not in fence
        assert fence["attempt"] == 1
        await target.client.delete(BINDINGS, "no-pods")
        await target.until_phase("Bound", seconds=120.0)


async def test_a_pod_that_may_not_run_twice_is_not_made_again():
    """Line 44."""
    async with stage() as target:
        await target.send(chaperon(restartPolicy="OnFailure", containers=[_container("sleep 1000")]))
        await target.until_phase("Bound")
        await target.client.delete(PODS, "web-abcde", "default")
        await target.until_phase("Lost", seconds=60.0)
        assert missing_since(await target.chaperon()) == pytest.approx(target.runtime.now(), abs=2.0)
        await target.runtime.sleep(150.0)
        assert await target.pod() is None


async def test_a_pod_that_always_runs_is_made_again_after_a_minute():
    """Line 43: a new uid, the mark goes, and the chaperon says that it is the second."""
    async with stage() as target:
        await target.send(chaperon())
        first = (await target.until_phase("Bound"))["podUid"]
        await target.client.delete(PODS, "web-abcde", "default")
        await target.until_phase("Lost", seconds=60.0)
        vanished = target.runtime.monotonic()
        assert POD_MISSING_SINCE in annotations_of(await target.chaperon())
        fence = await target.until_phase("Bound", seconds=120.0)
        assert 55.0 < target.runtime.monotonic() - vanished < 70.0
        assert fence["podUid"] != first
        assert (fence["pods"], fence["attempt"]) == (2, 1)
        assert "missingSince" not in fence
        assert POD_MISSING_SINCE not in annotations_of(await target.chaperon())


async def test_a_chaperon_goes_only_after_its_pod():
    async with stage() as target:
        sent = chaperon(terminationGracePeriodSeconds=20)
        sent["metadata"]["annotations"] |= {"simulator.hanse.dev/hang": "true"}
        await target.send(sent)
        await target.until_phase("Bound")
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.runtime.sleep(10.0)
        assert dig(await target.pod(), "metadata", "deletionGracePeriodSeconds") == 20
        assert finalizers_of(await target.chaperon()) == [CHAPERON_FINALIZER]
        await target.until_gone(seconds=30.0)
        assert await target.pod() is None


async def test_a_chaperon_waits_for_a_pod_whose_node_is_lost():
    """While its containers may still run, nobody is told that they do not."""
    async with stage() as target:
        await target.send(chaperon())
        await target.until_phase("Bound")
        target.cluster.fail()
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.runtime.sleep(120.0)
        assert finalizers_of(await target.chaperon()) == [CHAPERON_FINALIZER]
        target.cluster.heal()
        await target.until_gone()


async def test_a_chaperon_without_a_pod_goes_at_once():
    async with stage(keeper=False) as target:
        await target.send(chaperon())
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        target.start()
        await target.until_gone(seconds=5.0)
        assert target.wire.writes == [("PATCH", _CHAPERON)]


async def test_a_chaperon_by_hand_gets_a_pod_and_is_held_by_it():
    async with stage() as target:
        await target.send(by_hand())
        await target.until_phase("Bound")
        stored = await target.chaperon()
        assert finalizers_of(stored) == [CHAPERON_FINALIZER]
        assert labels_of(await target.pod()) == {PARENT_UID: uid_of(stored)}
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.until_gone()
        assert await target.pod() is None


@pytest.mark.parametrize("writes", [2, 3, 4])
async def test_a_keeper_that_dies_between_two_writes_makes_no_second_pod(writes):
    """The pod runs once, also if it was deleted while nobody looked."""
    async with stage(keeper=False) as target:
        _cut_after(target, writes)
        target.start()
        await target.send(chaperon(restartPolicy="Never", containers=[_container("sleep 1000")]))
        await target.runtime.sleep(3.0)
        await target.kill()
        assert dig(await target.pod(), "status", "phase") == "Running"
        await target.client.delete(PODS, "web-abcde", "default")
        await target.runtime.sleep(40.0)
        target.wire.before_write = lambda _request: None
        target.start()
        await target.until_phase("Lost", seconds=60.0)
        assert await target.pod() is None


async def test_a_keeper_that_comes_back_goes_on_with_the_pod_that_it_made():
    async with stage(keeper=False) as target:
        _cut_after(target, 2)
        target.start()
        await target.send(chaperon(restartPolicy="Never", containers=[_container("sleep 1000")]))
        await target.runtime.sleep(3.0)
        await target.kill()
        made = uid_of(await target.pod())
        target.wire.before_write = lambda _request: None
        target.start()
        assert (await target.until_phase("Bound"))["podUid"] == made
        await target.runtime.sleep(1.0)
        assert finalizers_of(await target.pod()) == []


async def test_what_a_keeper_announced_that_is_gone_is_waited_out():
    """Its request may still be under way: neither is another pod made, nor is it said that there is none."""
    async with stage(keeper=False) as target:
        _cut_after(target, 1)
        target.start()
        await target.send(chaperon())
        await target.runtime.sleep(3.0)
        await target.kill()
        word = (await target.fence())["making"]
        target.wire.before_write = lambda _request: None
        target.start()
        await target.runtime.sleep(LATE_SECONDS - 1.0)
        assert await target.pod() is None
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.runtime.sleep(0.5)
        assert (await target.fence())["making"] == word
        await target.until_gone(seconds=3.0)
        await target.send(chaperon())
        assert "making" not in await target.until_phase("Bound")


async def test_of_two_keepers_one_makes_the_pod():
    async with stage(keeper=False) as target:
        made = []
        target.wire.before_write = lambda request: made.append(request) if request.method == "POST" else None
        target.start()
        first, target._keeper = target._keeper, None
        target.start()
        await target.runtime.sleep(1.0)
        await target.send(chaperon())
        await target.until_phase("Bound")
        await target.runtime.sleep(60.0)
        first.cancel()
        assert len(made) == 1


async def test_an_attempt_that_is_over_gets_no_pod():
    async with stage() as target:
        await target.send(chaperon(attempt=3))
        await target.until_phase("Bound")
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.until_gone()
        await target.send(chaperon(attempt=2))
        assert "attempt 2 to place the pod is over" in (await target.until_phase("Refused"))["message"]
        await target.runtime.sleep(100.0)
        assert await target.pod() is None


async def test_an_odd_chaperon_does_not_stop_the_others():
    async with stage() as target:
        odd = chaperon("odd", containers="none", restartPolicy=7)
        odd["metadata"]["labels"][PARENT_UID] = "uid-2"
        await target.send(odd)
        await target.send(chaperon())
        await target.until_phase("Bound")
        assert (await target.until_phase("Refused", "odd"))["message"]


async def test_a_cluster_that_does_not_know_chaperons_yet_is_waited_for():
    async with stage(keeper=False) as target:
        await target.client.delete(CRDS, POD_CHAPERONS.group_resource)
        target.start()
        await target.runtime.sleep(60.0)
        assert target.wire.writes == []
        await target.client.create(CRDS, POD_CHAPERON_CRD)
        await target.send(chaperon())
        await target.until_phase("Bound")


async def test_the_mark_of_a_missing_pod_survives_the_engine_of_its_source():
    """The engine applies what it rendered; the mark belongs to another manager."""
    async with stage() as target:
        engine = Client(target.server.connect(ADMINISTRATOR), target.runtime)
        await engine.create(POD_CHAPERONS, chaperon(restartPolicy="Never", containers=[_container("sleep 1000")]))
        await target.until_phase("Bound")
        await target.client.delete(PODS, "web-abcde", "default")
        await target.until_phase("Lost", seconds=60.0)
        changed = chaperon(restartPolicy="Never", containers=[_container("sleep 1000")])
        changed["metadata"]["annotations"]["team"] = "red"
        await engine.apply(POD_CHAPERONS, changed)
        stored = await target.chaperon()
        assert annotations_of(stored)["team"] == "red"
        assert POD_MISSING_SINCE in annotations_of(stored)
        assert stored["status"]["fence"]["phase"] == "Lost"


async def test_a_keeper_inside_stops_pods_whose_source_is_silent():
    async with stage(inside=True) as target:
        await _give_sign(target)
        sent = chaperon()
        sent["fence"]["expirySeconds"] = 60
        await target.send(sent)
        await target.until_phase("Bound")
        for _ in range(3):
            await target.runtime.sleep(40.0)
            await _give_sign(target)
        assert (await target.fence())["phase"] == "Bound"
        fence = await target.until_phase("Lost", seconds=70.0)
        assert "its source has given no sign for 60 s" in fence["message"]
        await target.runtime.sleep(120.0)
        assert await target.pod() is None
        await target.client.delete(POD_CHAPERONS, "web-abcde", "default")
        await target.until_gone()


async def test_a_keeper_inside_shows_that_it_is_there():
    async with stage(inside=True) as target:
        await target.runtime.sleep(1.0)
        first = await target.client.get(LEASES, KEEPER_LEASE.name, SYSTEM_NAMESPACE)
        await target.runtime.sleep(20.0)
        second = await target.client.get(LEASES, KEEPER_LEASE.name, SYSTEM_NAMESPACE)
        assert first["spec"]["renewTime"] < second["spec"]["renewTime"]


async def test_a_keeper_outside_stops_nothing_and_writes_no_lease():
    async with stage() as target:
        sent = chaperon()
        sent["fence"]["expirySeconds"] = 60
        await target.send(sent)
        await target.until_phase("Bound")
        await target.runtime.sleep(150.0)
        assert (await target.fence())["phase"] == "Bound"
        assert await target.client.find(LEASES, KEEPER_LEASE.name, SYSTEM_NAMESPACE) is None


def _container(script):
    return {"name": "main", "image": "job:1", "command": ["sh", "-c", script]}


def _cut_after(target, last):
    """Let the keeper's first writes through and none after them."""
    left = [last]

    def judge(_request):
        left[0] -= 1
        if left[0] < 0:
            raise Forbidden(403, "Forbidden", "the link is cut")

    target.wire.before_write = judge


async def _give_sign(target):
    key = source_lease("home")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"holderIdentity": "home", "renewTime": micro_timestamp(target.runtime.now())},
    }
    await target.client.apply(LEASES, lease)


async def _forbid_pods(target, sentence):
    creations = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policy = {
        "matchConstraints": {"resourceRules": [creations]},
        "validations": [{"expression": "false", "message": sentence}],
    }
    bound = {"policyName": "no-pods", "validationActions": ["Deny"]}
    for resource, spec in ((POLICIES, policy), (BINDINGS, bound)):
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        await target.client.create(resource, {**kind, "metadata": {"name": "no-pods"}, "spec": spec})
    await target.runtime.sleep(1.0)
