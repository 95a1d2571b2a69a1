"""The registry against embedded API servers on virtual time: forms mirrored, tokens renewed, members left clean."""

import asyncio
import base64
from contextlib import asynccontextmanager

import pytest

from hanse.api.cluster_forms import KUBEFED_CLUSTERS, SHIPPER_CLUSTERS
from hanse.api.clusters import CLUSTERS, Address, parse_cluster
from hanse.api.names import MANAGED_LABEL, OWNER_ANNOTATION, STATUS_ANNOTATION, SYSTEM_NAMESPACE
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.apiserver.authentication import authenticate
from hanse.cli.control_plane import prepare_host, run_control_plane
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from hanse.clusters.credentials import secret_token
from hanse.clusters.health import HealthTerms
from hanse.clusters.joining import NotJoined, Wish, join_with_account
from hanse.clusters.leaving import delete_copies, find_copies, forget, mark_leaving, remove_account
from hanse.clusters.profiles import CLUSTER_PROFILES, Profiles
from hanse.clusters.serving import served_by
from hanse.clusters.tokens import token_life
from hanse.kube.cache import Cache
from hanse.kube.client import Client, WriteOptions
from hanse.kube.conditions import find_condition
from hanse.kube.errors import ApiError, Forbidden, Invalid, Unauthorized
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS, CRDS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Response, Unreachable
from hanse.native.kinds import DEFAULT_KINDS

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

ADMINISTRATOR = Identity("admin", ("system:masters",))
EAST = Endpoint("https://east", token="administrator")


class Signed:
    """A way to a server that knows its callers by the tokens that it has issued, as over HTTPS."""

    def __init__(self, world, endpoint):
        self.world, self.endpoint = world, endpoint
        self.server = world.servers[endpoint.server.removeprefix("https://").removesuffix(".second")]

    @property
    def address(self):
        return self.endpoint.server

    def _inner(self):
        if self.endpoint.server in self.world.down:
            raise Unreachable(self.address, "the connection was refused")
        if self.endpoint.token == "administrator":
            return self.server.connect(ADMINISTRATOR)
        try:
            return self.server.connect(authenticate(self.server._core, f"Bearer {self.endpoint.token}", None))
        except ApiError:
            return None

    async def send(self, request, timeout):
        if self.address in self.world.hanging:
            await self.world.runtime.sleep(timeout)
            raise Unreachable(self.address, "no answer")
        inner = self._inner()
        if inner is None:
            return Response(401, {}, b'{"reason": "Unauthorized", "message": "who are you", "code": 401}')
        if request.method != "GET":
            self.world.writes.append((self.address, request.method, request.path))
        return await inner.send(request, timeout)

    async def stream(self, request, timeout):
        inner = self._inner()
        if inner is None:
            raise Unreachable(self.address, "not known there")
        return await inner.stream(request, timeout)

    async def close(self):
        pass


class World:
    """A host, a member `east` that has not joined, and a control plane."""

    def __init__(self):
        self.runtime = SeededRuntime(0)
        self.servers = {}
        self.down = set()
        self.hanging = set()
        self.writes = []
        self.host = self.member = None

    async def open(self, name):
        self.servers[name] = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime)
        return Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="kubectl")

    def as_member(self, endpoint):
        return Client(Signed(self, endpoint), self.runtime)

    async def join(self, **wish):
        await join_with_account(self.host, self.member, EAST, "east", Wish({}, kinds=DEFAULT_KINDS, **wish))
        await self.until(self.is_ready)

    async def cluster(self):
        return parse_cluster(await self.host.get(CLUSTERS, "east"))

    async def is_ready(self):
        found = await self.host.find(CLUSTERS, "east")
        return found is not None and parse_cluster(found).ready

    async def token(self):
        secret = await self.host.get(SECRETS, "cluster-east", SYSTEM_NAMESPACE)
        return secret_token(secret)

    async def until(self, holds, seconds=60.0):
        start = self.runtime.monotonic()
        while not await holds():
            assert self.runtime.monotonic() < start + seconds, "not in time"
            await self.runtime.sleep(0.1)
        return self.runtime.monotonic() - start


@asynccontextmanager
async def world(terms=None):
    here = World()
    here.host, here.member = await here.open("host"), await here.open("east")
    await prepare_host(here.host)
    fenced = Client(Watched(here), here.runtime)
    plane = asyncio.create_task(run_control_plane(fenced, connect=lambda to: Signed(here, to), health=terms))
    try:
        yield here
    finally:
        plane.cancel()
        await asyncio.gather(plane, return_exceptions=True)
        for server in here.servers.values():
            await server.close()


class Watched(Signed):
    """The control plane's own way to the host."""

    def __init__(self, here):
        super().__init__(here, Endpoint("https://host", token="administrator"))


def copy(name="settings", **metadata):
    labels, annotations = {MANAGED_LABEL: "true"}, {OWNER_ANNOTATION: "somebody"}
    made = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": made}


async def names(client, resource):
    return [obj["metadata"]["name"] for obj in (await client.list(resource)).items]


async def test_a_cluster_joins_with_rights_of_its_own_and_leaves_nothing_behind():
    async with world() as here:
        await here.join()
        secret = await here.host.get(SECRETS, "cluster-east", SYSTEM_NAMESPACE)
        ours = here.as_member(Endpoint("https://east", token=await here.token()))
        await here.member.create(CONFIGMAPS, copy())
        await here.member.create(CONFIGMAPS, copy("theirs", annotations={}))
        with pytest.raises(Forbidden):
            await ours.list(CRDS)

        await mark_leaving(here.host, await here.host.get(CLUSTERS, "east"))
        copies = await find_copies(ours)
        remaining = await delete_copies(ours, copies, 30.0)
        left = await remove_account(ours, secret, "east", 30.0)
        await forget(here.host, "east", secret)

        assert [str(each) for each in copies] == ["configmaps/default/settings"]
        assert (remaining, left) == ([], "")
        assert "theirs" in await names(here.member, CONFIGMAPS)
        roles = await names(here.member, CLUSTER_ROLES) + await names(here.member, CLUSTER_ROLE_BINDINGS)
        assert not [each for each in roles if "hanse" in each]
        assert await names(here.host, CLUSTERS) == []
        assert "cluster-east" not in await names(here.host, SECRETS)
        with pytest.raises(Unauthorized):
            await ours.list(CONFIGMAPS)


async def test_a_namespace_in_which_others_have_something_stays():
    async with world() as here:
        metadata = {"name": "shop", "labels": {MANAGED_LABEL: "true"}, "annotations": {OWNER_ANNOTATION: "x"}}
        await here.member.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        await here.member.create(CONFIGMAPS, copy("theirs", namespace="shop", labels={}, annotations={}))

        remaining = await delete_copies(here.member, await find_copies(here.member), 5.0)

        assert remaining == ["namespaces/shop (others have configmaps/theirs in it)"]
        assert "shop" in await names(here.member, NAMESPACES)


async def test_another_federations_account_is_not_taken_over():
    here = World()
    here.host, here.member = await here.open("host"), await here.open("east")
    try:
        await prepare_host(here.host)
        await join_with_account(here.host, here.member, EAST, "east", Wish({}))
        others = {"metadata": {"annotations": {"hanse.dev/federation": "another"}}}
        await here.member.patch(SERVICE_ACCOUNTS, "hanse-east", others, SYSTEM_NAMESPACE)

        with pytest.raises(NotJoined, match=r"another federation \(another\) has joined .* under the name east"):
            await join_with_account(here.host, here.member, EAST, "east", Wish({}))
    finally:
        for server in here.servers.values():
            await server.close()


async def test_a_token_is_renewed_at_half_of_its_life_and_taken_up_without_a_break():
    slow = HealthTerms(period_seconds=60.0)
    async with world(slow) as here:
        await here.join(token_seconds=600)
        first = await here.token()
        await here.runtime.sleep(250)
        early = await here.token()
        await here.runtime.sleep(120)
        second = await here.token()
        await here.runtime.sleep(260)

        assert (early == first, second == first) == (True, False)
        assert token_life(second).seconds == 600
        assert token_life(first).ends < here.runtime.now()
        assert (await here.cluster()).ready


async def test_a_second_address_keeps_a_member_ready_and_the_loss_of_both_does_not():
    async with world() as here:
        await here.join(others=(Address("https://east.second"),))
        here.down.add("https://east")
        await here.runtime.sleep(30)
        first_lost = await here.cluster()
        here.down.add("https://east.second")
        took = await here.until(lambda: _offline(here))

        assert first_lost.ready
        assert took <= 10.0


@pytest.mark.parametrize("moment", [0.0, 1.4, 30.1])
async def test_a_member_that_hangs_at_any_moment_is_offline_within_ten_seconds_and_back_within_ten(moment):
    async with world() as here:
        await here.join()
        await here.runtime.sleep(moment)
        here.hanging.add("https://east")
        lost = await here.until(lambda: _offline(here))
        here.hanging.clear()
        back = await here.until(here.is_ready)

        assert (lost <= 10.0, back <= 10.0) == (True, True), (lost, back)


async def _offline(here):
    return (await here.cluster()).offline


def kubefed(**spec):
    return {
        "apiVersion": "core.kubefed.io/v1beta1",
        "kind": "KubeFedCluster",
        "metadata": {"name": "east", "namespace": "kube-federation-system", "labels": {"tier": "gold"}},
        "spec": {"apiEndpoint": "https://east", "secretRef": {"name": "creds"}, "caBundle": "Y2E=", **spec},
    }


async def _form(here):
    return await here.host.get(KUBEFED_CLUSTERS, "east", "kube-federation-system")


async def test_a_kubefed_cluster_becomes_a_cluster_and_hears_how_it_is():
    async with world() as here:
        room = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-federation-system"}}
        await here.host.create(NAMESPACES, room)
        data = {"token": base64.b64encode(b"administrator").decode()}
        creds = {"metadata": {"name": "creds", "namespace": "kube-federation-system"}, "data": data}
        await here.host.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **creds})
        await here.host.create(KUBEFED_CLUSTERS, kubefed())
        await here.until(here.is_ready)
        await here.until(lambda: _told_ready(here))
        await here.runtime.sleep(5)
        here.writes.clear()
        await here.runtime.sleep(60)
        quiet = list(here.writes)

        patch = {"metadata": {"labels": {"tier": "silver", "new": "yes"}}}
        await here.host.patch(KUBEFED_CLUSTERS, "east", patch, "kube-federation-system")
        await here.until(lambda: _labels(here, {"tier": "silver", "new": "yes"}))
        await here.host.patch(CLUSTERS, "east", {"metadata": {"labels": {"tier": "bronze"}}})
        await here.until(lambda: _says(here, "Cluster east says otherwise, and counts: metadata.labels"))
        kept = await here.cluster()
        await here.host.delete(KUBEFED_CLUSTERS, "east", "kube-federation-system")
        await here.until(lambda: _gone(here))

        assert quiet == []
        assert kept.labels["tier"] == "bronze"


async def test_123_a_secret_without_a_token_is_a_malformed_configuration_until_it_has_one():
    """The other cluster is as ready as before; the one in question is no sooner than its Secret is whole."""
    async with world() as here:
        room = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-federation-system"}}
        await here.host.create(NAMESPACES, room)
        token = {"token": base64.b64encode(b"administrator").decode()}
        for name, data in (("creds", {}), ("whole", token)):
            metadata = {"name": name, "namespace": "kube-federation-system"}
            await here.host.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        await here.open("other")
        other = kubefed(apiEndpoint="https://other", secretRef={"name": "whole"})
        other["metadata"]["name"] = "other"
        for form in (kubefed(), other):
            await here.host.create(KUBEFED_CLUSTERS, form)

        async def malformed():
            found = await _told(here, "east")
            return (found.get("Ready"), found.get("ConfigMalformed")) == ("False", "True")

        async def other_ready():
            return await _told(here, "other") == {"Ready": "True", "Offline": "False"}

        await here.until(malformed)
        await here.until(other_ready)
        assert "Offline" not in await _told(here, "east")
        await here.host.patch(SECRETS, "creds", {"data": token}, "kube-federation-system")
        await here.until(lambda: _told_ready(here))
        assert "ConfigMalformed" not in await _told(here, "east")
        assert await other_ready()


async def _told(here, name):
    form = await here.host.get(KUBEFED_CLUSTERS, name, "kube-federation-system")
    return {each["type"]: each["status"] for each in dig(form, "status", "conditions", default=[])}


async def _told_ready(here):
    form = await _form(here)
    ready = find_condition(dig(form, "status", "conditions"), "Ready") or {}
    return ready.get("status") == "True" and dig(form, "status", "kubernetesVersion")


async def _labels(here, labels):
    return (await here.cluster()).labels == labels


async def _says(here, sentence):
    return (await _form(here))["metadata"].get("annotations", {}).get(STATUS_ANNOTATION) == sentence


async def _gone(here):
    return await here.host.find(CLUSTERS, "east") is None


async def test_profiles_are_published_where_the_kind_is_served():
    here = World()
    here.host = await here.open("host")
    try:
        await prepare_host(here.host)
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}
        group = "multicluster.x-k8s.io"
        approved = {"api-approved.kubernetes.io": "unapproved, in a test"}
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"clusterprofiles.{group}", "annotations": approved},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "clusterprofiles", "kind": "ClusterProfile"},
                "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
            },
        }
        await here.host.create(CRDS, crd)
        await here.until(lambda: _served(here.host))
        cluster = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": "east"}}
        await here.host.create(CLUSTERS, cluster)
        clusters = Cache(here.host, CLUSTERS)
        tasks = [asyncio.create_task(work) for work in (clusters.run(), Profiles(here.host, clusters).run())]
        await here.until(lambda: _published(here))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        profile = await here.host.get(CLUSTER_PROFILES, "east", SYSTEM_NAMESPACE)

        assert profile["spec"] == {"displayName": "east", "clusterManager": {"name": "hanse"}}
        assert profile["metadata"]["ownerReferences"][0]["kind"] == "Cluster"
    finally:
        await here.servers["host"].close()


async def _served(host):
    return CLUSTER_PROFILES in await served_by(host)


async def _published(here):
    return await here.host.find(CLUSTER_PROFILES, "east", SYSTEM_NAMESPACE) is not None


CLUSTER = {"apiVersion": "clusterregistry.k8s.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "ok"}}


def addressed(cidr):
    endpoints = [{"clientCIDR": cidr, "serverAddress": "x"}]
    return {**CLUSTER, "spec": {"kubernetesApiEndpoints": {"serverEndpoints": endpoints}}}


def named(name):
    return {**CLUSTER, "metadata": {"name": name}}


async def test_the_host_refuses_what_cannot_be_a_cluster():
    """The tables of the fact sheets: federation v1 lines 95 and 100, KubeFed lines 119 to 122."""
    endpoints = ["", "https://", "tcp://example.com", "example.com:0", "example.com:65536", "example.com/path"]
    bad = [
        *((CLUSTERS, named(name)) for name in ("a.b", "1abc", "ABC", "a" * 64)),
        *((CLUSTERS, addressed(cidr)) for cidr in ("10.0.0.0", "all")),
        (CLUSTERS, {**CLUSTER, "spec": {"taints": [{"key": "a", "effect": "Never"}]}}),
        *((KUBEFED_CLUSTERS, kubefed(apiEndpoint=endpoint)) for endpoint in endpoints),
        *((KUBEFED_CLUSTERS, kubefed(secretRef={"name": name})) for name in ("", "invalid_secretname")),
        (KUBEFED_CLUSTERS, kubefed(disabledTLSValidations=["SubjectName", "*"])),
        *((KUBEFED_CLUSTERS, kubefed(proxyURL=url)) for url in ("socks6://x", "example.com")),
        (SHIPPER_CLUSTERS, {**named("x"), "apiVersion": "shipper.booking.com/v1alpha1", "spec": {}}),
    ]
    good = [
        *((CLUSTERS, addressed(cidr)) for cidr in ("0.0.0.0/0", "", "2001:db8::/32")),
        *((KUBEFED_CLUSTERS, kubefed(apiEndpoint=each)) for each in ("192.0.2.219:8080", "[2001:db8:25a4:8d2::1]")),
        (KUBEFED_CLUSTERS, kubefed(apiEndpoint="https://example.com/path")),
        *((KUBEFED_CLUSTERS, kubefed(proxyURL=url)) for url in ("socks5://x", "http://x", "https://x")),
        (KUBEFED_CLUSTERS, kubefed(disabledTLSValidations=["*"])),
    ]
    here = World()
    host = await here.open("host")
    try:
        await prepare_host(host)
        room = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-federation-system"}}
        await host.create(NAMESPACES, room)
        accepted = [obj for resource, obj in bad if await taken(host, resource, obj)]
        refused = [obj for resource, obj in good if not await taken(host, resource, obj)]
        await host.create(CLUSTERS, CLUSTER)
        with pytest.raises(Invalid):
            await host.patch(CLUSTERS, "ok", {"status": {"conditions": [{"type": "OK"}]}}, subresource="status")

        assert (accepted, refused) == ([], [])
    finally:
        await here.servers["host"].close()


async def taken(host, resource, obj):
    try:
        await host.create(resource, obj, options=WriteOptions(dry_run=True))
    except Invalid:
        return False
    return True
