"""The engine's side of a member that fetches its work, against a host alone; the agent is played by the test."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.names import MANAGED_LABEL
from hanse.api.works import AGENT_CRD, AGENTS, WORK_CRD, WORKS, agent_namespace, kind_entry
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.cli.works_view import WorksView
from hanse.clusters.agent_access import join_by_agent
from hanse.clusters.member import PullMember
from hanse.clusters.pulse import AGENT_TERMS, Pulse, agent_lease
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.leases import Leadership
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, LEASES, NAMESPACES, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.propagation.comparison import Absent, Present
from hanse.propagation.desk import Desk
from hanse.propagation.intent import Ref
from hanse.propagation.pull_side import PullSide
from hanse.propagation.rendering import render
from hanse.propagation.works import Answer, told_copy, work_key, work_status
from tests.simulation.world import ADMINISTRATOR
from tests.unit.propagation.builders import UID, config_intent

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

REF = Ref(CONFIGMAPS, Key("shop", "settings"))
MANIFEST = render(config_intent(), None)
PRESENT = Present(MANIFEST, UID)


class Stage:
    """A host with a pull side that follows ConfigMaps, and an agent who says what it is told to say."""

    def __init__(self, host):
        self.host = host
        self.runtime = host.runtime
        self.desk = Desk()
        self.pulse = Pulse(host, "b")
        self.side = PullSide(PullMember("b", host, self.pulse), (NAMESPACES, CONFIGMAPS), self.desk)
        self.desk.connect(lambda _cluster, ref: self.side.enqueue(ref), lambda _ref: None, lambda _ref: None)
        self.views = []
        self.changes = []

    async def work(self):
        return await self.host.find(WORKS, work_key("b", REF).name, agent_namespace("b"))

    async def wanted(self):
        work = await self.work()
        return work and work["spec"]["want"]

    async def answer(self, **answer):
        work = await self.work()
        answer.setdefault("generation", work["metadata"]["generation"])
        patch = [{"op": "add", "path": "/status", "value": work_status(Answer(**answer))}]
        await self._patch(WORKS, work["metadata"]["name"], patch)

    async def tell(self, session, *kinds):
        status = {"session": session, "kinds": [kind_entry(kind) | {"seen": True} for kind in kinds], "cluster": {}}
        await self._patch(AGENTS, "b", [{"op": "add", "path": "/status", "value": status}])

    async def _patch(self, resource, name, patch):
        kind = "application/json-patch+json"
        await self.host.patch(resource, name, patch, agent_namespace("b"), patch_type=kind, subresource="status")

    def holding(self, session):
        leadership = Leadership(self.host, agent_lease("b"), session, AGENT_TERMS)
        return asyncio.create_task(leadership.lead(lambda: self.runtime.sleep(3600)))


@asynccontextmanager
async def stage():
    runtime = SeededRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(ADMINISTRATOR), runtime)
    for crd in (CLUSTER_CRD, WORK_CRD, AGENT_CRD):
        await host.apply(CRDS, crd)
    await join_by_agent(host, "b", {})
    made = Stage(host)
    agent = made.holding("first")
    tasks = [
        asyncio.create_task(made.pulse.run()),
        asyncio.create_task(made.side.run(made.changes.append, made.views.append)),
        agent,
    ]
    try:
        await made.tell("first", NAMESPACES, CONFIGMAPS)
        await runtime.sleep(5)
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.close()


async def test_a_wish_is_written_once_and_put_back_when_somebody_changes_or_deletes_it():
    async with stage() as it:
        it.desk.place(REF, {"b": PRESENT})
        await it.runtime.sleep(1)
        first = await it.work()
        name, namespace = first["metadata"]["name"], agent_namespace("b")
        await it.host.patch(WORKS, name, {"spec": {"want": "Absent"}}, namespace)
        await it.runtime.sleep(1)
        mended = await it.work()
        await it.host.delete(WORKS, name, namespace)
        await it.runtime.sleep(1)

        assert first["metadata"]["generation"] == 1
        assert mended["spec"] == first["spec"]
        assert (await it.work())["spec"] == first["spec"]


async def test_what_stands_in_the_way_is_heard_in_a_sentence_and_in_a_word():
    async with stage() as it:
        it.desk.place(REF, {"b": PRESENT})
        await it.runtime.sleep(1)
        unanswered = it.side.is_busy(REF)

        await it.answer(trouble="an object of this name is there already", reason="AlreadyExists")
        await it.runtime.sleep(1)

        assert unanswered
        assert not it.side.is_busy(REF)
        assert it.desk.trouble("b", REF) == "an object of this name is there already"
        assert it.desk.reason("b", REF) == "AlreadyExists"


async def test_a_namespace_stays_while_anything_shall_be_in_it():
    async with stage() as it:
        namespace = Ref(NAMESPACES, Key("", "shop"))

        async def asked():
            work = await it.host.find(WORKS, work_key("b", namespace).name, agent_namespace("b"))
            return work and work["spec"]["want"]

        it.desk.place(REF, {"b": PRESENT})
        it.desk.place(namespace, {"b": Absent(UID)})
        await it.runtime.sleep(2)
        needed, why = await asked(), it.desk.trouble("b", namespace)
        it.desk.place(REF, {"b": Absent(UID)})
        await it.runtime.sleep(12)

        assert needed is None
        assert why == "it is still needed for what is in it"
        assert await asked() == "Absent"


async def test_a_confirmation_of_an_earlier_wish_is_not_taken_for_one_of_this():
    async with stage() as it:
        it.desk.place(REF, {"b": PRESENT})
        await it.runtime.sleep(1)
        it.desk.place(REF, {"b": Absent(UID)})
        await it.runtime.sleep(1)

        await it.answer(generation=1, confirmed=True)
        await it.runtime.sleep(1)
        early = set(it.desk.confirmed(REF, UID))
        await it.answer(confirmed=True)
        await it.runtime.sleep(1)

        assert early == set()
        assert it.desk.confirmed(REF, UID) == {"b"}
        assert await it.work() is None


async def test_a_person_who_asks_the_cluster_sees_what_its_agent_told_and_no_more():
    async with stage() as it:
        it.desk.place(REF, {"b": PRESENT})
        await it.runtime.sleep(1)
        await it.answer(copy=told_copy(MANIFEST))
        view = Client(WorksView(it.host, "b"), it.runtime)

        assert await view.find(CONFIGMAPS, "settings", "shop") == told_copy(MANIFEST)
        assert await view.find(CONFIGMAPS, "other", "shop") is None
        assert await view.find(NAMESPACES, "shop") is None
        listed = await view.list(CONFIGMAPS, labels=f"{MANAGED_LABEL}=true")
        assert listed.items == [told_copy(MANIFEST)]
        beyond = [view.list(CONFIGMAPS), view.list(PODS, "shop"), view.get(DEPLOYMENTS, "web", "shop"), view.version()]
        for attempt in (*beyond, view.delete(CONFIGMAPS, "settings", "shop")):
            with pytest.raises(Forbidden, match="fetches its work by an agent"):
                await attempt


async def test_trouble_is_passed_on_to_the_desk_and_copies_to_the_engine():
    async with stage() as it:
        it.desk.place(REF, {"b": PRESENT})
        await it.runtime.sleep(1)

        await it.answer(trouble="it is full", copy=told_copy(MANIFEST))
        await it.runtime.sleep(1)

        assert it.desk.trouble("b", REF) == "it is full"
        assert REF in it.changes
        assert it.side.observe(REF).copy == told_copy(MANIFEST)


class TestAWishThatIsRepeatedNoMore:
    async def test_is_taken_back_where_there_is_no_copy(self):
        async with stage() as it:
            it.desk.place(REF, {"b": PRESENT})
            await it.runtime.sleep(1)

            it.desk.place(REF, {"a": PRESENT})
            await it.runtime.sleep(0.1)
            withdrawn = await it.wanted()
            await it.runtime.sleep(10)

            assert withdrawn in ("", None)
            assert await it.work() is None

    async def test_stands_where_a_copy_is(self):
        async with stage() as it:
            it.desk.place(REF, {"b": PRESENT})
            await it.runtime.sleep(1)
            await it.answer(copy=told_copy(MANIFEST))

            it.desk.place(REF, {"a": PRESENT})
            await it.runtime.sleep(30)

            assert await it.wanted() == "Present"

    async def test_stands_while_nobody_knows_the_object(self):
        async with stage() as it:
            it.desk.place(REF, {"b": PRESENT})
            await it.runtime.sleep(1)

            it.desk.forget(REF)
            await it.runtime.sleep(30)

            assert await it.wanted() == "Present"


async def test_what_another_agent_told_counts_for_nothing_until_the_new_one_tells_itself():
    async with stage() as it:
        before = it.side.observe(REF).seen
        lease = agent_lease("b")
        await it.host.patch(LEASES, lease.name, {"spec": {"holderIdentity": "second"}}, lease.namespace)
        await it.runtime.sleep(0.5)
        between = it.side.observe(REF).seen
        await it.tell("second", NAMESPACES, CONFIGMAPS)
        await it.runtime.sleep(0.5)

        assert (before, between) == (True, False)
        assert it.side.observe(REF).seen
        assert it.views[-2:].count(CONFIGMAPS) >= 1


async def test_a_kind_of_which_nothing_is_told_is_done_without_after_a_while():
    async with stage() as it:
        it.side.follow((NAMESPACES, CONFIGMAPS, DEPLOYMENTS))
        early = it.side.observe(Ref(DEPLOYMENTS, Key("shop", "web")))
        it.views.clear()
        await it.runtime.sleep(15)
        late = it.side.observe(Ref(DEPLOYMENTS, Key("shop", "web")))

        assert (early.seen, early.refusal) == (False, "")
        assert late.refusal == "its agent has not told what it has of deployments.apps"
        assert it.views == [DEPLOYMENTS]


async def test_kinds_are_followed_at_once_and_left_only_when_they_stay_unused():
    async with stage() as it:

        async def ordered():
            agent = await it.host.get(AGENTS, "b", agent_namespace("b"))
            return [entry["plural"] for entry in agent["spec"]["kinds"]]

        it.side.follow((NAMESPACES, DEPLOYMENTS))
        await it.runtime.sleep(1)
        soon = await ordered()
        await it.runtime.sleep(70)

        assert soon == ["configmaps", "namespaces", "deployments"]
        assert await ordered() == ["namespaces", "deployments"]
