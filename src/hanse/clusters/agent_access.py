"""What the host has for a cluster that fetches its work: a namespace, and an account that can do nothing outside of it.

The account reads the cluster's Works and HealthReports and answers in their status; it cannot change what they ask for.
All of it belongs to the Cluster and goes with it.
"""

from __future__ import annotations

from hanse.api.clusters import CLUSTERS, MODE_ANNOTATION, PULL
from hanse.api.health_reports import HEALTH_REPORTS, checker_lease, cluster_checker
from hanse.api.works import AGENTS, WORKS, agent_manifest, agent_namespace
from hanse.clusters.account import MEMBER_LABEL, ROLE_BINDINGS, ROLES
from hanse.clusters.joining import NotJoined, owned_by_object, settled, write_cluster
from hanse.clusters.tokens import request_token
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.manifest import Key, Obj, labels_of, name_of
from hanse.kube.resources import LEASES, NAMESPACES, SERVICE_ACCOUNTS, Resource

# The service account of an agent, in the cluster's namespace on the host.
AGENT_ACCOUNT = "hanse-agent"
_READ = ["get", "list", "watch"]


def pull_cluster_manifest(name: str, labels: dict[str, str]) -> Obj:
    """Write the Cluster of a member that fetches its work: it has no address and no credentials."""
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": name, "labels": labels, "annotations": {MODE_ANNOTATION: PULL}},
        "spec": {},
    }


def agent_access_manifests(name: str) -> list[Obj]:
    """Return what the host needs beside the Cluster, the Namespace first."""
    namespace = agent_namespace(name)
    checks = checker_lease(cluster_checker(name), namespace)
    rules = [
        _rule(WORKS.group, [WORKS.plural], [*_READ, "create"]),
        _rule(AGENTS.group, [AGENTS.plural, HEALTH_REPORTS.plural], _READ),
        _rule(WORKS.group, [f"{each.plural}/status" for each in (WORKS, AGENTS, HEALTH_REPORTS)], ["patch"]),
        _rule(LEASES.group, [LEASES.plural], ["create"]),
        _rule(LEASES.group, [LEASES.plural], ["get", "update"], names=[name, checks.name]),
        _rule("", ["serviceaccounts/token"], ["create"], names=[AGENT_ACCOUNT]),
    ]
    role = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": AGENT_ACCOUNT}
    subject = {"kind": "ServiceAccount", "name": AGENT_ACCOUNT, "namespace": namespace}
    return [
        _made(NAMESPACES, namespace, labels={MEMBER_LABEL: name}),
        _made(SERVICE_ACCOUNTS, AGENT_ACCOUNT, namespace, automountServiceAccountToken=False),
        _made(ROLES, AGENT_ACCOUNT, namespace, rules=rules),
        _made(ROLE_BINDINGS, AGENT_ACCOUNT, namespace, roleRef=role, subjects=[subject]),
    ]


async def join_by_agent(host: Client, name: str, labels: dict[str, str]) -> bool:
    """Write what a cluster that fetches its work needs on the host; True if it is new. Raises NotJoined."""
    cluster, new = await write_cluster(host, pull_cluster_manifest(name, labels), relabel=True)
    namespace, *rest = agent_access_manifests(name)
    await _make_namespace(host, namespace, owned_by_object(cluster, CLUSTERS), name)
    for obj in rest:
        resource = {each.kind: each for each in (SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS)}[obj["kind"]]
        await host.apply(resource, obj)
    try:
        await host.create(AGENTS, agent_manifest(name))
    except AlreadyExists:
        pass
    return new


async def agent_token(host: Client, name: str, seconds: int) -> str:
    """Have the host issue a token for a cluster's agent."""
    return await request_token(host, Key(agent_namespace(name), AGENT_ACCOUNT), seconds)


async def _make_namespace(host: Client, namespace: Obj, owner: Obj, name: str) -> None:
    known = await settled(host, name_of(namespace))
    if known is not None and labels_of(known).get(MEMBER_LABEL) != name:
        raise NotJoined(f"namespace {name_of(known)} is there already and is not Hanse's; delete it, and join again")
    owned = {**namespace, "metadata": {**namespace["metadata"], "ownerReferences": [owner]}}
    await host.apply(NAMESPACES, owned)


def _made(resource: Resource, name: str, namespace: str = "", *, labels: Obj | None = None, **content: object) -> Obj:
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}


def _rule(group: str, resources: list[str], verbs: list[str], names: list[str] | None = None) -> Obj:
    rule: Obj = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return {**rule, "resourceNames": names} if names else rule
