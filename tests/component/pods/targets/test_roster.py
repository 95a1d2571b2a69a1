"""The targets of a source against embedded API servers on virtual time; the numbers are lines of the checklist."""

import asyncio

import pytest

from hanse.api.admiralty.definitions import CLUSTER_TARGET_CRD, TARGET_CRD
from hanse.api.admiralty.keys import HAS_FINALIZER, PARENT_CLUSTER, PARENT_NAME, PARENT_UID, TARGET
from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES, CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import CLUSTERS
from hanse.api.names import MANAGED_LABEL, SYSTEM_NAMESPACE
from hanse.clusters.account import ROLE_BINDINGS, ROLES
from hanse.kube.cache import NotSynced
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import name_of, uid_of
from hanse.kube.resources import CRDS, LEASES, NODES, PODS, SECRETS
from hanse.pods.chaperons.signs import KEEPER_LEASE
from tests.component.pods.targets.stage import SOURCE, chaperon, made, stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def test_a_registered_cluster_is_a_target_under_the_targets_own_name():
    async with stage("east") as here:
        await here.make("eu", clusterName="east")
        await here.make("east", "default", clusterName="east")
        with pytest.raises(NotSynced):
            here.enlist() and here.roster.clusters()
        await here.ready("eu")

        assert here.roster.targets() == [TargetName("", "eu"), TargetName("default", "east")]
        assert [each.name for each in here.roster.clusters()] == ["eu"]
        assert here.seen("eu").labels["where"] == "east"
        assert here.roster.registered("eu") == "east"
        assert here.roster.member("eu").client is here.board.member("east").client
        # The other shows the same objects a second time.
        assert "same place as eu" in here.roster.troubles()["default/east"]
        assert "same place" in (await here.condition("east", "default"))["message"]
        assert (await here.condition("eu"))["status"] == "True"


async def test_two_namespaces_of_itself_are_two_targets():
    async with stage() as here:
        await here.namespace(SOURCE, "other")
        await here.make("me", "default", self=True)
        await here.make("me", "other", self=True)
        here.enlist()
        await here.ready("default/me", "other/me")

        assert here.roster.is_self("default/me")
        assert here.roster.registered("default/me") == ""
        assert [here.roster.member(name).namespace for name in ("default/me", "other/me")] == ["default", "other"]


async def test_steady_is_silent_and_every_change_is_told_once():
    async with stage("east") as here:
        await here.make("eu", clusterName="east")
        await here.credentials("credentials", "west")
        await here.open("west")
        await here.make("west", "default", kubeconfigSecret={"name": "credentials"})
        here.enlist()
        await here.ready("eu", "default/west")
        await here.runtime.sleep(20)
        here.heard.clear()
        here.forget_writes()

        await here.runtime.sleep(60)

        assert here.writes() == {}
        assert here.heard == []

        await here.source.create(NODES, {"metadata": {"name": "admiralty-eu", "labels": {"type": "virtual-kubelet"}}})
        patch = {"metadata": {"labels": {"price": "7"}}, "spec": {"unschedulable": True}}
        await here.source.patch(NODES, "admiralty-eu", patch)
        await here.until(lambda: here.seen("eu").unschedulable)

        assert here.seen("eu").labels["price"] == "7"
        assert set(here.heard) == {"eu"}


async def test_credentials_that_come_later_and_change_are_taken_up_under_way():
    async with stage() as here:
        await here.open("west")
        await here.make("c2", "default", kubeconfigSecret={"name": "credentials"})
        here.enlist()
        await here.roster.wait_synced()
        await here.until(lambda: "credentials" in here.roster.troubles().get("default/c2", ""))
        assert here.seen("default/c2") is None
        assert "does not exist" in (await here.condition("c2", "default"))["message"]

        await here.credentials("credentials", "west")
        await here.ready("default/c2")
        client = here.roster.member("default/c2").client
        await here.credentials("credentials", "west", user="nobody")
        await here.until(lambda: not here.is_ready("default/c2"))

        # Who we are changed under way; what is known of it stays, and so does who works with it.
        assert "do not suffice" in here.seen("default/c2").why
        assert not here.seen("default/c2").offline
        assert here.roster.member("default/c2").client is client

        await here.source.delete(SECRETS, "credentials", "default")
        await here.until(lambda: "does not exist" in here.seen("default/c2").why)
        assert here.roster.member("default/c2") is None

        # Pods may be in the west; other credentials may lead there by another way, and not elsewhere.
        await here.credentials("credentials", SOURCE)
        await here.until(lambda: "pods may be where it led before" in here.seen("default/c2").why)
        await here.credentials("credentials", "west")
        await here.ready("default/c2")


async def test_key_and_context_choose_within_the_secret_and_its_cluster_tells_what_it_has():
    async with stage() as here:
        west = await here.open("west")
        summary = {"metadata": {"name": "singleton", "labels": {"zone": "z1"}}, "allocatable": {"cpu": "4"}}
        await west.create(CLUSTER_SUMMARIES, {**made(CLUSTER_SUMMARIES, "singleton"), **summary})
        await here.credentials("credentials", "nowhere", key="k", west=Endpoint("https://west.example", insecure=True))
        secret = {"name": "credentials", "namespace": "default", "key": "k", "context": "west"}
        await here.make("west", kubeconfigSecret=secret)
        await here.make("lacking", kubeconfigSecret={"name": "credentials", "namespace": "default"})
        here.enlist()
        await here.ready("west")
        await here.until(lambda: here.seen("west").capacity)

        assert "has no key 'config'" in here.roster.troubles()["lacking"]
        assert here.seen("west").labels["zone"] == "z1"
        assert here.seen("west").capacity == {"cpu": "4"}


async def test_a_black_hole_and_ill_formed_targets_delay_nobody():
    async with stage("east") as here:
        await here.open("west")
        await here.credentials("credentials", "west")
        here.wire("west")
        here.wires["west"].hanging = True
        await here.make("hole", "default", kubeconfigSecret={"name": "credentials"})
        await here.make("gone", clusterName="nowhere")
        await here.make("eu", clusterName="east")
        here.enlist()

        assert await here.ready("eu") < 5.0
        await here.until(lambda: "within" in here.roster.troubles()["default/hole"], 15)
        # It was never ready, so no pod can be there, and nobody has to wait for it.
        assert [each.name for each in here.roster.clusters()] == ["eu"]
        assert "no cluster nowhere" in here.roster.troubles()["gone"]

        here.wires["west"].hanging = False
        assert await here.ready("default/hole") < 15.0


async def test_a_target_that_was_ready_is_never_forgotten_while_it_exists():
    async with stage("east") as here:
        await here.open("west")
        await here.credentials("credentials", "west")
        await here.make("c2", "default", kubeconfigSecret={"name": "credentials"})
        await here.make("eu", clusterName="east")
        running = here.enlist()
        await here.ready("eu", "default/c2")
        here.wires["west"].hanging = True
        assert await here.until(lambda: here.seen("default/c2").offline) < 10.0
        since = here.seen("default/c2").refused_since
        await here.clients["host"].delete(CLUSTERS, "east")
        await here.until(lambda: not here.is_ready("eu"))
        await here.runtime.sleep(30)
        await here.end(running)

        # A control plane that starts now knows what the one before it knew.
        here.enlist()
        await here.roster.wait_synced()
        seen = here.seen("default/c2")
        assert (seen.ready, seen.offline, seen.refused_since) == (False, True, since)
        assert "no cluster east" in here.seen("eu").why
        assert here.seen("eu").refused_since
        assert here.roster.member("eu") is None

        here.wires["west"].hanging = False
        await here.ready("default/c2")
        assert here.seen("default/c2").refused_since > since

        await here.source.delete(TARGETS, "c2", "default")
        await here.until(lambda: here.seen("default/c2") is None)
        assert here.roster.member("default/c2") is None
        assert TargetName("default", "c2") not in here.roster.targets()


async def test_a_target_stays_until_nothing_of_its_source_is_there():
    """Its own pods are stopped by whoever keeps placeholders; what nobody stands for any more is taken away here."""
    async with stage("east") as here:
        await here.make("eu", clusterName="east")
        here.enlist()
        await here.ready("eu")
        bound = made(PODS, "web", "default", spec={"containers": [{"name": "main", "image": "web"}]})
        bound["metadata"] |= {"annotations": {TARGET: "eu"}, "labels": {HAS_FINALIZER: "true"}}
        stored = await here.source.create(PODS, bound)
        east = here.clients["east"]
        for name, parent, source in (("own", uid_of(stored), SOURCE), ("left", "gone", SOURCE), ("other", "x", "away")):
            labels = {PARENT_UID: parent, PARENT_CLUSTER: source, MANAGED_LABEL: "true"}
            await east.create(POD_CHAPERONS, chaperon(name, labels=labels, annotations={PARENT_NAME: "web"}))

        await here.source.delete(CLUSTER_TARGETS, "eu")
        await here.until(lambda: here.seen("eu").unschedulable)
        await here.runtime.sleep(10)
        assert here.roster.is_leaving("eu")
        assert {name_of(each) for each in (await east.list(POD_CHAPERONS)).items} == {"own", "other"}

        await here.source.patch(PODS, "web", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
        await here.until(lambda: here.seen("eu") is None)
        assert [name_of(each) for each in (await east.list(POD_CHAPERONS)).items] == ["other"]
        assert await here.source.find(CLUSTER_TARGETS, "eu") is None


async def test_a_namespaced_target_needs_no_right_beyond_its_namespace():
    async with stage() as here:
        west = await here.open("west")
        kinds = {"apiGroups": ["multicluster.admiralty.io"], "resources": ["podchaperons"], "verbs": ["list", "watch"]}
        await west.create(ROLES, made(ROLES, "sender", "default", rules=[kinds]))
        bound = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sender"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}
        await west.create(ROLE_BINDINGS, made(ROLE_BINDINGS, "sender", "default", roleRef=bound, subjects=[subject]))
        await here.credentials("credentials", "west", user="tenant")
        await here.make("c2", "default", kubeconfigSecret={"name": "credentials"})
        here.enlist()
        await here.roster.wait_synced()
        lacking = "may not create and patch and delete podchaperons.multicluster.admiralty.io in namespace default"
        await here.until(lambda: lacking in here.roster.troubles()["default/c2"])

        kinds["verbs"] += ["create", "patch", "delete"]
        await west.patch(ROLES, "sender", {"rules": [kinds]}, "default")
        await here.ready("default/c2")

        # What its nodes have, and whose name it is, cannot be told by such credentials.
        assert here.seen("default/c2").capacity == {}
        assert (await here.roster.claim("default/c2")).ours is None

        await here.make("west", kubeconfigSecret={"name": "credentials", "namespace": "default"})
        await here.until(lambda: "same place as default/c2" in here.roster.troubles().get("west", ""))


async def test_a_second_source_of_the_same_name_is_refused_until_the_first_is_gone():
    async with stage("east") as here:
        east = here.clients["east"]
        lease = made(LEASES, f"pods.hanse.dev-{SOURCE}", SYSTEM_NAMESPACE, spec={"holderIdentity": "another-home"})
        await here.namespace("east", SYSTEM_NAMESPACE)
        await east.create(LEASES, lease)
        await here.make("eu", clusterName="east")
        here.enlist()
        await here.roster.wait_synced()
        await here.until(lambda: "another source of the same name" in here.roster.troubles().get("eu", ""))
        assert here.roster.clusters() == []
        assert "another-home" in (await here.condition("eu"))["message"]
        here.forget_writes()
        await here.runtime.sleep(70)
        assert here.writes() == {}

        await east.delete(LEASES, lease["metadata"]["name"], SYSTEM_NAMESPACE)
        await here.ready("eu")

        assert (await here.roster.claim("eu")).ours


async def test_a_keeper_inside_a_target_hears_the_source_and_no_other_target_is_written_to():
    async with stage("east", "west") as here:
        for name in ("east", "west"):
            await here.namespace(name, SYSTEM_NAMESPACE)
            await here.make(name, clusterName=name)
        keeper = made(LEASES, KEEPER_LEASE.name, SYSTEM_NAMESPACE, spec={"holderIdentity": "hanse"})
        await here.clients["east"].create(LEASES, keeper)
        here.enlist()
        await here.ready("east", "west")

        async def renewed():
            lease = await here.clients["east"].find(LEASES, f"pods.hanse.dev-{SOURCE}", SYSTEM_NAMESPACE)
            return lease["spec"]["renewTime"] if lease else ""

        first = await renewed()
        await here.runtime.sleep(20)
        here.forget_writes()
        await here.clients["east"].patch(
            LEASES, keeper["metadata"]["name"], {"spec": {"leaseTransitions": 1}}, SYSTEM_NAMESPACE
        )
        await here.runtime.sleep(25)

        assert await renewed() > first
        assert set(here.writes()) == {"east"}

        # Nobody listens any more.
        await here.runtime.sleep(60)
        here.forget_writes()
        await here.runtime.sleep(60)
        assert here.writes() == {}


async def test_targets_are_waited_for_where_their_kinds_are_not_served_yet():
    async with stage() as here:
        for kind in (TARGETS, CLUSTER_TARGETS):
            await here.source.delete(CRDS, f"{kind.plural}.{kind.group}")
        here.enlist()
        waiting = asyncio.create_task(here.roster.wait_synced())
        await here.runtime.sleep(20)
        assert not waiting.done()

        for crd in (TARGET_CRD, CLUSTER_TARGET_CRD):
            await here.source.create(CRDS, crd)
        await here.until(waiting.done)

        assert here.roster.clusters() == []


async def test_every_registered_cluster_is_a_target_of_the_federation_itself():
    async with stage("east") as here:
        roster, east = await here.govern(), here.clients["east"]
        await here.until(lambda: not roster.troubles() and roster.member("east"))
        assert (await east.list(LEASES)).items == []
        # It takes nothing before it is known whose it is, which nobody asks before there is something to place.
        assert all(each.unschedulable for each in roster.clusters())
        await here.until(lambda: not any(each.unschedulable for each in roster.clusters()))

        assert [each.name for each in roster.clusters()] == ["east", SOURCE]
        assert roster.targets() == [TargetName("", "east"), TargetName("", SOURCE)]
        assert (roster.registered("east"), roster.is_self("east")) == ("east", False)
        assert (await roster.claim("east")).ours
        lease = (await east.list(LEASES, SYSTEM_NAMESPACE)).items[0]
        assert lease["metadata"]["name"] == "pods.hanse.dev"

        await here.clients["host"].patch(CLUSTERS, "east", {"metadata": {"annotations": {"hanse.dev/mode": "pull"}}})
        await here.until(lambda: "fetches its work" in roster.troubles().get("east", ""))
        assert [each.name for each in roster.clusters()] == [SOURCE]


async def test_another_federation_s_cluster_takes_no_pods_of_this_one():
    async with stage("east") as here:
        await here.namespace("east", SYSTEM_NAMESPACE)
        lease = made(LEASES, "pods.hanse.dev", SYSTEM_NAMESPACE, spec={"holderIdentity": "another"})
        await here.clients["east"].create(LEASES, lease)
        roster = await here.govern()
        assert len(roster.clusters()) == 2
        await here.until(lambda: "another source" in roster.troubles().get("east", ""))
        assert not (await roster.claim("east")).ours

        await here.clients["east"].delete(LEASES, "pods.hanse.dev", SYSTEM_NAMESPACE)
        await here.until(lambda: not roster.troubles(), 120)


async def test_of_two_that_come_to_one_place_at_once_only_one_is_ever_used():
    async with stage() as here:
        await here.open("west")
        await here.credentials("second", "west")
        await here.make("one", kubeconfigSecret={"name": "first", "namespace": "default"})
        await here.make("two", kubeconfigSecret={"name": "second", "namespace": "default"})
        both = []

        async def watch(_member):
            both.append({each.name for each in here.roster.clusters()})
            await asyncio.Event().wait()

        here.enlist()
        here.roster.attach(watch)
        here.wire("west")
        here.wires["west"].latency = 0.5
        await here.roster.wait_synced()
        # The older one is known while the younger one is on its way.
        await here.runtime.sleep(1.2)
        await here.credentials("first", "west")
        await here.runtime.sleep(20)

        assert both == [{"two"}]
        assert "same place as two" in here.roster.troubles()["one"]
