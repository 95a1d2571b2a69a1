"""Several sources of one object: one speaks for it, and what members have changes hands without being touched."""

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.type_configs import TYPE_CONFIGS
from hanse.api.names import DELETION_ANNOTATION, FEDERATE_ANNOTATION, STATUS_ANNOTATION
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import annotations_of, dig, is_deleting, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES
from tests.simulation.agents import federation_with_agents
from tests.simulation.handover import FEDERATED_CONFIGS, Copies, hand_over_and_die, until_gone, wrapped
from tests.simulation.world import config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FEDERATED_NAMESPACES = template_resource(FORM_D, NAMESPACES)
FEDERATED_DEPLOYMENTS = template_resource(FORM_D, DEPLOYMENTS)
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
SWITCHED_OFF = {
    "apiVersion": TYPE_CONFIGS.api_version,
    "kind": TYPE_CONFIGS.kind,
    "metadata": {"name": "configmaps", "namespace": "default"},
    "spec": {
        "targetType": {"version": "v1", "kind": "ConfigMap", "pluralName": "configmaps", "scope": "Namespaced"},
        "federatedType": {
            "group": FEDERATED_CONFIGS.group,
            "version": FEDERATED_CONFIGS.version,
            "kind": FEDERATED_CONFIGS.kind,
            "pluralName": FEDERATED_CONFIGS.plural,
            "scope": "Namespaced",
        },
        "propagation": "Disabled",
    },
}
FEDERATED_SHOP = wrapped(NAMESPACES, {}, "shop", "shop")


async def told_of(world, source):
    """The events about a source: reason, type and count of each."""
    events = (await world.host.list(EVENTS)).items
    return [
        (event["reason"], event["type"], event["count"])
        for event in events
        if dig(event, "involvedObject", "uid") == uid_of(source)
    ]


async def assert_silent(world):
    await world.runtime.sleep(6)
    world.forget_writes()
    await world.runtime.sleep(12)
    assert world.writes() == {}


async def test_a_namespace_changes_hands_and_its_copies_never_notice():
    async with federation("a", "b", forms=(FORM_D,)) as world:
        plain = await world.host.create(NAMESPACES, SHOP)
        await world.host.create(CONFIGMAPS, config(namespace="shop"))
        copies, inside = Copies(world, NAMESPACES, "shop", ""), Copies(world, CONFIGMAPS, "settings", "shop")
        await copies.until_owned_by(plain)
        await world.until(lambda: inside.are_in("a", "b"))
        uids, content = await copies.uids(), await inside.uids()

        async def says_nothing():
            return STATUS_ANNOTATION not in annotations_of(await world.host.get(NAMESPACES, "shop"))

        for _ in range(2):
            federated = await world.host.create(FEDERATED_NAMESPACES, FEDERATED_SHOP)
            await copies.until_owned_by(federated)
            told = annotations_of(await world.host.get(NAMESPACES, "shop"))[STATUS_ANNOTATION]
            assert told == "FederatedNamespace shop/shop speaks for Namespace shop"
            await world.host.delete(FEDERATED_NAMESPACES, "shop", "shop")
            await until_gone(world, FEDERATED_NAMESPACES, "shop", "shop")
            await copies.until_owned_by(plain)
            await world.until(says_nothing)
        assert await copies.uids() == uids
        assert await inside.uids() == content
        # Nobody has to do anything about it, and each time it is told once.
        assert await told_of(world, plain) == [("SpokenFor", "Normal", 2)]

        # Both go together, with what is in them.
        await world.host.create(FEDERATED_NAMESPACES, FEDERATED_SHOP)
        await assert_silent(world)
        await world.host.delete(NAMESPACES, "shop")
        await world.host.delete(FEDERATED_NAMESPACES, "shop", "shop")
        await world.host.delete(CONFIGMAPS, "settings", "shop")
        await copies.until_gone()
        await until_gone(world, NAMESPACES, "shop")


async def test_the_first_keeps_its_copies_and_leaves_them_to_the_second():
    async with federation("a", "b", forms=(FORM_D,)) as world:
        copies = Copies(world, DEPLOYMENTS, "web")

        async def is_spread():
            return await world.spread() == {"a": 2, "b": 2}

        async def templates():
            return [dig(copy, "spec", "template") for copy in (await copies.found()).values()]

        first = await world.host.create(DEPLOYMENTS, deployment(replicas=4, **{DELETION_ANNOTATION: "orphan"}))
        await world.until(is_spread)
        uids, pods = await copies.uids(), await templates()
        template = {"spec": deployment(replicas=2)["spec"]}
        second = await world.host.create(FEDERATED_DEPLOYMENTS, wrapped(DEPLOYMENTS, template, "web", "default"))

        async def refused():
            found = await world.host.get(FEDERATED_DEPLOYMENTS, "web", "default")
            told = find_condition(dig(found, "status", "conditions"), "Propagation") or {}
            return told.get("reason") == "SpokenFor" and "Deployment default/web speaks" in told["message"]

        await world.until(refused)
        await copies.until_owned_by(first)
        await assert_silent(world)
        assert await told_of(world, second) == [("SpokenFor", "Warning", 1)]

        # A cluster that cannot be asked keeps the first until it is back; the others wait for nobody.
        await world.fail("b")
        await world.until(lambda: world.cluster_is("b", "Offline"))
        await world.host.delete(DEPLOYMENTS, "web", "default")
        await copies.until_owned_by(second, "a")

        async def waits():
            found = await world.host.get(DEPLOYMENTS, "web", "default")
            told = find_condition(dig(found, "status", "conditions"), "Propagated") or {}
            return is_deleting(found) and "b: it is offline" in told.get("message", "")

        await world.until(waits)
        world.heal("b")
        await until_gone(world, DEPLOYMENTS, "web", "default")
        await copies.until_owned_by(second)
        await world.until(is_spread)
        assert await copies.uids() == uids
        assert await templates() == pods

        # Whoever comes next wants it nowhere for now: what is there is kept, as its own.
        nowhere = {"federation.alpha.kubernetes.io/cluster-selector": '[{"key":"x","operator":"In","values":["y"]}]'}
        third = await world.host.create(DEPLOYMENTS, deployment(replicas=4, **nowhere))
        await world.host.delete(FEDERATED_DEPLOYMENTS, "web", "default")
        await until_gone(world, FEDERATED_DEPLOYMENTS, "web", "default")
        assert set((await copies.owners()).values()) == {uid_of(third)}
        assert await copies.uids() == uids


async def test_a_namespace_stays_for_what_a_new_control_plane_cannot_decide_on():
    async with federation("a", forms=(FORM_D,)) as world:
        own = {**SHOP, "metadata": {"name": "shop", "annotations": {FEDERATE_ANNOTATION: "false"}}}
        await world.host.create(NAMESPACES, own)
        federated = await world.host.create(FEDERATED_NAMESPACES, FEDERATED_SHOP)
        settings = wrapped(CONFIGMAPS, {"data": {"color": "blue"}}, "settings", "shop")
        await world.host.create(FEDERATED_CONFIGS, settings)
        namespace, inside = Copies(world, NAMESPACES, "shop", ""), Copies(world, CONFIGMAPS, "settings", "shop")
        await namespace.until_owned_by(federated)
        await world.until(inside.found)
        uids, content = await namespace.uids(), await inside.uids()
        unreadable = {"clusterSelector": {"matchExpressions": [{"key": "x", "operator": "Near"}]}}
        await world.host.patch(FEDERATED_CONFIGS, "settings", {"spec": {"placement": unreadable}}, "shop")
        await world.kill_control_plane()
        await world.host.delete(FEDERATED_NAMESPACES, "shop", "shop")

        world.start_control_plane()
        await world.runtime.sleep(15)

        assert (await namespace.uids(), await inside.uids()) == (uids, content)
        await world.host.delete(FEDERATED_CONFIGS, "settings", "shop")
        await until_gone(world, FEDERATED_NAMESPACES, "shop", "shop")
        await namespace.until_gone()


async def test_a_cluster_that_fetches_its_work_hands_over_and_tells_the_same_codes():
    async with federation_with_agents("a", "b", forms=(FORM_D,)) as world:
        theirs = config("theirs")
        theirs["metadata"]["labels"] = {"kubefed.io/managed": "false"}
        await world.clients["b"].create(CONFIGMAPS, theirs)
        template = {"data": {"color": "red"}}
        await world.host.create(FEDERATED_CONFIGS, wrapped(CONFIGMAPS, template, "theirs", "default"))
        copies = Copies(world, CONFIGMAPS, "settings")
        first = await world.host.create(CONFIGMAPS, config())
        await copies.until_owned_by(first)
        uids = await copies.uids()
        await world.runtime.sleep(2)
        second = await world.host.create(FEDERATED_CONFIGS, wrapped(CONFIGMAPS, template, "settings", "default"))

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await until_gone(world, CONFIGMAPS, "settings", "default")

        assert await copies.owners() == dict.fromkeys("ab", uid_of(second))
        assert await copies.uids() == uids
        told = (await world.host.get(FEDERATED_CONFIGS, "theirs", "default"))["status"]["clusters"]
        assert {entry["name"]: entry.get("status") for entry in told} == {"a": None, "b": "ManagedLabelFalse"}


async def test_a_source_whose_type_is_switched_off_keeps_what_it_has():
    async with federation("a", forms=(FORM_D,)) as world:
        copies = Copies(world, CONFIGMAPS, "settings")
        source = wrapped(CONFIGMAPS, {"data": {"color": "blue"}}, "settings", "default")
        first = await world.host.create(FEDERATED_CONFIGS, source)
        await copies.until_owned_by(first)
        uids = await copies.uids()
        await world.host.create(TYPE_CONFIGS, SWITCHED_OFF)
        await world.runtime.sleep(2)

        await world.host.create(CONFIGMAPS, config(color="red"))
        await world.runtime.sleep(5)
        told = annotations_of(await world.host.get(CONFIGMAPS, "settings", "default"))[STATUS_ANNOTATION]
        assert told == "FederatedConfigMap default/settings speaks for ConfigMap default/settings"
        await copies.until_owned_by(first)

        await world.host.delete(FEDERATED_CONFIGS, "settings", "default")
        await until_gone(world, FEDERATED_CONFIGS, "settings", "default")
        assert (await copies.found())["a"]["data"] == {"color": "red"}
        assert await copies.uids() == uids


async def test_a_control_plane_that_dies_while_copies_change_hands_finishes_it():
    async with federation("a", "b", forms=(FORM_D,)) as world:
        assert await hand_over_and_die(world, 3, deleted=True)
