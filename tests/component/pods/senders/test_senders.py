"""Sources on an API server in memory: who gets which rights, and when they lose them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.admiralty.definitions import CLUSTER_SOURCE_CRD, CLUSTER_SUMMARY_CRD, POD_CHAPERON_CRD, SOURCE_CRD
from hanse.api.admiralty.kinds import CLUSTER_SOURCES, CLUSTER_SUMMARIES, POD_CHAPERONS, SOURCES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import dig, name_of
from hanse.kube.resources import CRDS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from hanse.kube.runtime import SeededRuntime
from hanse.pods.senders.keeper import SenderKeeper
from tests.component.pods.wire import ADMINISTRATOR, Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class Place:
    """A cluster to which pods are sent."""

    def __init__(self, server, runtime):
        self.runtime = runtime
        self.server = server
        self.client = Client(server.connect(ADMINISTRATOR), runtime, manager="kubectl")
        self.wire = Wire(server.connect(ADMINISTRATOR, as_remote=True))
        self.keeper = None

    def start(self):
        self.keeper = asyncio.create_task(SenderKeeper(Client(self.wire, self.runtime)).run())

    async def stop(self):
        self.keeper.cancel()
        await asyncio.gather(self.keeper, return_exceptions=True)

    async def source(self, name, namespace="default", **spec):
        resource = SOURCES if namespace else CLUSTER_SOURCES
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        await self.client.apply(resource, {**kind, "metadata": metadata, "spec": spec})
        await self.runtime.sleep(2.0)

    async def bindings(self):
        """Names of bindings with their subjects, of those that were made for senders."""
        found = {}
        for resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            for each in (await self.client.list(resource, labels="pods.hanse.dev/sender")).items:
                found[name_of(each)] = [subject["name"] for subject in each["subjects"]]
        return found

    def acting_as(self, name, *groups):
        return Client(self.server.connect(Identity(name, groups)), self.runtime)


@asynccontextmanager
async def target():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="target", storage=MemoryStorage(), runtime=runtime)
    made = Place(server, runtime)
    for crd in (SOURCE_CRD, CLUSTER_SOURCE_CRD, CLUSTER_SUMMARY_CRD, POD_CHAPERON_CRD):
        await made.client.create(CRDS, crd)
    made.start()
    try:
        yield made
    finally:
        await made.stop()
        await server.close()


async def test_a_source_gets_an_account_and_bindings_that_follow_it_and_go_with_it():
    """Line 57."""
    async with target() as place:
        await place.source("home", serviceAccountName="home")
        both = ["admiralty-source-home", "admiralty-source-default-home-cluster-summary-viewer"]
        assert await place.bindings() == {name: ["home"] for name in both}
        assert await place.client.find(SERVICE_ACCOUNTS, "home", "default")
        assert dig(await place.client.get(SOURCES, "home", "default"), "status", "conditions")[0]["status"] == "True"
        await place.source("home", serviceAccountName="other")
        assert await place.bindings() == {name: ["other"] for name in both}
        assert await place.client.find(SERVICE_ACCOUNTS, "home", "default") is None
        await place.client.delete(SOURCES, "home", "default")
        await place.runtime.sleep(2.0)
        assert await place.bindings() == {}
        assert await place.client.find(SERVICE_ACCOUNTS, "other", "default") is None


async def test_a_cluster_source_gets_an_account_in_the_namespace_that_it_names():
    """D3."""
    async with target() as place:
        await place.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "senders"}}
        )
        await place.source("home", "", serviceAccount={"name": "home", "namespace": "senders"})
        assert await place.bindings() == {
            "admiralty-cluster-source-home": ["home"],
            "admiralty-cluster-source-home-cluster-summary-viewer": ["home"],
        }
        assert await place.client.find(SERVICE_ACCOUNTS, "home", "senders")


async def test_an_account_that_was_there_before_stays():
    async with target() as place:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine", "namespace": "default"}}
        await place.client.create(SERVICE_ACCOUNTS, account)
        await place.source("home", serviceAccountName="mine")
        await place.client.delete(SOURCES, "home", "default")
        await place.runtime.sleep(2.0)
        assert await place.bindings() == {}
        assert await place.client.find(SERVICE_ACCOUNTS, "mine", "default")


async def test_an_account_stays_while_another_sender_names_it():
    async with target() as place:
        for name in ("one", "two"):
            await place.source(name, serviceAccountName="shared")
        await place.client.delete(SOURCES, "one", "default")
        await place.runtime.sleep(2.0)
        assert await place.client.find(SERVICE_ACCOUNTS, "shared", "default")


async def test_a_sender_that_went_while_nobody_looked_is_swept():
    """D4: also what is in the whole cluster."""
    async with target() as place:
        await place.source("home", userName="someone")
        await place.stop()
        await place.client.delete(SOURCES, "home", "default")
        assert len(await place.bindings()) == 2
        place.start()
        await place.runtime.sleep(2.0)
        assert await place.bindings() == {}


async def test_a_binding_that_somebody_changed_or_deleted_is_put_back_and_then_nobody_writes():
    async with target() as place:
        await place.source("home", userName="someone")
        name = "admiralty-source-home"
        await place.client.patch(ROLE_BINDINGS, name, {"subjects": [{"kind": "User", "name": "thief"}]}, "default")
        await place.runtime.sleep(2.0)
        assert (await place.bindings())[name] == ["someone"]
        await place.client.delete(ROLE_BINDINGS, name, "default")
        await place.runtime.sleep(2.0)
        assert (await place.bindings())[name] == ["someone"]
        place.wire.writes.clear()
        await place.runtime.sleep(300.0)
        assert place.wire.writes == []


async def test_a_sender_sends_chaperons_into_its_namespace_and_makes_no_pods():
    async with target() as place:
        await place.source("home", userName="someone")
        await place.runtime.sleep(2.0)
        sender = place.acting_as("someone", "system:authenticated")
        chaperon = {
            "apiVersion": POD_CHAPERONS.api_version,
            "kind": POD_CHAPERONS.kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"containers": []},
        }
        await sender.create(POD_CHAPERONS, chaperon)
        assert (await sender.list(CLUSTER_SUMMARIES)).items == []
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
        with pytest.raises(Forbidden):
            await sender.create(PODS, {**pod, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        with pytest.raises(Forbidden):
            await sender.list(POD_CHAPERONS, "kube-system")


async def test_a_role_that_somebody_else_wrote_stays_theirs():
    async with target() as place:
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
        await place.client.create(CLUSTER_ROLES, {**role, "metadata": {"name": "admiralty-source"}})
        await place.source("home", userName="someone")
        assert not (await place.client.get(CLUSTER_ROLES, "admiralty-source")).get("rules")
        assert (await place.client.get(CLUSTER_ROLES, "admiralty-cluster-summary-viewer"))["rules"]


async def test_a_binding_of_somebody_elses_that_grants_the_same_will_do():
    async with target() as place:
        await place.source("home", userName="someone")
        name = "admiralty-source-home"
        await place.client.patch(ROLE_BINDINGS, name, {"metadata": {"labels": None, "annotations": None}}, "default")
        await place.runtime.sleep(2.0)
        assert dig(await place.client.get(SOURCES, "home", "default"), "status", "conditions")[0]["status"] == "True"
        await place.client.delete(SOURCES, "home", "default")
        await place.runtime.sleep(2.0)
        assert await place.client.find(ROLE_BINDINGS, name, "default")


async def test_a_binding_of_somebody_elses_is_not_taken_over_and_the_source_says_so():
    async with target() as place:
        metadata = {"name": "admiralty-source-home", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        theirs = {"apiVersion": ROLE_BINDINGS.api_version, "kind": "RoleBinding", "metadata": metadata, "roleRef": role}
        await place.client.create(ROLE_BINDINGS, theirs)
        await place.source("home", userName="someone")
        told = dig(await place.client.get(SOURCES, "home", "default"), "status", "conditions")[0]
        assert (told["type"], told["status"]) == ("Ready", "False")
        assert "already exists" in told["message"]
        assert (await place.client.get(ROLE_BINDINGS, "admiralty-source-home", "default"))["roleRef"] == role
