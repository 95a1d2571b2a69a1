"""Services and Ingresses of pods that run elsewhere, on API servers in memory and in virtual time."""

import pytest

from hanse.api.admiralty.keys import CILIUM_GLOBAL, GLOBAL, IS_DELEGATE, ORIGINAL_SELECTOR, POD_FINALIZER, PREFIX
from hanse.api.plain_kinds import INGRESSES
from hanse.kube.manifest import annotations_of, finalizers_of, version_of
from hanse.kube.resources import PODS, SERVICES
from tests.component.pods.baggage.travelling import travelling

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]
PREFIXED = f"{PREFIX}app"


async def service(stage, name="web", **spec):
    return await stage.create(SERVICES, name, spec={"ports": PORTS, "selector": {"app": "web"}, **spec})


async def test_line_68_a_service_of_placeholders_is_led_past_them_and_copied_into_all_other_clusters():
    async with travelling() as stage:
        await service(stage, type="NodePort")
        await service(stage, "headless", clusterIP="None")
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()

        source, copy = await stage.find("home", SERVICES, "web"), await stage.find("west", SERVICES, "web")
        assert source["spec"]["selector"] == {PREFIXED: "web"}
        assert annotations_of(source) == {ORIGINAL_SELECTOR: "app=web", GLOBAL: "true", CILIUM_GLOBAL: "true"}
        assert finalizers_of(source) == [POD_FINALIZER]
        assert await stage.where(SERVICES, "web") == await stage.where(SERVICES, "headless") == ["east", "west"]
        assert copy["spec"]["selector"] == {"app": "web"}
        assert annotations_of(copy).items() >= {GLOBAL: "true", CILIUM_GLOBAL: "true", IS_DELEGATE: ""}.items()
        assert (await stage.find("west", SERVICES, "headless"))["spec"]["clusterIP"] == "None"


async def test_line_69_a_manifest_that_is_applied_again_is_led_again_and_followed():
    async with travelling() as stage:
        await service(stage)
        await stage.pod("one", "east", labels={"app": "web", "tier": "front"})
        await stage.settle()
        await stage.home.patch(SERVICES, "web", {"spec": {"selector": {"app": "web", "tier": "front"}}}, "default")
        await stage.settle()

        source, copy = await stage.find("home", SERVICES, "web"), await stage.find("east", SERVICES, "web")
        assert source["spec"]["selector"] == {PREFIXED: "web", f"{PREFIX}tier": "front"}
        assert annotations_of(source)[ORIGINAL_SELECTOR] == "app=web,tier=front"
        assert copy["spec"]["selector"] == {"app": "web", "tier": "front"}


async def test_line_70_services_without_such_pods_are_left_alone():
    async with travelling() as stage:
        container = {"name": "main", "image": "main:1"}
        await stage.create(PODS, "plain", metadata={"labels": {"app": "web"}}, spec={"containers": [container]})
        ordinary = [await service(stage), await stage.create(SERVICES, "bare", spec={"ports": PORTS})]
        await stage.pod("one", "east", labels={"app": "other"})
        await stage.settle()

        for before in ordinary:
            now = await stage.find("home", SERVICES, before["metadata"]["name"])
            assert version_of(now) == version_of(before)
        assert await stage.where(SERVICES, "web") == await stage.where(SERVICES, "bare") == []


async def test_a_service_is_its_owners_again_after_the_last_such_pod():
    async with travelling() as stage:
        await service(stage)
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()
        await stage.home.delete(PODS, "one", "default")
        await stage.settle()

        source = await stage.find("home", SERVICES, "web")
        assert (source["spec"]["selector"], annotations_of(source), finalizers_of(source)) == ({"app": "web"}, {}, [])
        assert await stage.where(SERVICES, "web") == []


async def test_where_every_target_is_the_source_itself_nothing_is_led_or_copied():
    async with travelling(("me",), own=("me",)) as stage:
        before = await service(stage)
        await stage.pod("one", "me", labels={"app": "web"})
        await stage.settle()

        assert version_of(await stage.find("home", SERVICES, "web")) == version_of(before)


async def test_line_71_an_ingress_follows_its_service_and_what_is_written_in_it_later():
    async with travelling() as stage:
        await service(stage)
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        path = {"path": "/", "pathType": "Prefix", "backend": backend}
        rules = [{"host": "bare.example.com"}, {"host": "web.example.com", "http": {"paths": [path]}}]
        await stage.create(INGRESSES, "rules", spec={"rules": rules})
        await stage.create(INGRESSES, "default", spec={"defaultBackend": backend})
        other = {"defaultBackend": {"service": {"name": "other", "port": {"number": 80}}}}
        before = await stage.create(INGRESSES, "other", spec=other)
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()
        await stage.home.patch(INGRESSES, "rules", {"metadata": {"annotations": {"later": "yes"}}}, "default")
        await stage.settle()

        assert await stage.where(INGRESSES, "rules") == await stage.where(INGRESSES, "default") == ["east", "west"]
        copy = await stage.find("west", INGRESSES, "rules")
        assert annotations_of(copy).items() >= {"later": "yes", GLOBAL: "true", IS_DELEGATE: ""}.items()
        assert annotations_of(await stage.find("home", INGRESSES, "rules"))[GLOBAL] == "true"
        assert version_of(await stage.find("home", INGRESSES, "other")) == version_of(before)
        assert await stage.where(INGRESSES, "other") == []


async def test_line_72_a_deleted_service_takes_its_copies_along():
    async with travelling() as stage:
        await service(stage)
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()
        await stage.home.delete(SERVICES, "web", "default")
        await stage.settle()

        assert await stage.find("home", SERVICES, "web") is None
        assert await stage.where(SERVICES, "web") == []


async def test_a_service_goes_only_to_the_targets_of_its_namespace_and_no_other_is_asked_about_it():
    async with travelling(("default/east", "shop/west")) as stage:
        await service(stage)
        await stage.pod("one", "default/east", labels={"app": "web"})
        await stage.settle()
        there = await stage.where(SERVICES, "web")
        await stage.home.delete(SERVICES, "web", "default")
        await stage.settle(20)

        assert there == ["east"]
        assert await stage.find("home", SERVICES, "web") is None
        for place, namespace in (("east", "default"), ("west", "shop")):
            paths = [request.path for request in stage.wires[place].asked]
            assert [path for path in paths if f"/namespaces/{namespace}/" not in path] == []


async def test_line_48_what_is_held_for_a_target_that_is_none_any_more_is_let_go():
    async with travelling() as stage:
        await service(stage)
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()
        stage.targets.leaves("west")
        stage.targets.leaves("east")
        await stage.settle()

        source = await stage.find("home", SERVICES, "web")
        assert (source["spec"]["selector"], finalizers_of(source)) == ({"app": "web"}, [])


async def test_steady_is_silent():
    async with travelling() as stage:
        await service(stage)
        await stage.pod("one", "east", labels={"app": "web"})
        await stage.settle()
        before = {name: len(wire.writes) for name, wire in stage.wires.items()}
        await stage.settle(120)

        assert {name: len(wire.writes) for name, wire in stage.wires.items()} == before
