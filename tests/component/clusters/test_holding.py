"""New objects that admission gives the engine's finalizer, and when it leaves a write as it is."""

import asyncio

import pytest

from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, FEDERATE_ANNOTATION, FINALIZER
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.access import Author, author_of
from hanse.clusters.access_admission import install
from hanse.kube.client import Client
from hanse.kube.manifest import finalizers_of
from hanse.kube.resources import CONFIGMAPS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.native.holding import held_at_birth, held_by_default
from hanse.native.kinds import DEFAULT_KINDS, is_federated

MASTERS = ("system:masters",)
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}


def new(resource, name="mine", namespace="default", **metadata):
    placed = {"namespace": namespace} if resource.namespaced else {}
    spec = {"spec": {"ports": [{"port": 80}]}} if resource == SERVICES else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **placed, **metadata},
        **spec,
    }


@pytest.fixture
async def server():
    opened = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=SeededRuntime(0))
    yield opened
    await opened.close()


def client(server, user="anna"):
    return Client(server.connect(Identity(user, MASTERS)), SeededRuntime(0), manager="kubectl")


@pytest.mark.parametrize(
    ("resource", "obj", "held"),
    [
        (CONFIGMAPS, new(CONFIGMAPS), True),
        (CONFIGMAPS, new(CONFIGMAPS, annotations={"team": "red"}), True),
        (CONFIGMAPS, new(CONFIGMAPS, annotations={FEDERATE_ANNOTATION: "true"}), True),
        (CONFIGMAPS, new(CONFIGMAPS, annotations={FEDERATE_ANNOTATION: "false"}), False),
        (CONFIGMAPS, new(CONFIGMAPS, namespace="kube-system"), False),
        (CONFIGMAPS, new(CONFIGMAPS, namespace="hanse-system"), False),
        (CONFIGMAPS, new(CONFIGMAPS, ownerReferences=[OWNER]), False),
        (SERVICES, new(SERVICES), True),
        (SECRETS, new(SECRETS), False),
        (SERVICE_ACCOUNTS, new(SERVICE_ACCOUNTS), False),
        (NAMESPACES, new(NAMESPACES), False),
    ],
)
async def test_a_new_object_is_held_only_where_the_engine_surely_takes_it_up(server, resource, obj, held):
    hanse, anna = client(server, "hanse"), client(server)
    namespace = obj["metadata"].get("namespace", "default")
    if await hanse.find(NAMESPACES, namespace) is None:
        await hanse.create(NAMESPACES, new(NAMESPACES, name=namespace))
    await install(hanse, DEFAULT_KINDS, held_at_birth(held_by_default()))

    made = await anna.create(resource, obj)

    assert (FINALIZER in finalizers_of(made)) == held
    assert not held or is_federated(made)
    assert author_of(made) == Author("anna", (*MASTERS, "system:authenticated"))


@pytest.mark.looptime
async def test_what_kubernetes_itself_puts_into_a_namespace_is_not_held(server):
    hanse = client(server, "hanse")
    await install(hanse, DEFAULT_KINDS, held_at_birth(held_by_default()))

    await client(server).create(NAMESPACES, new(NAMESPACES, name="later"))
    await asyncio.sleep(30)

    found = await hanse.get(CONFIGMAPS, "kube-root-ca.crt", "later")
    assert finalizers_of(found) == []


async def test_a_kind_that_is_disabled_is_held_no_longer(server):
    await install(client(server, "hanse"), DEFAULT_KINDS, held_at_birth(held_by_default([CONFIGMAPS])))

    assert finalizers_of(await client(server).create(CONFIGMAPS, new(CONFIGMAPS))) == []


async def test_other_finalizers_stay_and_ours_is_there_once(server):
    await install(client(server, "hanse"), DEFAULT_KINDS, held_at_birth(held_by_default()))
    anna = client(server)

    others = await anna.create(CONFIGMAPS, new(CONFIGMAPS, name="a", finalizers=["example.com/x"]))
    both = await anna.create(CONFIGMAPS, new(CONFIGMAPS, name="b", finalizers=[FINALIZER, "example.com/x"]))

    assert finalizers_of(others) == ["example.com/x", FINALIZER]
    assert finalizers_of(both) == [FINALIZER, "example.com/x"]


async def test_what_was_let_go_is_not_held_again_by_a_later_write(server):
    await install(client(server, "hanse"), DEFAULT_KINDS, held_at_birth(held_by_default()))
    anna = client(server)
    await anna.create(CONFIGMAPS, new(CONFIGMAPS))

    freed = await client(server, "hanse").patch(CONFIGMAPS, "mine", {"metadata": {"finalizers": None}}, "default")
    changed = await anna.patch(CONFIGMAPS, "mine", {"data": {"a": "b"}}, "default")

    assert [finalizers_of(freed), finalizers_of(changed)] == [[], []]


async def test_half_a_forged_stamp_is_replaced_whole_on_an_object_without_annotations(server):
    await install(client(server, "hanse"), DEFAULT_KINDS, held_at_birth(held_by_default()))
    anna = client(server)
    await anna.create(CONFIGMAPS, new(CONFIGMAPS))

    bare = await anna.patch(CONFIGMAPS, "mine", {"metadata": {"annotations": None}}, "default")
    forged = {"metadata": {"annotations": {AUTHOR_GROUPS_ANNOTATION: "nobody"}}}
    kept = await anna.patch(CONFIGMAPS, "mine", forged, "default")
    by_hanse = await client(server, "hanse").patch(
        CONFIGMAPS, "mine", {"metadata": {"annotations": {AUTHOR_ANNOTATION: "root"}}}, "default"
    )

    expected = Author("anna", (*MASTERS, "system:authenticated"))
    assert [author_of(each) for each in (bare, kept, by_hanse)] == [expected] * 3
