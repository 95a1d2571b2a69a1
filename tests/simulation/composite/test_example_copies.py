"""The examples with cluster-scoped parents: what they make in many namespaces comes, changes, is mended and goes."""

import pytest

from hanse.kube.resources import CONFIGMAPS, CRDS, NAMESPACES, SECRETS, Resource
from tests.simulation.composite.examples import Example
from tests.simulation.composite.stage import stage

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

GROUP = "examples.hanse.dev"
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)


def parents(plural, kind):
    return Resource(GROUP, "v1", plural, kind, namespaced=False)


async def copies(on, resource, name):
    """Return the objects of a name by their namespaces."""
    listed = (await on.client.list(resource, "")).items
    return {
        each["metadata"]["namespace"]: each["data"]
        for each in listed
        if each["metadata"]["name"] == name and each["metadata"]["namespace"] != "default"
    }


async def test_a_config_map_is_in_the_named_namespaces_as_long_as_its_source_and_its_parent_are_there():
    example = Example("config-map-propagation")
    propagations = parents("configmappropagations", "ConfigMapPropagation")

    async def status():
        return (await on.client.get(propagations, "settings"))["status"]

    async with stage() as on:
        await example.serve(on)
        await example.create(on)
        await on.settle()
        info = {"level": "info"}
        assert await copies(on, CONFIGMAPS, "settings") == {"team-a": info, "team-b": info}

        await on.client.patch(propagations, "settings", {"spec": {"targetNamespaces": ["team-b", "team-c"]}})
        await on.client.patch(CONFIGMAPS, "settings", {"data": {"level": "debug"}}, "default")
        await on.settle()
        debug = {"level": "debug"}
        assert await copies(on, CONFIGMAPS, "settings") == {"team-b": debug}
        assert ((await status())["copies"], (await status())["missingNamespaces"]) == (1, ["team-c"])

        await on.namespace("team-c")
        await on.client.delete(CONFIGMAPS, "settings", "team-b")
        await on.settle()
        await on.client.patch(CONFIGMAPS, "settings", {"data": {"level": "theirs"}}, "team-c")
        await on.settle()
        assert await copies(on, CONFIGMAPS, "settings") == {"team-b": debug, "team-c": debug}

        assert await on.silent()
        hook = example.hook(on)
        works, hook.function = hook.function, lambda _request: {"children": "none"}
        await on.client.delete(CONFIGMAPS, "settings", "default")
        await on.settle()
        assert set(await copies(on, CONFIGMAPS, "settings")) == {"team-b", "team-c"}
        (event,) = await on.events("SyncError")
        assert "children must be a list" in event["message"]

        hook.function = works
        await on.settle()
        assert await copies(on, CONFIGMAPS, "settings") == {}
        assert (await status())["sourceFound"] is False
        await on.client.create(CONFIGMAPS, example.documents("source.yaml")[2])
        await on.settle()
        assert set(await copies(on, CONFIGMAPS, "settings")) == {"team-b", "team-c"}
        await on.client.delete(propagations, "settings")
        await on.settle()
        assert await copies(on, CONFIGMAPS, "settings") == {}


async def test_a_global_config_map_is_in_every_namespace_that_matches_also_in_those_that_come_later():
    example = Example("global-config-map")
    globals_ = parents("globalconfigmaps", "GlobalConfigMap")
    async with stage() as on:
        await on.namespace("one")
        await example.serve(on)
        await example.create(on)
        await on.settle()
        mail = {"support": "support@example.com"}
        assert await copies(on, CONFIGMAPS, "company") == {"one": mail}

        await on.namespace("two")
        await on.client.delete(CONFIGMAPS, "company", "one")
        await on.client.patch(globals_, "company", {"spec": {"data": {"support": "+49"}}})
        await on.settle()
        phone = {"support": "+49"}
        assert await copies(on, CONFIGMAPS, "company") == {"one": phone, "two": phone}
        assert (await on.client.get(globals_, "company"))["status"]["namespaces"] == 3
        assert await on.silent()

        await on.client.patch(NAMESPACES, "two", {"metadata": {"labels": {"mail": "yes"}}})
        await on.client.patch(globals_, "company", {"spec": {"namespaceSelector": {"matchLabels": {"mail": "yes"}}}})
        await on.client.patch(CONFIGMAPS, "company", {"data": {"support": "theirs", "added": "theirs"}}, "two")
        await on.settle()
        assert await copies(on, CONFIGMAPS, "company") == {"two": phone | {"added": "theirs"}}
        await on.client.delete(globals_, "company")
        await on.settle()
        assert await copies(on, CONFIGMAPS, "company") == {}


async def test_a_secret_follows_the_labels_of_namespaces():
    example = Example("secret-propagation")
    async with stage() as on:
        await example.serve(on)
        await example.create(on)
        await on.settle()
        (first,) = (await copies(on, SECRETS, "pull-token")).items()
        assert first == ("team-c", {"token": "bm90LWEtcmVhbC1vbmU="})

        await on.namespace("team-d", pulls="private-images")
        await on.client.patch(NAMESPACES, "team-c", {"metadata": {"labels": {"pulls": None}}})
        await on.client.patch(SECRETS, "pull-token", {"data": {"token": "bmV3"}}, "default")
        await on.settle()
        assert await copies(on, SECRETS, "pull-token") == {"team-d": {"token": "bmV3"}}

        await on.client.delete(SECRETS, "pull-token", "team-d")
        await on.settle()
        await on.client.patch(SECRETS, "pull-token", {"data": {"token": "dGhlaXJz"}}, "team-d")
        await on.settle()
        assert await copies(on, SECRETS, "pull-token") == {"team-d": {"token": "bmV3"}}
        assert await on.silent()
        await on.client.delete(parents("secretpropagations", "SecretPropagation"), "pull-token")
        await on.settle()
        assert await copies(on, SECRETS, "pull-token") == {}


async def test_a_custom_kind_has_the_roles_that_its_annotation_names():
    example = Example("crd-roles")
    boats = f"boats.{GROUP}"

    async def roles():
        listed = (await on.client.list(CLUSTER_ROLES, "")).items
        return {
            each["metadata"]["name"].removeprefix(f"{boats}-"): each["rules"][0]
            for each in listed
            if each["metadata"]["name"].startswith(boats)
        }

    async def annotate(words):
        await on.client.patch(CRDS, boats, {"metadata": {"annotations": {f"{GROUP}/roles": words}}})
        await on.settle()

    async with stage() as on:
        await example.serve(on)
        await example.create(on)
        await on.settle()
        found = await roles()
        assert sorted(found) == ["edit", "view"]
        assert found["view"] == {"apiGroups": [GROUP], "resources": ["boats"], "verbs": ["get", "list", "watch"]}

        await on.client.delete(CLUSTER_ROLES, f"{boats}-edit")
        wide = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        await on.client.patch(CLUSTER_ROLES, f"{boats}-view", {"rules": wide})
        await on.settle()
        assert await roles() == found
        assert await on.silent()
        await annotate("view")
        assert await roles() == {"view": found["view"]}
        await annotate("view,admin")
        assert await roles() == {"view": found["view"]}
        (event,) = await on.events("SyncError")
        assert "KeyError: 'admin'" in event["message"]
        await annotate("")
        assert await roles() == {}
        await annotate("edit")
        assert await roles() == {"edit": found["edit"]}
        await on.client.delete(CRDS, boats)
        await on.settle()
        assert await roles() == {}
