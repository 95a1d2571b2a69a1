"""Members that fetch their work, on virtual time: the same end as for members that are reached, whatever breaks."""

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import DELETION_ANNOTATION, MANAGED_LABEL
from hanse.api.works import AGENTS, WORKS, agent_namespace
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.clusters.agent_access import join_by_agent
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.manifest import dig, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, LEASES, NAMESPACES, SECRETS
from hanse.kube.runtime import SeededRuntime
from tests.simulation.agents import agent_identity, federation_with_agents
from tests.simulation.world import ADMINISTRATOR, config, deployment

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def place_web(world):
    await world.host.create(DEPLOYMENTS, deployment(replicas=4))
    await world.until(lambda: spread_is(world, a=2, b=2))


async def image_in(world, cluster):
    found = await world.find(cluster, DEPLOYMENTS, "web")
    return found and found["spec"]["template"]["spec"]["containers"][0]["image"]


async def gone(world, cluster, resource, name, namespace="default"):
    return await world.find(cluster, resource, name, namespace) is None


async def set_image(client, image):
    path = "/spec/template/spec/containers/0/image"
    patch = [{"op": "replace", "path": path, "value": image}]
    await client.patch(DEPLOYMENTS, "web", patch, "default", patch_type="application/json-patch+json")


async def a_day(world):
    """A script of all that users do; returns what is left in the end, clusters and federation."""
    host = world.host
    await place_web(world)
    await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    await host.create(CONFIGMAPS, config("prices", "shop"))
    await host.create(CONFIGMAPS, config("kept"))
    await host.create(CONFIGMAPS, config("passing"))
    await host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
    await set_image(host, "web:2")
    await world.until(lambda: spread_is(world, a=3, b=3))
    await world.until(lambda: _everywhere(world, CONFIGMAPS, "prices", "shop"))
    await world.until(lambda: _everywhere(world, CONFIGMAPS, "passing"))
    await world.until(lambda: _everywhere(world, CONFIGMAPS, "kept"))
    for cluster in ("a", "b"):
        await set_image(world.clients[cluster], "bad:1")
    await world.until(lambda: _images_are(world, "web:2"))
    await host.delete(CONFIGMAPS, "passing", "default")
    await host.patch(CONFIGMAPS, "kept", {"metadata": {"annotations": {DELETION_ANNOTATION: "orphan"}}}, "default")
    await host.delete(CONFIGMAPS, "kept", "default")
    await world.until(lambda: gone(world, "host", CONFIGMAPS, "passing"))
    await world.until(lambda: gone(world, "host", CONFIGMAPS, "kept"))
    await world.until(lambda: spread_is(world, a=3, b=3))
    await world.runtime.sleep(8)
    return {name: await _contents(world, name) for name in ("a", "b", "host")}


async def _everywhere(world, resource, name, namespace="default"):
    return not await gone(world, "a", resource, name, namespace) and not await gone(
        world, "b", resource, name, namespace
    )


async def _images_are(world, image):
    return await image_in(world, "a") == image and await image_in(world, "b") == image


async def _contents(world, cluster):
    """What one server has of the script's kinds, without what differs from run to run."""
    found = {}
    for resource in (CONFIGMAPS, DEPLOYMENTS, NAMESPACES):
        for obj in (await world.clients[cluster].list(resource)).items:
            namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            if namespace.startswith(("kube-", "hanse-")) or name.startswith(("kube-", "hanse-")):
                continue
            labels = obj["metadata"].get("labels", {})
            numbers = {key: value for key, value in obj.get("status", {}).items() if isinstance(value, int)}
            numbers.pop("observedGeneration", None)
            found[f"{resource.plural}/{namespace}/{name}"] = (
                labels.get(MANAGED_LABEL),
                obj.get("data"),
                dig(obj, "spec", "replicas"),
                numbers,
                obj["metadata"].get("finalizers"),
            )
    return found


async def test_a_day_ends_the_same_for_members_that_fetch_their_work_and_for_members_that_are_reached():
    async with federation_with_agents(pulling=()) as world:
        reached = await a_day(world)
    async with federation_with_agents(pulling=("b",)) as world:
        fetched = await a_day(world)
        works = await world.works("b")

    assert fetched == reached
    assert "configmaps/default/kept" in fetched["b"]
    assert {(work["spec"]["name"], work["spec"]["want"]) for work in works} == {
        ("web", "Present"),
        ("shop", "Present"),
        ("prices", "Present"),
    }


async def test_steady_is_silent_and_restarts_write_nothing_but_who_the_agent_is():
    async with federation_with_agents() as world:
        await place_web(world)
        await world.host.create(CONFIGMAPS, config())
        await world.runtime.sleep(62)
        world.forget_writes()

        await world.runtime.sleep(35)

        assert world.noteworthy_writes() == {}
        told = {work["spec"]["name"]: work["status"]["copy"] for work in await world.works("b")}
        assert told["web"]["status"]["availableReplicas"] == 2
        assert "data" not in told["settings"]

        await world.kill_control_plane()
        world.forget_writes()

        world.start_control_plane()
        await world.runtime.sleep(62)

        assert world.noteworthy_writes() == {}

        await world.kill_agent("b")
        world.start_agent("b")
        await world.runtime.sleep(30)

        assert {path for _, path in world.noteworthy_writes()["b to host"]} == {
            f"{AGENTS.path(agent_namespace('b'), 'b')}/status"
        }
        assert "b" not in world.noteworthy_writes()
        assert await world.spread() == {"a": 2, "b": 2}


async def test_a_new_agent_tells_of_every_copy_before_it_says_that_it_knows_them_all():
    async with federation_with_agents() as world:
        await place_web(world)
        await world.kill_agent("b")
        await world.clients["b"].patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {"by": "hand"}}}, "default")
        order = []

        def note(request):
            if request.path.startswith(WORKS.path(agent_namespace("b"))):
                order.append("copy")
            elif b'"plural":"deployments"' in request.body and b'"seen":true' in request.body.split(b"deployments")[1]:
                order.append("all")

        world.to_host("b").before_write = note
        world.start_agent("b")
        await world.until(lambda: "all" in order)

        assert order[:2] == ["copy", "all"]


async def test_a_member_whose_agent_falls_silent_is_offline_within_ten_seconds_and_its_replicas_go_elsewhere():
    async with federation_with_agents() as world:
        await place_web(world)

        world.to_host("b").hanging = True
        took = await world.until(lambda: world.cluster_is("b", "Offline"))
        await world.until(lambda: _has_replicas(world, "a", 4))

        assert took < 10.0
        assert dig(await world.find("b", DEPLOYMENTS, "web"), "spec", "replicas") == 2

        world.to_host("b").hanging = False
        await world.until(lambda: world.cluster_is("b", "Ready"))
        assert await world.available("b") == 2


async def _has_replicas(world, cluster, count):
    return (await world.spread()).get(cluster) == count


async def test_a_host_that_loses_every_work_takes_nothing_from_the_member():
    async with federation_with_agents() as world:
        await place_web(world)
        before = uid_of(await world.find("b", DEPLOYMENTS, "web"))
        await world.kill_control_plane()

        for work in await world.works("b"):
            await world.host.delete(WORKS, work["metadata"]["name"], agent_namespace("b"))
        await world.runtime.sleep(30)
        told = await world.works("b")
        world.start_control_plane()
        await world.runtime.sleep(30)

        assert [(work["spec"]["name"], work["spec"]["want"]) for work in told] == [("web", "")]
        assert uid_of(await world.find("b", DEPLOYMENTS, "web")) == before
        assert [work["spec"]["want"] for work in await world.works("b")] == ["Present"]


async def test_an_agent_that_cannot_reach_its_member_says_so_and_goes_on_when_it_can():
    async with federation_with_agents() as world:
        await place_web(world)

        await world.fail("b")
        await world.until(lambda: world.cluster_is("b", "Offline"))
        await set_image(world.host, "web:2")
        await world.runtime.sleep(5)
        world.heal("b")

        await world.until(lambda: world.cluster_is("b", "Ready"))
        await world.until(lambda: _images_are(world, "web:2"))


async def test_crashes_of_agent_and_control_plane_at_any_point_lead_to_the_same_end():
    async with federation_with_agents(seed=4) as world:
        world.to_host("b").latency = 0.05
        chance = world.runtime.uniform
        await world.host.create(DEPLOYMENTS, deployment(replicas=4))
        for step in range(2):
            await world.host.create(CONFIGMAPS, config(f"config-{step}"))
            if step:
                await world.host.delete(CONFIGMAPS, f"config-{step - 1}", "default")
            await set_image(world.host, f"web:{step}")
            await world.runtime.sleep(chance(0.0, 1.0))
            await world.kill_agent("b")
            await world.runtime.sleep(chance(0.0, 12.0))
            world.start_agent("b")
            await world.runtime.sleep(chance(0.0, 10.0))
            await world.kill_control_plane()
            world.start_control_plane()

        await world.until(lambda: _images_are(world, "web:1"), seconds=120)
        await world.until(lambda: gone(world, "host", CONFIGMAPS, "config-0"), seconds=120)
        await world.runtime.sleep(10)

        assert await world.available() >= 4
        assert await world.managed("b", CONFIGMAPS) == ["config-1"]
        assert {work["spec"]["name"] for work in await world.works("b")} == {"web", "config-1"}


BEYOND = {
    "another cluster's works": lambda agent: agent.list(WORKS, agent_namespace("a")),
    "all works": lambda agent: agent.list(WORKS),
    "credentials": lambda agent: agent.list(SECRETS, "hanse-system"),
    "secrets beside its works": lambda agent: agent.list(SECRETS, agent_namespace("b")),
    "the registry": lambda agent: agent.list(CLUSTERS),
    "federated objects": lambda agent: agent.list(DEPLOYMENTS, "default"),
    "taking a work away": lambda agent: agent.delete(WORKS, "any", agent_namespace("b")),
    "changing a wish": lambda agent: agent.patch(WORKS, "any", {"spec": {"want": "Absent"}}, agent_namespace("b")),
    "another agent's lease": lambda agent: agent.get(LEASES, "a", agent_namespace("a")),
}


async def test_an_agents_rights_end_at_its_own_works():
    runtime = SeededRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(ADMINISTRATOR), runtime)
    await prepare_host(host)
    for name in ("a", "b"):
        await join_by_agent(host, name, {})
    agent = Client(server.connect(agent_identity("b")), runtime)
    refused = set()

    for what, attempt in BEYOND.items():
        try:
            await attempt(agent)
        except Forbidden:
            refused.add(what)

    assert refused == set(BEYOND)
    assert (await agent.list(WORKS, agent_namespace("b"))).items == []
    await server.close()


async def test_what_a_member_refuses_is_told_on_the_federations_object():
    async with federation_with_agents() as world:
        await world.clients["b"].create(CONFIGMAPS, config(color="theirs"))

        await world.host.create(CONFIGMAPS, config(color="ours"))

        await world.until(lambda: _says(world, "b: an object of this name is there already"))
        assert (await world.find("b", CONFIGMAPS, "settings"))["data"] == {"color": "theirs"}


async def _says(world, words):
    source = await world.host.get(CONFIGMAPS, "settings", "default")
    return words in str(source["metadata"].get("annotations"))
