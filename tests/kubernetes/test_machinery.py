"""The Kubernetes machinery on a real API server, through everything that a server and a network do to a client."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
import pytest_asyncio

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.kube import Client, Kubeconfig, Leadership, LeaseTerms, Resource, SystemRuntime, Unreachable
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced
from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES
from tests.kubernetes.follower import Follower, Overheard, closing, followed
from tests.kubernetes.proxy import Proxy, proxy_to
from tests.kubernetes.real import RealCluster, wait_until
from tests.kubernetes.real.components import components_folder

RUNTIME = SystemRuntime()
ADMINISTRATOR = Identity("admin", ("system:masters",))
REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)


@pytest.fixture
def endpoint(host: RealCluster) -> Endpoint:
    return Kubeconfig.load(host.kubeconfig).endpoint()


@pytest_asyncio.fixture
async def client(endpoint: Endpoint) -> AsyncIterator[Client]:
    """The administrator, on the straight way to the API server."""
    async with closing(Client(HttpTransport(endpoint), RUNTIME)) as client:
        yield client


@pytest_asyncio.fixture
async def proxy(host: RealCluster) -> AsyncIterator[Proxy]:
    async with proxy_to(host.server) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def remote(endpoint: Endpoint, proxy: Proxy) -> AsyncIterator[Client]:
    """The administrator, behind a network that can be broken."""
    async with closing(Client(HttpTransport(replace(endpoint, server=proxy.url)), RUNTIME)) as client:
        yield client


@pytest_asyncio.fixture
async def namespace(client: Client) -> str:
    """A namespace of the test's own."""
    name = f"machinery-{RUNTIME.name_suffix()}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


async def until(condition, *, seconds: float, what: str) -> None:
    """Wait for what nobody tells us of, without holding up the loop."""
    await asyncio.to_thread(wait_until, condition, seconds=seconds, what=what)


async def test_a_cache_goes_on_where_it_was_after_the_api_server_was_killed(host, client, namespace):
    await client.create(CONFIGMAPS, followed(CONFIGMAPS, "stays", namespace))
    await client.create(CONFIGMAPS, followed(CONFIGMAPS, "goes", namespace))
    async with Follower(client, CONFIGMAPS, namespace) as follower:
        await asyncio.to_thread(host.kill)
        await until(lambda: not follower.cache.connected, seconds=60, what="the outage noticed")
        assert isinstance(follower.cache.last_error, Unreachable)
        assert len(follower.cache) == 2
        await asyncio.to_thread(host.heal)

        await client.delete(CONFIGMAPS, "goes", namespace)
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, "last", namespace))
        heard = await follower.hears("+last")

    assert sorted(heard[:2]) == ["+goes", "+stays"]
    assert heard[2:] == ["-goes", "+last"]


def event_about(name: str, namespace: str, note: str) -> Obj:
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace}
    return followed(EVENTS, name, namespace, involvedObject=about, reason="Tested", message=note)


async def test_a_compacted_store_leads_to_a_new_list_that_tells_only_what_happened(
    host, client, remote, proxy, namespace
):
    # Events are the one kind that the API server does not keep in memory: its watches end where etcd's history does.
    remote.transport = wire = Overheard(remote.transport)
    for name in ("changes", "goes", "stays"):
        await client.create(EVENTS, event_about(name, namespace, "before"))
    async with Follower(remote, EVENTS, namespace) as follower:
        proxy.refuse()
        await client.delete(EVENTS, "goes", namespace)
        changed = await client.patch(EVENTS, "changes", {"message": "after"}, namespace)
        await client.create(EVENTS, event_about("comes", namespace, "after"))
        listed = await client.list(EVENTS, namespace)
        await asyncio.to_thread(compact, host, int(listed.resource_version))
        assert wire.expiries == 0
        proxy.clear()

        await follower.hears("+comes")
        await client.create(EVENTS, event_about("last", namespace, "after"))
        heard = await follower.hears("+last")

    assert wire.expiries >= 1
    assert sorted(heard[:3]) == ["+changes", "+goes", "+stays"]
    assert sorted(heard[3:-1]) == ["+comes", "-goes", "~changes"]
    assert heard[-1] == "+last"
    assert follower.cache.get(Key(namespace, "changes"))["message"] == changed["message"] == "after"


def compact(host: RealCluster, revision: int) -> None:
    etcdctl = [str(components_folder() / "etcdctl"), f"--endpoints=127.0.0.1:{host._layout.etcd_port}"]
    subprocess.run([*etcdctl, "compact", str(revision), "--physical"], check=True, capture_output=True, timeout=30)


async def test_a_token_that_rotates_on_disk_is_taken_up_by_a_running_client(
    host, client, endpoint, proxy, namespace, tmp_path
):
    inside = ("--namespace", namespace)
    host.kubectl("create", "role", "reader", "--verb=get,list,watch,create", "--resource=configmaps", *inside)
    for user in ("before", "after"):
        host.kubectl("create", "serviceaccount", user, *inside)
        host.kubectl("create", "rolebinding", user, "--role=reader", f"--serviceaccount={namespace}:{user}", *inside)
    token_file = tmp_path / "token"
    rotate(host, token_file, namespace, "before")
    signed_in = Endpoint(proxy.url, ca=endpoint.ca, token_file=str(token_file))
    async with (
        closing(Client(HttpTransport(signed_in), RUNTIME)) as rotating,
        Follower(rotating, CONFIGMAPS, namespace) as follower,
    ):
        assert await user_of(rotating) == f"system:serviceaccount:{namespace}:before"

        rotate(host, token_file, namespace, "after")
        host.kubectl("delete", "serviceaccount", "before", *inside)
        proxy.cut()
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, "last", namespace))

        assert await follower.hears("+last") == ["+last"]
        # The file is read again at intervals, and at once when the server refuses the token.
        async with asyncio.timeout(30):
            while await user_of(rotating) != f"system:serviceaccount:{namespace}:after":
                await RUNTIME.sleep(0.2)


def rotate(host: RealCluster, token_file: Path, namespace: str, user: str) -> None:
    fresh = token_file.with_suffix(".new")
    fresh.write_text(host.kubectl("create", "token", user, "--namespace", namespace))
    # As the kubelet does it: readers find the old token or the new one, never half of one.
    fresh.rename(token_file)


async def user_of(client: Client) -> str:
    review = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "metadata": {}}
    answer = await client.create(REVIEWS, review)
    return str(answer["status"]["userInfo"]["username"])


async def test_a_thousand_changes_under_random_disconnects_are_each_heard_once_and_in_order(
    client, remote, proxy, namespace
):
    chance = random.Random(7)
    alive: set[str] = set()
    history: list[str] = []
    async with Follower(remote, CONFIGMAPS, namespace) as follower:
        for number in range(1_000):
            disturb(proxy, follower, chance)
            name = f"c{chance.randrange(20)}"
            history.append(await change(client, namespace, name, number, alive, chance))
        proxy.clear()
        follower.cache.wake()
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, "last", namespace))
        heard = await follower.hears("+last")
        listed = (await client.list(CONFIGMAPS, namespace, labels="followed=yes")).items
        truth = {obj["metadata"]["name"]: obj.get("data") for obj in listed}
        copy = {key.name: follower.cache.get(key).get("data") for key in follower.cache}

    assert heard == [*history, "+last"]
    assert copy == truth
    assert proxy.connections > 20


def disturb(proxy: Proxy, follower: Follower, chance: random.Random) -> None:
    dice = chance.random()
    if dice < 0.03:
        proxy.cut()
    elif dice < 0.06:
        proxy.cut_after(chance.randrange(20_000))
    elif dice < 0.07:
        proxy.refuse()
    elif dice < 0.12:
        proxy.clear()
        # A thousand changes are over in seconds: without this the pauses after failures would outlast them.
        follower.cache.wake()


async def change(client: Client, namespace: str, name: str, number: int, alive: set[str], chance: random.Random) -> str:
    if name not in alive:
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, name, namespace, data={"n": str(number)}))
        alive.add(name)
        return f"+{name}"
    if chance.random() < 0.3:
        await client.delete(CONFIGMAPS, name, namespace)
        alive.discard(name)
        return f"-{name}"
    await client.patch(CONFIGMAPS, name, {"data": {"n": str(number)}}, namespace)
    return f"~{name}"


class Candidate:
    """One process that wants to lead, writes into the ledger while it does, and remembers when it did."""

    def __init__(self, client: Client, name: str, namespace: str, terms: LeaseTerms) -> None:
        self.name = name
        self.began = self.ended = 0.0
        self.leading = asyncio.Event()
        self._namespace = namespace
        self._leadership = Leadership(client, Key(namespace, "leader"), name, terms)
        self._fenced = Client(Fenced(client.transport, self._leadership), RUNTIME)

    async def run(self) -> None:
        await self._leadership.lead(self._work)

    async def _work(self) -> None:
        self.began = time.monotonic()
        self.leading.set()
        try:
            while True:
                await self._fenced.patch(CONFIGMAPS, "ledger", {"data": {"writer": self.name}}, self._namespace)
                await RUNTIME.sleep(0.05)
                await self._fenced.patch(CONFIGMAPS, "ledger", {"data": {"writer": ""}}, self._namespace)
        finally:
            self.ended = time.monotonic()


async def test_a_leader_that_is_cut_off_is_followed_within_the_lease_and_never_writes_beside_its_successor(
    client, remote, proxy, namespace
):
    terms = LeaseTerms(duration_seconds=4, renew_deadline_seconds=2.5, retry_seconds=0.5)
    await client.create(CONFIGMAPS, followed(CONFIGMAPS, "ledger", namespace))
    first, second = (Candidate(who, name, namespace, terms) for who, name in ((remote, "first"), (client, "second")))
    async with Follower(client, CONFIGMAPS, namespace) as follower:
        tasks = [asyncio.create_task(first.run())]
        await asyncio.wait_for(first.leading.wait(), 10)
        tasks.append(asyncio.create_task(second.run()))
        await asyncio.sleep(2 * terms.retry_seconds)
        assert not second.leading.is_set()

        proxy.swallow()
        cut_at = time.monotonic()
        await asyncio.wait_for(second.leading.wait(), 20)
        proxy.clear()
        # Whatever a deposed leader still had in hand would be written by now.
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, "last", namespace))
        await follower.hears("+last")

    writers = [obj["data"]["writer"] for obj in (one.new for one in follower.changes) if obj and obj.get("data")]
    assert [writer for writer, _ in groupby(filter(None, writers))] == ["first", "second"]
    assert cut_at < first.ended < second.began
    # A renewal of just before the cut is seen a poll later, and its end is noticed another poll later.
    assert second.began - cut_at < terms.duration_seconds + 2.2 * terms.retry_seconds + 2


async def test_one_hanging_cluster_of_five_is_noticed_and_disturbs_no_other(client, remote, proxy, namespace, tmp_path):
    impatient = Client(remote.transport, RUNTIME, timeout=1)
    async with AsyncExitStack() as stack:
        others = [await embedded(f"member-{number}", tmp_path, stack) for number in range(4)]
        healthy = [await stack.enter_async_context(Follower(other, CONFIGMAPS)) for other in others]
        hanging = await stack.enter_async_context(Follower(remote, CONFIGMAPS, namespace))
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, "known", namespace))
        await hanging.hears("+known")

        proxy.swallow()
        await client.delete(CONFIGMAPS, "known", namespace)
        stuck = [asyncio.create_task(impatient.list(CONFIGMAPS, namespace)) for _ in range(20)]
        async with asyncio.TaskGroup() as writers:
            for other in others:
                writers.create_task(create_many(other, 50))
        heard = [await follower.hears("+c49") for follower in healthy]
        outcomes = await asyncio.gather(*stuck, return_exceptions=True)
        with pytest.raises(Unreachable, match="no answer within 1 s"):
            await impatient.version(timeout=1)
        while_hanging = list(hanging.heard)
        proxy.clear()
        after = await hanging.hears("-known")

    assert heard == [[f"+c{number}" for number in range(50)]] * 4
    assert {type(outcome) for outcome in outcomes} == {Unreachable}
    assert while_hanging == ["+known"]
    assert after == ["+known", "-known"]


async def create_many(client: Client, count: int) -> None:
    for number in range(count):
        await client.create(CONFIGMAPS, followed(CONFIGMAPS, f"c{number}"))


async def embedded(name: str, folder: Path, stack: AsyncExitStack) -> Client:
    """A client of an embedded API server over HTTPS; both end with the stack."""
    authority = CertificateAuthority.open(folder / name, runtime=RUNTIME)
    server = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=RUNTIME)
    stack.push_async_callback(server.close)
    await server.serve(credentials=authority.serving(runtime=RUNTIME))
    token = server.token_for(ADMINISTRATOR)
    signed_in = Endpoint(server.url, ca=authority.certificate_pem, token=token)
    return await stack.enter_async_context(closing(Client(HttpTransport(signed_in), RUNTIME)))
