"""Who may use which cluster: authors stamped by admission, and the verb `use` asked for them."""

import asyncio
import itertools

import pytest

from hanse.api.federated_kinds import FEDERATED_KINDS, federated_kind_manifest
from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.kubefed.preferences import PREFERENCES
from hanse.api.kubefed.type_configs import TYPE_CONFIGS, type_config_manifest
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, FINALIZER
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.authorship import Authorship, stamp_authors
from hanse.cli.control_plane import prepare_host
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Access, Author, author_of
from hanse.clusters.access_admission import install, policy_manifest
from hanse.kube.client import Client
from hanse.kube.manifest import annotations_of, finalizers_of
from hanse.kube.resources import CONFIGMAPS, CRDS, NAMESPACES
from hanse.kube.runtime import SeededRuntime
from hanse.native.guest import FEDERATE_LABEL
from tests.unit.federated.cases import federated, preference

HANSE = Identity("hanse", ("system:masters",))
CLUSTERS = ("east", "west")


def role(name, *, clusters=(), rules=None):
    rule = {"apiGroups": ["clusterregistry.k8s.io"], "resources": ["clusters"], "verbs": ["use"]}
    if clusters:
        rule["resourceNames"] = list(clusters)
    return {"metadata": {"name": name}, "rules": rules or [rule]}


def binding(name, kind, subject):
    return {
        "metadata": {"name": f"{name}-{subject}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}],
    }


WRITERS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
EVERYTHING_ELSE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "create", "patch"]}


class Host:
    def __init__(self, server, runtime):
        self.server = server
        self.runtime = runtime
        self.hanse = self.as_user("hanse", "system:masters")

    def as_user(self, user, *groups):
        return Client(self.server.connect(Identity(user, groups)), self.runtime, manager="kubectl")

    async def let(self, name, kind, subject, *, clusters=(), rules=None):
        await self.hanse.apply(CLUSTER_ROLES, named(CLUSTER_ROLES, role(name, clusters=clusters, rules=rules)))
        await self.hanse.apply(CLUSTER_ROLE_BINDINGS, named(CLUSTER_ROLE_BINDINGS, binding(name, kind, subject)))


def named(resource, obj):
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def config(name="c", **annotations):
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


@pytest.fixture
async def host():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    opened = Host(server, runtime)
    assert await install(opened.hanse, [CONFIGMAPS])
    await opened.let("writers", "Group", "system:authenticated", rules=[WRITERS])
    yield opened
    await server.close()


async def test_the_author_is_whoever_wrote_last_whatever_they_claim(host):
    forged = {AUTHOR_ANNOTATION: "root", AUTHOR_GROUPS_ANNOTATION: "system:masters"}

    made = await host.as_user("anna", "dev").create(CONFIGMAPS, config(**forged))
    changed = await host.as_user("bob").update(CONFIGMAPS, {**made, "data": {"a": "2"}})
    patched = await host.as_user("carl").patch(CONFIGMAPS, "c", {"metadata": {"annotations": forged}}, "default")

    assert author_of(made) == Author("anna", ("dev", "system:authenticated"))
    assert author_of(changed) == Author("bob", ("system:authenticated",))
    assert author_of(patched) == Author("carl", ("system:authenticated",))


async def test_what_hanse_and_the_hosts_own_controllers_write_keeps_the_author(host):
    made = await host.as_user("anna").create(CONFIGMAPS, config())

    for user in ("hanse", "system:kube-controller-manager", "system:serviceaccount:kube-system:garbage-collector"):
        writer = host.as_user(user, "system:masters")
        taken = {**made["metadata"], "annotations": {AUTHOR_ANNOTATION: user}, "finalizers": [f"x/{len(user)}"]}
        made = await writer.update(CONFIGMAPS, {**made, "metadata": taken})

        assert author_of(made) == Author("anna", ("system:authenticated",))


async def test_an_object_from_before_authors_were_stamped_is_limited_by_nobody(host):
    bare = config()

    assert author_of(bare) is None
    assert await Access(host.hanse).refusals(bare, CLUSTERS) == {}


@pytest.mark.parametrize(
    ("user", "groups", "refused"),
    [
        ("anna", (), ["west"]),
        ("bob", (), []),
        ("carl", ("dev",), ["east"]),
        ("anna", ("dev",), []),
        ("dora", (), ["east", "west"]),
        ("root", ("system:masters",), []),
    ],
)
async def test_the_verb_use_decides_for_every_user_and_cluster(host, user, groups, refused):
    await host.let("east-users", "User", "anna", clusters=["east"])
    await host.let("west-users", "Group", "dev", clusters=["west"])
    await host.let("all-users", "User", "bob")
    made = await host.as_user(user, *groups).create(CONFIGMAPS, config())

    told = await Access(host.hanse).refusals(made, CLUSTERS)

    assert told == {cluster: f"{user} may not use cluster {cluster}" for cluster in refused}


async def test_answers_are_remembered_until_a_role_or_binding_changes(host):
    access, changed = Access(host.hanse), asyncio.Event()
    access.subscribe(changed.set)
    made = await host.as_user("anna").create(CONFIGMAPS, config())
    running = asyncio.create_task(access.run())

    assert list(await access.refusals(made, CLUSTERS)) == ["east", "west"]
    await host.let("east-users", "User", "anna", clusters=["east"])
    async with asyncio.timeout(60):
        while list(await access.refusals(made, CLUSTERS)) != ["west"]:
            await changed.wait()
            changed.clear()

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_where_authors_are_not_stamped_nobody_is_refused():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Host(server, runtime)

    claimed = await host.hanse.create(CONFIGMAPS, config(**{AUTHOR_ANNOTATION: "dora"}))

    assert annotations_of(claimed)[AUTHOR_ANNOTATION] == "dora"
    assert await Access(host.hanse).refusals(claimed, CLUSTERS) == {}
    await server.close()


def test_a_strange_name_of_hanse_itself_stays_a_string_in_the_policy():
    spec = policy_manifest("admissionregistration.k8s.io/v1", [CONFIGMAPS], "o'neil\\x")["spec"]

    assert "username == 'o\\'neil\\\\x'" in spec["variables"][0]["expression"]


async def test_authors_are_stamped_on_a_kind_once_it_is_enabled():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Host(server, runtime)
    await prepare_host(host.hanse)
    assert await stamp_authors(host.hanse)
    running = asyncio.create_task(Authorship(host.hanse).run())
    roles = {**named(CLUSTER_ROLES, role("x")), "metadata": {"name": "before"}}
    assert author_of(await host.hanse.create(CLUSTER_ROLES, roles)) is None

    await host.hanse.create(FEDERATED_KINDS, federated_kind_manifest(CLUSTER_ROLES))
    stamped = None
    async with asyncio.timeout(60):
        for attempt in itertools.count():
            made = {**roles, "metadata": {"name": f"after-{attempt}"}}
            stamped = author_of(await host.hanse.create(CLUSTER_ROLES, made))
            if stamped is not None:
                break
            await runtime.sleep(0.01)

    assert stamped == Author("hanse", ("system:masters", "system:authenticated"))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await server.close()


class Held:
    """A transport that keeps back the answer to a review about the cluster east until it is let go."""

    def __init__(self, inner):
        self.inner = inner
        self.address = inner.address
        self.answered, self.let_go = asyncio.Event(), asyncio.Event()

    async def send(self, request, timeout):
        answer = await self.inner.send(request, timeout)
        if "subjectaccessreviews" in request.path and b'"name":"east"' in request.body:
            self.answered.set()
            await self.let_go.wait()
        return answer

    async def stream(self, request, timeout):
        return await self.inner.stream(request, timeout)

    async def close(self):
        await self.inner.close()


async def test_an_answer_that_was_overtaken_by_a_change_of_rights_is_not_remembered(host):
    held = Held(host.server.connect(HANSE))
    access, changed = Access(Client(held, host.runtime)), asyncio.Event()
    access.subscribe(changed.set)
    made = await host.as_user("anna").create(CONFIGMAPS, config())
    running = asyncio.create_task(access.run())

    async with asyncio.timeout(60):
        overtaken = asyncio.create_task(access.refusals(made, CLUSTERS))
        await held.answered.wait()
        await host.let("both", "User", "anna", clusters=CLUSTERS)
        await changed.wait()
        held.let_go.set()
        await overtaken
        # Only news of a change may mend it: whoever remembers what was overtaken waits here in vain.
        while await access.refusals(made, CLUSTERS):
            await changed.wait()
            changed.clear()

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_host_that_does_not_let_hanse_install_the_policy_is_one_where_nobody_is_limited():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Host(server, runtime)
    await prepare_host(host.hanse)
    reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    await host.let("readers", "User", "little", rules=[reading])
    little = host.as_user("little")

    assert not await stamp_authors(little)
    assert not await Access(little).enforced()
    await server.close()


@pytest.fixture
async def types_host():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    opened = Host(server, runtime)
    await prepare_host(opened.hanse)
    served = {"FederatedConfigMap", "FederatedNamespace", "ReplicaSchedulingPreference", "FederatedTypeConfig"}
    for definition in kubefed_definitions(forms=(FORM_D,)):
        if definition["spec"]["names"]["kind"] in served:
            await opened.hanse.create(CRDS, definition)
    yield opened
    await server.close()


FEDERATED_CONFIGS = template_resource(FORM_D, CONFIGMAPS)
FEDERATED_NAMESPACES = template_resource(FORM_D, NAMESPACES)


def bare(obj):
    return {**obj, "metadata": {"name": obj["metadata"]["name"], "namespace": "default"}}


@pytest.mark.parametrize("plain_objects", [True, False])
async def test_authors_are_stamped_on_federated_objects_and_on_what_speaks_of_them(types_host, plain_objects):
    assert await stamp_authors(types_host.hanse, plain_objects=plain_objects)
    anna = types_host.as_user("anna", "system:masters")

    made = await anna.create(FEDERATED_CONFIGS, bare(federated("ConfigMap", template={})))
    spoken = await anna.create(PREFERENCES[0], bare(preference()))
    plain = await anna.create(CONFIGMAPS, config())

    assert author_of(made).user == author_of(spoken).user == "anna"
    assert (FINALIZER in finalizers_of(made), FINALIZER in finalizers_of(spoken)) == (True, False)
    # On a host with work of its own, its plain objects are left as they are.
    assert (author_of(plain) is not None, FINALIZER in finalizers_of(plain)) == (plain_objects, plain_objects)


async def test_on_a_cluster_with_work_of_its_own_what_is_in_the_federations_namespaces_is_stamped(types_host):
    labels = {"labels": {FEDERATE_LABEL: "true"}}
    await types_host.hanse.create(NAMESPACES, named(NAMESPACES, {"metadata": {"name": "shared", **labels}}))
    assert await stamp_authors(types_host.hanse, plain_objects=False)
    anna = types_host.as_user("anna", "system:masters")

    shared = {**config(), "metadata": {"name": "c", "namespace": "shared"}}
    made, own = await anna.create(CONFIGMAPS, shared), await anna.create(CONFIGMAPS, config())

    assert (author_of(made).user, finalizers_of(made)) == ("anna", [])
    assert author_of(own) is None


async def test_a_federated_namespace_is_stamped_and_left_to_the_engine_to_hold(types_host):
    assert await stamp_authors(types_host.hanse)

    made = await types_host.hanse.create(
        FEDERATED_NAMESPACES, bare(federated("Namespace", template={}, name="default"))
    )

    assert author_of(made).user == "hanse"
    assert FINALIZER not in finalizers_of(made)


async def test_a_type_that_does_not_propagate_is_stamped_and_not_held(types_host):
    # It was told of after the first stamping: whoever follows the types writes the policy anew.
    assert await stamp_authors(types_host.hanse)
    running = asyncio.create_task(Authorship(types_host.hanse, federated_types=True).run())
    config_of_type = type_config_manifest(CONFIGMAPS, FORM_D, "default")
    switched_off = {**config_of_type, "spec": {**config_of_type["spec"], "propagation": "Disabled"}}
    await types_host.hanse.create(TYPE_CONFIGS, switched_off)
    held, made = True, None
    async with asyncio.timeout(60):
        for attempt in itertools.count():
            named_anew = bare(federated("ConfigMap", template={}, name=f"c-{attempt}"))
            made = await types_host.hanse.create(FEDERATED_CONFIGS, named_anew)
            held = FINALIZER in finalizers_of(made)
            if not held:
                break
            await types_host.runtime.sleep(0.01)

    assert author_of(made) is not None
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_who_wrote_what_says_where_an_object_goes_is_named_with_it(host):
    await host.let("east", "User", "anna", clusters=["east", "west"])
    await host.let("bobs", "User", "bob", clusters=["east"])
    made = await host.as_user("anna").create(CONFIGMAPS, config())
    voice = await host.as_user("bob").create(CONFIGMAPS, config("voice"))

    access = Access(host.hanse)

    assert await access.refusals(made, CLUSTERS) == {}
    assert await access.refusals(made, CLUSTERS, [voice]) == {
        "west": "bob, who wrote ConfigMap default/voice, may not use cluster west"
    }


async def test_what_hanse_itself_makes_is_limited_by_nobody_whoever_asks(host):
    await host.let("install", "User", "hanse-account", rules=[EVERYTHING_ELSE])
    own = host.as_user("hanse-account")
    assert await install(own, [CONFIGMAPS])
    made = await own.create(CONFIGMAPS, config())
    assert author_of(made).user == "hanse-account"
    others = await host.as_user("anna").create(CONFIGMAPS, config("others"))

    for asking in (own, host.hanse):
        access = Access(asking)
        assert await access.refusals(made, CLUSTERS) == {}
        assert list(await access.refusals(made, CLUSTERS, [others])) == list(CLUSTERS)
