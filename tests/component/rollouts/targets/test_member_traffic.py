"""Labels on the pods of one member, whose pods and endpoints are written by hand."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.apiserver import ApiServer, MemoryStorage
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Key, annotations_of, labels_of, name_of
from hanse.kube.resources import ENDPOINT_SLICES, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.targets.member_traffic import MemberTraffic
from tests.simulation.world import ADMINISTRATOR, Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

APP = Key("default", "web")


class Place:
    """A member, what is said of the weights there, and what was heard from it."""

    def __init__(self, server, runtime):
        self.runtime = runtime
        self.client = Client(server.connect(ADMINISTRATOR), runtime)
        self.wire = Wire(server.connect(ADMINISTRATOR, as_remote=True), runtime)
        self.weights = {"web-1": 1}
        self.sizes = {}
        self.heard, self.connections = [], []
        member = Member("a", Client(self.wire, runtime))
        weights, size = lambda _app, _cluster: self.weights, lambda release, _cluster: self.sizes.get(release.name, 0)
        self.side = MemberTraffic(member, weights, size, self._pod_changed, self.heard.append)

    def _pod_changed(self, application, release):
        self.heard.append((application, release))

    async def pod(self, name, release="web-1", phase="Running", **labels):
        marks = {"shipper-app": "web", "shipper-release": release, **labels}
        metadata = {"name": name, "namespace": "default", "labels": marks}
        spec = {"containers": [{"name": "app", "image": "nginx"}]}
        await self.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        state = {"name": "app", "image": "nginx", "imageID": "", "ready": False, "restartCount": 0}
        status = {"phase": phase, "containerStatuses": [{**state, "state": {"waiting": {"reason": "Slow"}}}]}
        await self.client.patch(PODS, name, {"status": status}, "default", subresource="status")

    async def endpoints(self, name, family="IPv4", **ready):
        labels = {"shipper-app": "web", "shipper-lb": "production", "kubernetes.io/service-name": "web"}
        address = "10.0.0.1" if family == "IPv4" else "fd00::1"
        made = [
            {"addresses": [address], "conditions": {"ready": is_ready}, "targetRef": {"kind": "Pod", "name": pod}}
            for pod, is_ready in ready.items()
        ]
        made.append({"addresses": [address], "targetRef": {"kind": "Node", "name": "web-1-a"}})
        slice_ = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "addressType": family,
            "endpoints": made,
        }
        await self.client.apply(ENDPOINT_SLICES, slice_)

    async def enabled(self):
        found = (await self.client.list(PODS, "default")).items
        return [name_of(pod) for pod in found if labels_of(pod).get("shipper-traffic-status") == "enabled"]

    async def costs(self):
        found = (await self.client.list(PODS, "default")).items
        key = "controller.kubernetes.io/pod-deletion-cost"
        return {name_of(pod): annotations_of(pod)[key] for pod in found if key in annotations_of(pod)}

    async def settle(self):
        await self.runtime.sleep(1.0)


@asynccontextmanager
async def place():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="a", storage=MemoryStorage(), runtime=runtime)
    found = Place(server, runtime)
    task = asyncio.create_task(found.side.run(found.connections.append))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.close()


async def test_pods_that_run_or_will_are_labelled_and_nothing_else_of_a_member_is_touched():
    async with place() as here:
        await here.pod("a")
        await here.pod("b", **{"shipper-traffic-status": "disabled"})
        await here.pod("done", phase="Succeeded")
        await here.pod("other", release="web-0")
        await here.settle()
        assert await here.enabled() == []

        await here.endpoints("web-0")
        await here.settle()
        assert await here.enabled() == ["a", "b"]
        assert here.wire.writes == [("PATCH", f"/api/v1/namespaces/default/pods/{name}") for name in "ab"]
        assert APP in here.heard
        assert (APP, "web-1") in here.heard
        assert here.connections[-1] is True

        here.weights = None
        await here.pod("c")
        await here.settle()
        assert await here.enabled() == ["a", "b"]


async def test_a_pod_that_receives_traffic_is_the_last_to_go_when_its_release_is_made_smaller():
    async with place() as here:
        await here.pod("a")
        await here.pod("b")
        await here.endpoints("web-0", a=True, b=True)
        await here.settle()
        assert await here.costs() == {"a": "1", "b": "1"}

        await here.pod("other", release="web-0", **{"shipper-traffic-status": "enabled"})
        await here.pod("another", release="web-0", **{"shipper-traffic-status": "enabled"})
        await here.endpoints("web-0", a=True, b=True, other=True, another=True)
        here.weights = {"web-1": 0, "web-0": 1}
        here.side.enqueue(APP)
        await here.settle()
        assert await here.enabled() == ["another", "other"]
        assert await here.costs() == {}


async def test_traffic_stays_where_it_is_until_the_pods_that_shall_have_it_are_seen():
    async with place() as here:
        await here.pod("a")
        await here.endpoints("web-0", a=True)
        await here.settle()
        here.weights, here.sizes = {"web-1": 0, "web-2": 1}, {"web-2": 1}
        here.side.enqueue(APP)
        await here.settle()
        assert await here.enabled() == ["a"]

        await here.pod("b", release="web-2")
        await here.endpoints("web-0", a=True, b=True)
        await here.settle()
        assert await here.enabled() == ["b"]


async def test_a_pod_of_two_address_families_counts_once_and_is_ready_by_either():
    async with place() as here:
        await here.pod("a")
        await here.endpoints("web-4", a=False, b=True)
        await here.endpoints("web-6", "IPv6", a=True)
        await here.settle()

        found = here.side.pods.endpoints(APP)
        assert (found.services, found.ready, found.unready) == ({"web"}, {"a", "b"}, frozenset())
        assert [pod.name for pod in here.side.pods.traffic(APP)] == ["a"]
        [pod] = here.side.pods.pods(Key("default", "web-1"))
        assert pod["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "Slow"}}


async def test_a_label_that_cannot_be_moved_keeps_no_other_from_it_and_is_tried_again():
    async with place() as here:
        refused = {"b"}

        def refuse(request):
            if request.path.rsplit("/", 1)[-1] in refused:
                raise Forbidden(403, "Forbidden", "pods is forbidden")

        here.wire.before_write = refuse
        for name in "abc":
            await here.pod(name)
        await here.endpoints("web-0")
        await here.settle()
        assert await here.enabled() == ["a", "c"]
        told = "pods is forbidden; `hanse join a` gives Hanse's account there the right to do it"
        assert here.side.trouble(APP) == told

        refused.clear()
        await here.runtime.sleep(60)
        assert await here.enabled() == ["a", "b", "c"]
        assert here.side.trouble(APP) == ""


async def test_a_pod_that_has_gone_meanwhile_is_no_trouble():
    async with place() as here:

        def vanish(request):
            raise NotFound(404, "NotFound", f"{request.path} not found")

        here.wire.before_write = vanish
        await here.pod("a")
        await here.endpoints("web-0")
        await here.settle()

        assert here.side.trouble(APP) == ""
        assert await here.enabled() == []
