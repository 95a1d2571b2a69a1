"""The promises, each with a test that tries to break it, on virtual time."""

import asyncio

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.names import CLUSTER_SELECTOR_ANNOTATION, DELETION_ANNOTATION, FINALIZER, STATUS_ANNOTATION
from hanse.kube.conditions import find_condition
from hanse.kube.errors import NotFound
from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES, SECRETS
from tests.simulation.world import config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def place_web(world, **changes):
    await world.host.create(DEPLOYMENTS, deployment(**changes))
    await world.until(lambda: spread_is(world, a=3, b=3, c=3))


async def test_steady_is_silent():
    async with federation() as world:
        await place_web(world)
        await world.host.create(CONFIGMAPS, config())
        await world.runtime.sleep(30)
        world.forget_writes()

        await world.runtime.sleep(600)

        assert world.writes() == {}


async def test_a_restarted_control_plane_writes_nothing_when_all_is_as_it_should_be():
    async with federation() as world:
        await place_web(world)
        await world.runtime.sleep(30)
        await world.kill_control_plane()
        world.forget_writes()

        world.start_control_plane()
        await world.runtime.sleep(60)

        assert world.writes() == {}


async def test_a_member_that_hangs_delays_nobody():
    async with federation() as world:
        world.wires["b"].hanging = True

        await world.host.create(CONFIGMAPS, config())
        took = await world.until(lambda: _has(world, "a") and _has(world, "c"))

        assert took < 1.0
        assert not await _has(world, "b")


async def _has(world, cluster, name="settings"):
    return await world.find(cluster, CONFIGMAPS, name) is not None


async def test_a_slow_member_is_waited_for_and_others_are_not():
    async with federation() as world:
        world.wires["b"].latency = 1.0
        await place_web(world)

        assert await world.cluster_is("b", "Ready")


class TestNeverDeleteOnIgnorance:
    async def test_a_lost_registry_deletes_nothing(self):
        async with federation() as world:
            await place_web(world)
            for name in "abc":
                await world.host.delete(CLUSTERS, name)

            await world.runtime.sleep(120)

            spread = await world.spread()
            assert spread.keys() == {"a", "b", "c"}
            assert min(spread.values()) >= 3

    async def test_a_source_that_vanishes_without_its_finalizer_leaves_its_copies(self):
        async with federation() as world:
            await place_web(world)
            await world.kill_control_plane()
            source = await world.host.get(DEPLOYMENTS, "web", "default")
            await world.host.update(DEPLOYMENTS, {**source, "metadata": {**source["metadata"], "finalizers": []}})
            await world.host.delete(DEPLOYMENTS, "web", "default")

            world.start_control_plane()
            await world.runtime.sleep(60)

            assert await world.spread() == {"a": 3, "b": 3, "c": 3}

    async def test_a_malformed_selector_keeps_the_placement_and_says_so(self):
        async with federation() as world:
            await place_web(world)
            patch = {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: "{"}}}

            await world.host.patch(DEPLOYMENTS, "web", patch, "default")
            await world.runtime.sleep(30)

            assert await world.spread() == {"a": 3, "b": 3, "c": 3}
            source = await world.host.get(DEPLOYMENTS, "web", "default")
            told = find_condition(source["status"]["conditions"], "Propagated")
            assert told["reason"] == "InvalidClusterSelector"
            reasons = [event["reason"] for event in (await world.host.list(EVENTS, "default")).items]
            assert "InvalidClusterSelector" in reasons

    async def test_somebody_elses_object_is_left_alone_and_named(self):
        async with federation() as world:
            await world.clients["b"].create(CONFIGMAPS, config(color="theirs"))

            await world.host.create(CONFIGMAPS, config(color="ours"))
            await world.until(lambda: _told(world, "b: an object of this name is there already"))
            await world.host.delete(CONFIGMAPS, "settings", "default")
            await world.until(lambda: _gone(world, "host"))

            assert (await world.find("b", CONFIGMAPS, "settings"))["data"] == {"color": "theirs"}
            assert not await _has(world, "a")


async def _told(world, sentence):
    source = await world.host.get(CONFIGMAPS, "settings", "default")
    return source["metadata"].get("annotations", {}).get(STATUS_ANNOTATION, "").startswith(sentence)


async def _gone(world, cluster, resource=CONFIGMAPS, name="settings", namespace="default"):
    return await world.find(cluster, resource, name, namespace) is None


class TestNeverTheLastHealthyCopy:
    async def test_a_lost_cluster_is_replaced_and_a_healed_one_takes_its_share_back_without_a_dip(self):
        async with federation() as world:
            await place_web(world)
            lowest = [9]

            await world.fail("b")
            replaced = await world.until(lambda: _count(world, 9, "a", "c"))
            world.heal("b")
            await world.until(lambda: world.cluster_is("b", "Ready"))

            async def settled():
                lowest[0] = min(lowest[0], await world.available())
                return await world.spread() == {"a": 3, "b": 3, "c": 3}

            await world.until(settled)

            assert replaced < 30
            assert lowest[0] >= 9

    async def test_a_deselected_cluster_gives_up_its_replicas_only_when_others_have_them(self):
        async with federation() as world:
            await place_web(world)
            await world.host.patch(CLUSTERS, "c", {"metadata": {"labels": {"drain": "yes"}}})
            selector = '[{"key": "drain", "operator": "DoesNotExist"}]'
            lowest = [9]

            await world.host.patch(
                DEPLOYMENTS, "web", {"metadata": {"annotations": {CLUSTER_SELECTOR_ANNOTATION: selector}}}, "default"
            )

            async def moved():
                lowest[0] = min(lowest[0], await world.available())
                return await world.find("c", DEPLOYMENTS, "web") is None

            await world.until(moved)

            assert lowest[0] >= 9
            assert sorted((await world.spread()).values()) == [4, 5]


async def _count(world, wanted, *clusters):
    return await world.available(*clusters) == wanted


async def test_a_lost_cluster_is_offline_within_ten_seconds_and_one_missed_probe_is_not():
    async with federation() as world:
        await world.fail("b")
        took = await world.until(lambda: world.cluster_is("b", "Offline"))
        assert took <= 10
        world.heal("b")
        await world.until(lambda: world.cluster_is("b", "Ready"))

        world.wires["b"].hanging = True
        await world.runtime.sleep(2.5)
        world.wires["b"].hanging = False
        await world.runtime.sleep(20)

        assert await world.cluster_is("b", "Ready")


class TestOthersFieldsAreTheirs:
    async def test_what_a_member_adds_stays_and_what_was_rendered_is_put_back(self):
        async with federation() as world:
            await place_web(world)
            patch = {
                "metadata": {"annotations": {"mesh/injected": "yes"}},
                "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:edited"}]}}},
            }
            await world.clients["a"].patch(DEPLOYMENTS, "web", patch, "default")

            took = await world.until(lambda: _image(world, "a", "web:1"))

            assert took < 2
            assert (await world.find("a", DEPLOYMENTS, "web"))["metadata"]["annotations"]["mesh/injected"] == "yes"

    async def test_a_field_taken_out_of_the_source_goes_from_the_copies(self):
        async with federation() as world:
            await world.host.create(CONFIGMAPS, config(keep="1", drop="2"))
            await world.until(lambda: _has(world, "a"))
            await world.host.patch(CONFIGMAPS, "settings", {"data": {"drop": None}}, "default")

            await world.until(lambda: _data(world, "a", {"keep": "1"}))
            await world.host.patch(CONFIGMAPS, "settings", {"data": {"more": "3"}}, "default")
            await world.until(lambda: _data(world, "a", {"keep": "1", "more": "3"}))
            await world.host.patch(CONFIGMAPS, "settings", {"data": {"keep": None}}, "default")
            await world.until(lambda: _data(world, "a", {"more": "3"}))

            assert await _data(world, "a", {"more": "3"})

    async def test_a_deleted_copy_comes_back(self):
        async with federation() as world:
            await world.host.create(CONFIGMAPS, config())
            await world.until(lambda: _has(world, "a"))

            await world.clients["a"].delete(CONFIGMAPS, "settings", "default")
            took = await world.until(lambda: _has(world, "a"))

            assert took < 2


async def _image(world, cluster, image):
    copy = await world.find(cluster, DEPLOYMENTS, "web")
    return dig(copy, "spec", "template", "spec", "containers")[0]["image"] == image


async def _data(world, cluster, data):
    copy = await world.find(cluster, CONFIGMAPS, "settings")
    return copy is not None and copy["data"] == data


class TestDeletion:
    async def test_deleting_cascades_and_touches_nothing_else(self):
        async with federation() as world:
            await world.clients["a"].create(CONFIGMAPS, config("theirs"))
            await place_web(world)
            await world.host.create(CONFIGMAPS, config())
            await world.until(lambda: _has(world, "c"))

            await world.host.delete(CONFIGMAPS, "settings", "default")
            await world.host.delete(DEPLOYMENTS, "web", "default")
            await world.until(lambda: _gone(world, "host"))
            await world.until(lambda: _gone(world, "host", DEPLOYMENTS, "web"))

            for name in "abc":
                assert await world.managed(name, CONFIGMAPS) == []
                assert await world.managed(name, DEPLOYMENTS) == []
            assert await _has(world, "a", "theirs")

    async def test_orphaning_leaves_the_copies_to_their_clusters(self):
        async with federation() as world:
            source = config()
            source["metadata"]["annotations"] = {DELETION_ANNOTATION: "orphan"}
            await world.host.create(CONFIGMAPS, source)
            await world.until(lambda: _has(world, "c"))

            await world.host.delete(CONFIGMAPS, "settings", "default")
            await world.until(lambda: _gone(world, "host"))

            assert await _has(world, "a")
            assert await world.managed("a", CONFIGMAPS) == []

    async def test_a_source_waits_for_a_cluster_that_cannot_be_asked(self):
        async with federation() as world:
            await world.host.create(CONFIGMAPS, config())
            await world.until(lambda: _has(world, "b"))
            await world.fail("b")
            await world.until(lambda: world.cluster_is("b", "Offline"))

            await world.host.delete(CONFIGMAPS, "settings", "default")
            await world.runtime.sleep(60)
            assert FINALIZER in (await world.host.get(CONFIGMAPS, "settings", "default"))["metadata"]["finalizers"]

            world.heal("b")
            await world.until(lambda: _gone(world, "host"))
            assert not await _has(world, "b")

    async def test_a_namespace_goes_last_and_takes_only_what_was_ours(self):
        async with federation() as world:
            await world.host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            await world.host.create(CONFIGMAPS, config(namespace="shop"))
            await world.until(lambda: _found(world, "b", "shop"))

            await world.host.delete(NAMESPACES, "shop")
            await world.until(lambda: _gone(world, "host", NAMESPACES, "shop", ""))

            for name in "abc":
                await world.until(lambda name=name: _gone(world, name, NAMESPACES, "shop", ""))

    async def test_a_namespace_that_was_there_before_is_used_and_stays(self):
        async with federation() as world:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
            await world.clients["a"].create(NAMESPACES, namespace)
            await world.host.create(NAMESPACES, namespace)
            await world.host.create(CONFIGMAPS, config(namespace="shop"))
            await world.until(lambda: _found(world, "a", "shop"))

            await world.host.delete(NAMESPACES, "shop")
            await world.until(lambda: _gone(world, "host", NAMESPACES, "shop", ""))

            assert await world.find("a", NAMESPACES, "shop", "") is not None
            assert await world.find("a", CONFIGMAPS, "settings", "shop") is None


async def _found(world, cluster, namespace):
    return await world.find(cluster, CONFIGMAPS, "settings", namespace) is not None


async def test_credentials_and_the_machinerys_own_objects_are_never_federated():
    async with federation() as world:
        token = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "robot",
                "namespace": "default",
                "annotations": {"kubernetes.io/service-account.name": "default"},
            },
            "type": "kubernetes.io/service-account-token",
        }  # fmt: skip
        await world.host.create(SECRETS, token)
        await world.host.create(CONFIGMAPS, config("local", namespace="kube-system"))
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: _has(world, "a"))
        await world.runtime.sleep(10)

        assert await world.managed("a", SECRETS) == []
        assert await world.managed("a", CONFIGMAPS) == ["settings"]
        assert await world.managed("a", NAMESPACES) == []


# Two more where there is time: `make soak-guards` has a control plane die at each of its requests.
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.kubernetes) for seed in (1, 2))])
async def test_crash_anywhere_and_converge(seed):
    """The control plane dies at a random moment of every step; the end is the same and nothing is doubled."""
    async with federation(seed=seed) as world:

        async def crash():
            await world.runtime.sleep(world.runtime.uniform(0.0, 1.5))
            await world.kill_control_plane()
            await world.runtime.sleep(world.runtime.uniform(0.0, 5.0))
            world.start_control_plane()

        await world.host.create(DEPLOYMENTS, deployment())
        await crash()
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))

        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"}]
        await world.host.patch(DEPLOYMENTS, "web", patch, "default", patch_type="application/json-patch+json")
        await crash()
        for name in "abc":
            await world.until(lambda name=name: _image(world, name, "web:2"))
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))

        await world.fail("c")
        await crash()
        await world.until(lambda: _count(world, 9, "a", "b"))
        world.heal("c")
        await crash()
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))

        await world.host.delete(DEPLOYMENTS, "web", "default")
        await crash()
        await world.until(lambda: _gone(world, "host", DEPLOYMENTS, "web"))
        for name in "abc":
            assert await world.managed(name, DEPLOYMENTS) == []


async def test_a_run_with_the_same_seed_is_the_same_run():
    async def history(seed):
        async with federation(seed=seed) as world:
            await place_web(world)
            await world.fail("b")
            await world.until(lambda: _count(world, 9, "a", "c"))
            source = await world.host.get(DEPLOYMENTS, "web", "default")
            return world.writes(), source

    first = await history(7)
    second = await history(7)

    assert first[0] == second[0]
    assert first[1]["metadata"]["uid"] == second[1]["metadata"]["uid"]


async def test_the_finalizer_is_there_before_the_first_copy():
    async with federation() as world:
        orders = []

        def note(request):
            orders.append(request.path)

        for wire in world.wires.values():
            wire.before_write = note
        await world.host.create(CONFIGMAPS, config())
        await world.until(lambda: _has(world, "a"))
        await asyncio.sleep(0)

        mine = [path for path in orders if "configmaps" in path]
        assert mine[0] == "/api/v1/namespaces/default/configmaps/settings"
        assert set(mine[1:4]) == {"/api/v1/namespaces/default/configmaps"}


async def test_an_unjoined_cluster_keeps_what_it_has():
    async with federation() as world:
        await place_web(world)

        await world.host.delete(CLUSTERS, "c")
        await world.until(lambda: _count(world, 9, "a", "b"))

        assert dig(await world.find("c", DEPLOYMENTS, "web"), "spec", "replicas") == 3
        with pytest.raises(NotFound):
            await world.host.get(CLUSTERS, "c")
