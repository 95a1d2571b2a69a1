"""Members that refuse, mutate, fight, hang up or were joined badly: told, damped and kept apart; on virtual time."""

import asyncio
import base64
from typing import ClassVar

import orjson
import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, SYSTEM_NAMESPACE
from hanse.cli.control_plane import run_control_plane
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, SECRETS
from hanse.kube.transport import Response, Unreachable
from tests.simulation.wires import Passing, restart_through
from tests.simulation.world import ADMINISTRATOR, config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class Repainting(Passing):
    """An admission webhook that paints everything pink."""

    async def send(self, request, timeout):
        if request.method in ("POST", "PUT", "PATCH") and b'"color"' in request.body:
            document = orjson.loads(request.body)
            document["data"]["color"] = "pink"
            request = type(request)(
                request.method, request.path, request.query, request.headers, orjson.dumps(document)
            )
        return await self.inner.send(request, timeout)


class HangingUp(Passing):
    """A load balancer that answers every watch and ends it at once."""

    def __init__(self, inner):
        super().__init__(inner)
        self.opened = 0

    async def stream(self, request, timeout):
        self.opened += 1
        await asyncio.sleep(0.01)
        return Ended()


class Ended:
    status = 200
    headers: ClassVar[dict[str, str]] = {}

    async def chunks(self):
        for nothing in ():
            yield nothing

    async def close(self):
        pass


class Moody(Passing):
    """A dead server that is dead in another way each time."""

    def __init__(self, inner):
        super().__init__(inner)
        self.asked = 0

    async def send(self, request, timeout):
        self.asked += 1
        raise Unreachable(self.address, "connection refused" if self.asked % 2 else "the server hung up")

    async def stream(self, request, timeout):
        raise Unreachable(self.address, "connection refused")


def remote(world, name):
    return world.servers[name].connect(ADMINISTRATOR, as_remote=True)


async def has(world, cluster, name="settings", namespace="default"):
    return await world.find(cluster, CONFIGMAPS, name, namespace) is not None


async def data_is(world, cluster, data):
    copy = await world.find(cluster, CONFIGMAPS, "settings")
    return copy is not None and copy["data"] == data


def namespace(name="shop", **annotations):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": annotations}}


async def test_an_edit_reaches_a_member_whose_webhook_changes_what_is_applied():
    """Guards against this: `_contested` is compared with the observed version alone, so a new rendering is not applied
    either.
    """
    async with federation() as world:
        await restart_through(world, "b", Repainting(remote(world, "b")))
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: data_is(world, "b", {"color": "pink"}))
        await world.runtime.sleep(5)

        await world.host.patch(CONFIGMAPS, "settings", {"data": {"size": "xl"}}, "default")

        await world.until(lambda: data_is(world, "a", {"color": "blue", "size": "xl"}))
        await world.until(lambda: data_is(world, "b", {"color": "pink", "size": "xl"}))


async def test_a_fight_over_a_field_is_damped():
    """Guards against this: drift is put back at once every time; nothing slows down a fight with a member's own
    controller.
    """
    async with federation() as world:
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "b"))
        world.forget_writes()

        for _ in range(300):
            await world.clients["b"].patch(CONFIGMAPS, "settings", {"data": {"color": "red"}}, "default")
            await world.runtime.sleep(0.1)

        assert len(world.writes()["b"]) < 50


async def _why(world, name, sentence):
    obj = await world.host.get(CLUSTERS, name)
    conditions = obj.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["message"] == sentence for each in conditions)


async def test_one_server_joined_under_two_names_is_noticed_and_not_fought_over():
    """Guards against this: two members with one server share one object and set it to their own replicas in turn, for
    ever.
    """
    async with federation() as world:
        for wire in world.wires.values():
            wire.latency = 0.2
        await join(world.host, joining_manifests("twin", Endpoint("https://b"), {}))
        await world.until(lambda: _why(world, "twin", "it is the same cluster as b; remove one of the two"))
        await world.host.create(DEPLOYMENTS, deployment(replicas=10))
        await world.runtime.sleep(15)
        world.forget_writes()

        await world.runtime.sleep(10)

        assert len(world.writes().get("b", [])) < 5


async def test_a_member_that_ends_every_watch_at_once_is_asked_again_at_a_measured_pace():
    """Guards against this: Reflector.run pauses only after an error; a watch that ends well is opened again at once."""
    async with federation() as world:
        hanging_up = HangingUp(remote(world, "b"))
        await restart_through(world, "b", hanging_up)

        await world.runtime.sleep(10)

        kinds = 5
        assert hanging_up.opened <= kinds * 50


async def test_a_dead_member_with_changing_symptoms_is_told_of_once():
    """Guards against this: `why` follows every probe; each new wording writes the Cluster and, through it, every
    source.
    """
    async with federation("a") as world:
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: has(world, "a"))
        await restart_through(world, "a", Moody(remote(world, "a")))
        await world.until(lambda: world.cluster_is("a", "Offline"))
        await world.runtime.sleep(30)
        world.forget_writes()

        await world.runtime.sleep(120)

        assert world.writes() == {}


async def test_credentials_that_cannot_be_used_end_nobody_elses_work():
    """Guards against this: Registry._serve connects outside of its try; what that raises ends the registry's task
    group.
    """

    async with federation() as world:
        await world.kill_control_plane()

        def connect(endpoint):
            if endpoint.server == "https://broken":
                raise KubeconfigError("the client certificate for https://broken does not fit its key")
            return world._wire(endpoint.server.removeprefix("https://"))

        control_plane = asyncio.create_task(
            run_control_plane(Client(world._wire("host"), world.runtime), connect=connect)
        )
        try:
            await world.runtime.sleep(10)
            await join(world.host, joining_manifests("broken", Endpoint("https://broken"), {}))
            await world.runtime.sleep(10)
            await world.host.create(CONFIGMAPS, config())
            await world.runtime.sleep(10)

            assert not control_plane.done()
            assert await has(world, "a")
            broken = await world.host.get(CLUSTERS, "broken")
            assert "does not fit" in str(broken.get("status"))
        finally:
            control_plane.cancel()
            await asyncio.gather(control_plane, return_exceptions=True)


class Refusing(Passing):
    """A member whose policy refuses Deployments."""

    def __init__(self, inner):
        super().__init__(inner)
        self.refuses = True

    async def send(self, request, timeout):
        if self.refuses and request.method != "GET" and "deployments" in request.path.split("/"):
            message = 'admission webhook "quota.example" denied the request: no more Deployments'
            status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message}
            return Response(403, {}, orjson.dumps(status))
        return await self.inner.send(request, timeout)


async def test_a_member_that_refuses_is_named_others_are_served_and_it_is_served_once_it_gives_in():
    """refusal by quota, webhook or validation."""
    async with federation() as world:
        refusing = Refusing(remote(world, "b"))
        await restart_through(world, "b", refusing)
        await world.host.create(DEPLOYMENTS, deployment())

        async def others_serve():
            return await world.spread() == {"a": 3, "c": 3}

        await world.until(others_serve)
        await world.runtime.sleep(30)
        source = await world.host.get(DEPLOYMENTS, "web", "default")
        told = find_condition(source["status"]["conditions"], "Propagated")
        assert told["status"] == "False"
        assert told["message"].startswith("b: admission webhook")
        refusing.refuses = False

        async def all_serve():
            return await world.spread() == {"a": 3, "b": 3, "c": 3}

        await world.until(all_serve, seconds=70)


class TestNamespacesOfMembers:
    async def test_one_that_was_there_and_goes_away_is_made_again(self):
        """Guards against this: a namespace that Hanse does not own is invisible to its cache; nothing brings its key
        back.
        """
        async with federation() as world:
            await world.clients["a"].create(NAMESPACES, namespace())
            await world.host.create(NAMESPACES, namespace())
            await world.host.create(CONFIGMAPS, config(namespace="shop"))
            await world.until(lambda: has(world, "a", namespace="shop"))

            await world.clients["a"].delete(NAMESPACES, "shop")

            async def made_again():
                found = await world.find("a", NAMESPACES, "shop", "")
                return found is not None and not found["metadata"].get("deletionTimestamp")

            await world.until(made_again, seconds=180)
            await world.until(lambda: has(world, "a", namespace="shop"))

    async def test_one_that_comes_late_lets_what_belongs_into_it_in_at_once(self):
        """Guards against this: a missing namespace is retried with growing pauses; its appearance wakes nobody."""
        selector = '[{"key": "shop", "operator": "Exists"}]'
        async with federation() as world:
            await world.host.create(NAMESPACES, namespace(**{CLUSTER_SELECTOR_ANNOTATION: selector}))
            await world.host.create(CONFIGMAPS, config(namespace="shop"))
            await world.runtime.sleep(200)

            await world.host.patch(
                NAMESPACES, "shop", {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: None}}}
            )
            took = await world.until(lambda: has(world, "a", namespace="shop"), seconds=120)

            assert took < 2

    async def test_one_that_was_there_is_not_asked_for_again_after_a_restart(self):
        """Guards against this: a namespace that is used and not owned looks absent, so every start sends a creation."""
        async with federation() as world:
            await world.clients["a"].create(NAMESPACES, namespace())
            await world.host.create(NAMESPACES, namespace())
            await world.runtime.sleep(30)
            await world.kill_control_plane()
            world.forget_writes()

            world.start_control_plane()
            await world.runtime.sleep(60)

            assert world.writes() == {}


class TestCredentials:
    async def test_that_are_deleted_and_come_back_bring_the_member_back(self):
        """a lost Secret makes a member Offline and touches nothing in it."""
        async with federation() as world:
            await world.host.create(CONFIGMAPS, config())
            await world.until(lambda: has(world, "b"))
            secret = await world.host.get(SECRETS, "cluster-b", SYSTEM_NAMESPACE)

            await world.host.delete(SECRETS, "cluster-b", SYSTEM_NAMESPACE)
            await world.until(lambda: world.cluster_is("b", "Offline"))
            assert await has(world, "b")
            metadata = {"name": "cluster-b", "namespace": SYSTEM_NAMESPACE}
            await world.host.create(SECRETS, {**secret, "metadata": metadata})
            await world.until(lambda: world.cluster_is("b", "Ready"))
            await world.host.patch(CONFIGMAPS, "settings", {"data": {"color": "green"}}, "default")

            await world.until(lambda: data_is(world, "b", {"color": "green"}))

    async def test_that_are_no_kubeconfig_are_named_on_the_cluster(self):
        """garbage in a Secret is told and ends nothing else."""
        async with federation() as world:
            garbage = base64.b64encode(b"{").decode()
            await world.host.patch(SECRETS, "cluster-b", {"data": {"kubeconfig": garbage}}, SYSTEM_NAMESPACE)
            await world.until(lambda: world.cluster_is("b", "Offline"))
            await world.host.create(CONFIGMAPS, config())

            await world.until(lambda: has(world, "a"))

            cluster = await world.host.get(CLUSTERS, "b")
            assert "hanse-system/cluster-b" in str(cluster["status"]["conditions"])

    async def test_that_name_files_of_the_controller_are_refused(self):
        """Guards against this: a kubeconfig out of a Secret may name files; the controller reads them and shows them
        to that server.
        """
        async with federation() as world:
            kubeconfig = {
                "current-context": "b",
                "clusters": [{"name": "b", "cluster": {"server": "https://b"}}],
                "users": [{"name": "b", "user": {"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}}],
                "contexts": [{"name": "b", "context": {"cluster": "b", "user": "b"}}],
            }
            text = base64.b64encode(orjson.dumps(kubeconfig)).decode()

            await world.host.patch(SECRETS, "cluster-b", {"data": {"kubeconfig": text}}, SYSTEM_NAMESPACE)
            await world.runtime.sleep(30)

            assert not await world.cluster_is("b", "Joined")
