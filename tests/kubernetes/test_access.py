"""Authors and the verb `use` on a real API server."""

import asyncio
from dataclasses import replace

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.preferences import PREFERENCES
from hanse.api.names import AUTHOR_ANNOTATION, AUTHOR_GROUPS_ANNOTATION, FINALIZER
from hanse.cli.authorship import stamp_authors
from hanse.cli.control_plane import prepare_host, serve_federated_types
from hanse.clusters.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Access, Author, author_of
from hanse.clusters.access_admission import POLICY_NAME
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.auth.endpoint import Impersonation
from hanse.kube.errors import ServerError
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import finalizers_of
from hanse.kube.resources import CONFIGMAPS
from tests.kubernetes.follower import closing
from tests.unit.federated.cases import federated, preference

pytestmark = pytest.mark.kubernetes

CLUSTERS = ("east", "west")
FEDERATED_CONFIGS = template_resource(FORM_D, CONFIGMAPS)
RULES = {
    "writes": {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
    "writes-types": {"apiGroups": [FORM_D.group, PREFERENCES[0].group], "resources": ["*"], "verbs": ["*"]},
    "uses-east": {
        "apiGroups": ["clusterregistry.k8s.io"],
        "resources": ["clusters"],
        "verbs": ["use"],
        "resourceNames": ["east"],
    },
    "uses-all": {"apiGroups": ["clusterregistry.k8s.io"], "resources": ["clusters"], "verbs": ["use"]},
}
SUBJECTS = {
    "writes": [("Group", "system:authenticated")],
    "writes-types": [("User", "anna")],
    "uses-east": [("User", "anna")],
    "uses-all": [("Group", "operators")],
}
FORGED = {AUTHOR_ANNOTATION: "root", AUTHOR_GROUPS_ANNOTATION: "system:masters"}


def config(name):
    metadata = {"name": name, "namespace": "default", "annotations": FORGED}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def grant(client):
    for name, rule in RULES.items():
        about = {"metadata": {"name": f"access-{name}"}}
        role = {"apiVersion": CLUSTER_ROLES.api_version, "kind": "ClusterRole", **about, "rules": [rule]}
        await client.apply(CLUSTER_ROLES, role)
        subjects = [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject} for kind, subject in SUBJECTS[name]
        ]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"access-{name}"}
        binding = {"apiVersion": CLUSTER_ROLE_BINDINGS.api_version, "kind": "ClusterRoleBinding", **about}
        await client.apply(CLUSTER_ROLE_BINDINGS, {**binding, "roleRef": reference, "subjects": subjects})


async def test_a_real_api_server_stamps_authors_and_judges_their_use_of_clusters(host):
    runtime, endpoint = SystemRuntime(), Kubeconfig.load(host.kubeconfig).endpoint()

    def as_user(user, *groups):
        impersonated = replace(endpoint, impersonation=Impersonation(user, groups=groups))
        return closing(Client(HttpTransport(impersonated), runtime))

    async with closing(Client(HttpTransport(endpoint), runtime)) as client:
        await prepare_host(client)
        await serve_federated_types(client, (FORM_D,))
        assert await stamp_authors(client)
        await grant(client)
        async with as_user("anna") as anna, as_user("otto", "operators") as otto, as_user("dora") as dora:
            await until_stamped(anna, runtime)
            made = {
                "anna": await anna.create(CONFIGMAPS, config("of-anna")),
                "otto": await otto.create(CONFIGMAPS, config("of-otto")),
                "dora": await dora.create(CONFIGMAPS, config("of-dora")),
            }
            access = Access(client)
            refused = {name: sorted(await access.refusals(obj, CLUSTERS)) for name, obj in made.items()}

            assert author_of(made["otto"]) == Author("otto", ("operators", "system:authenticated"))
            assert refused == {"anna": ["west"], "otto": [], "dora": ["east", "west"]}

            # Hanse's own writes keep the author, and another person's make them the author.
            held = {**made["anna"]["metadata"], "annotations": FORGED, "finalizers": ["hanse.dev/propagation"]}
            kept = await client.update(CONFIGMAPS, {**made["anna"], "metadata": held})
            assert author_of(kept) == Author("anna", ("system:authenticated",))
            taken = await dora.patch(
                CONFIGMAPS, "of-anna", {"data": {"a": "b"}, "metadata": {"finalizers": None}}, "default"
            )
            assert author_of(taken) == Author("dora", ("system:authenticated",))
            # What is federated, and what says where that goes, is stamped in the same way.
            for resource, obj in (
                (FEDERATED_CONFIGS, federated("ConfigMap", template={})),
                (PREFERENCES[0], preference()),
            ):
                written = {**obj, "metadata": {"name": "of-anna", "namespace": "default", "annotations": FORGED}}
                stamped = await create_once_known(anna, runtime, resource, written)
                assert author_of(stamped) == Author("anna", ("system:authenticated",))
                assert finalizers_of(stamped) == ([FINALIZER] if resource == FEDERATED_CONFIGS else [])
                await anna.patch(resource, "of-anna", {"metadata": {"finalizers": None}}, "default")
                await anna.delete(resource, "of-anna", "default")
        # The server is shared with other tests.
        await uninstall(client)


async def create_once_known(client, runtime, resource, obj):
    """Create an object of a kind that is new to the server, whose admission hears of it a moment later than others."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await client.create(resource, obj)
            except ServerError as error:
                if "There can be a delay" not in str(error):
                    raise
                await runtime.sleep(0.2)


async def uninstall(client):
    for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
        resource = await client.discovery.resource("admissionregistration.k8s.io", "v1", kind)
        await client.delete(resource, POLICY_NAME)


async def until_stamped(client, runtime):
    """Wait until the server has taken up the policy, which it does a moment after it was written."""
    for attempt in range(600):
        made = await client.create(CONFIGMAPS, config(f"try-{attempt}"))
        if author_of(made) == Author("anna", ("system:authenticated",)):
            return
        await runtime.sleep(0.1)
    pytest.fail("the policy was not taken up within a minute")
