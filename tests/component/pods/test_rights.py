"""In which targets a pod's author may have it run: asked of an embedded host's own RBAC."""

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Access
from hanse.clusters.access_admission import install
from hanse.kube.client import Client
from hanse.kube.resources import CRDS, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.pods.rights import PodAccess

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class Targets:
    """What a roster tells of targets: two are registered clusters, one is reached by credentials of its own."""

    def __init__(self, source):
        self.source = source

    def registered(self, name):
        return {"eu": "east", "x/us": "west"}.get(name, "")


EVERY = ("eu", "x/us", "x/private", "x/self")
OF_HOME = "pods.hanse.dev:home"


def placeholder(user=None, *groups):
    annotations = {} if user is None else {AUTHOR_ANNOTATION: user, AUTHOR_GROUPS_ANNOTATION: "\n".join(groups)}
    return {"kind": "Pod", "metadata": {"name": "web", "namespace": "x", "annotations": annotations}}


async def let(host, subject, kind, *clusters):
    rule = {"apiGroups": ["clusterregistry.k8s.io"], "resources": ["clusters"], "verbs": ["use"]}
    name = f"used-by-{subject.rpartition(':')[2]}"
    role = {"metadata": {"name": name}, "rules": [{**rule, "resourceNames": list(clusters)}]}
    await host.create(CLUSTER_ROLES, {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", **role})
    bound = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": CLUSTER_ROLES.group, "kind": kind, "name": subject}],
    }
    binding = {"apiVersion": CLUSTER_ROLE_BINDINGS.api_version, "kind": "ClusterRoleBinding", **bound}
    await host.create(CLUSTER_ROLE_BINDINGS, binding)


async def asked(*objects, source="home", installed=True):
    """Return for each object the targets that are refused to its author, with why."""
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=SeededRuntime(0))
    host = Client(server.connect(Identity("hanse", ("system:masters",))), SeededRuntime(0))
    await host.create(CRDS, CLUSTER_CRD)
    if installed:
        await install(host, [PODS])
    await let(host, f"{OF_HOME}:ann", "User", "east")
    await let(host, f"{OF_HOME}:ops", "Group", "east", "west")
    await let(host, "carl", "User", "east")
    try:
        access = PodAccess(Access(host), Targets(source))
        return [await access.refusals(obj, EVERY) for obj in objects]
    finally:
        await server.close()


async def test_each_author_is_asked_about_for_registered_clusters_alone():
    ann, bob = placeholder(f"{OF_HOME}:ann", OF_HOME), placeholder(f"{OF_HOME}:bob", OF_HOME, f"{OF_HOME}:ops")

    assert await asked(ann, bob) == [{"x/us": f"{OF_HOME}:ann may not use cluster west"}, {}]


FORGED = [
    ("nobody said who", placeholder(), "does not say who made it"),
    ("a user of the host", placeholder("admin"), "'admin' is nobody of home"),
    ("a user of another source", placeholder("pods.hanse.dev:other:ann"), "nobody of home"),
    ("a source of which ours is a beginning", placeholder("pods.hanse.dev:homestead:ann"), "nobody of home"),
    ("the masters of the host", placeholder(f"{OF_HOME}:ann", "system:masters"), "nobody of home"),
    ("one good group and one of the host", placeholder(f"{OF_HOME}:ann", OF_HOME, "ops"), "nobody of home"),
    ("no name", placeholder(f"{OF_HOME}:"), "nobody of home"),
]


async def test_an_author_who_is_nobody_of_the_source_is_refused_whatever_they_claim():
    refused = await asked(*(forged for _, forged, _ in FORGED))

    for (case, _, why), sentences in zip(FORGED, refused, strict=True):
        assert set(sentences) == {"eu", "x/us"}, case
        assert all(why in sentence and AUTHOR_ANNOTATION in sentence for sentence in sentences.values()), case


async def test_where_authors_are_not_stamped_nothing_is_refused():
    assert await asked(placeholder(), installed=False) == [{}]


async def test_users_of_the_federation_itself_are_known_by_their_own_names():
    (refused,) = await asked(placeholder("carl"), source="")

    assert set(refused) == {"x/us"}


async def test_what_goes_with_pods_goes_where_the_authors_of_those_may_have_them_run():
    settings = {"kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "x"}}
    service = {"kind": "Service", "metadata": {"name": "web", "namespace": "x"}}
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=SeededRuntime(0))
    host = Client(server.connect(Identity("hanse", ("system:masters",))), SeededRuntime(0))
    await host.create(CRDS, CLUSTER_CRD)
    await install(host, [PODS])
    await let(host, f"{OF_HOME}:ann", "User", "east")
    access = PodAccess(Access(host), Targets("home"))
    try:
        assert await access.refusals(settings, EVERY) == {}
        assert set(await access.refusals(service, EVERY, [placeholder(f"{OF_HOME}:ann", OF_HOME)])) == {"x/us"}
        assert set(await access.refusals(service, EVERY, [placeholder()])) == {"eu", "x/us"}
    finally:
        await server.close()
