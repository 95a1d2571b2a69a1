"""The door of pods in an embedded federation: open in every cluster, and in the federation itself.

Each API server asks an admission server of its own, which runs in this process and listens on loopback. Where it does
is written anew at every start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, TARGETS
from hanse.api.clusters import CLUSTERS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.elsewhere import has_door
from hanse.cli.embedded.servers import ADMINISTRATOR
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import NAMESPACES, Resource
from hanse.pods.admission.certificates import ServingCertificate, new_authority, new_certificate
from hanse.pods.admission.manifests import admission_manifests
from hanse.pods.admission.server import AdmissionServer
from hanse.pods.installing.opening import write_into
from hanse.pods.installing.rights import host_rights
from hanse.pods.installing.targets import target_manifests
from hanse.simulator.faults.gate import NODES_USER

LOOPBACK = "127.0.0.1"
_OWN = (ADMINISTRATOR.user,)
_NAMESPACE: Obj = {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": SYSTEM_NAMESPACE}}


async def run_pod_doors(host: Client, members: Mapping[str, Client], opened: asyncio.Event) -> None:
    """Admit pods of the federation and of all its clusters until cancelled; `opened` is set once everybody is asked."""
    certificate = _certificate(host)
    # What somebody has closed stays closed over a restart.
    open_ = [name for name in members if has_door(await host.get(CLUSTERS, name))]
    async with asyncio.TaskGroup() as tasks:
        await asyncio.gather(
            _open_federation(host, certificate, tasks),
            *(_open_member(name, members[name], list(members), certificate, tasks) for name in open_),
            *(_let_use(host, name, list(members)) for name in open_),
        )
        opened.set()


def _certificate(host: Client) -> ServingCertificate:
    return new_certificate(new_authority(host.runtime), [LOOPBACK], host.runtime)


async def _open_federation(host: Client, certificate: ServingCertificate, tasks: asyncio.TaskGroup) -> None:
    """Have elected pods of the federation itself run in its clusters."""
    await _admit(host, "", certificate, (CLUSTERS,), tasks)


async def _open_member(
    name: str, client: Client, clusters: Sequence[str], certificate: ServingCertificate, tasks: asyncio.TaskGroup
) -> None:
    """Have elected pods of a cluster run in every cluster, itself among them."""
    known = [name_of(target) for target in await _targets(client)]
    fresh = [cluster for cluster in clusters if cluster not in known]
    await write_into(client, [*ADMIRALTY_CRDS, _NAMESPACE, *target_manifests(name, fresh)])
    await _admit(client, name, certificate, (TARGETS, CLUSTER_TARGETS), tasks)


async def _let_use(host: Client, name: str, clusters: Sequence[str]) -> None:
    """Let everybody who may create pods in a cluster have them run in the others."""
    others = [cluster for cluster in clusters if cluster != name]
    await write_into(host, host_rights(name, others, await host.get(CLUSTERS, name)))


async def _targets(client: Client) -> list[Obj]:
    """Return the targets that a cluster has from before: what people made of them stays."""
    try:
        return (await client.list(CLUSTER_TARGETS)).items
    except NotFound:
        return []


async def _admit(
    client: Client,
    source: str,
    certificate: ServingCertificate,
    kinds: Sequence[Resource],
    tasks: asyncio.TaskGroup,
) -> None:
    server = AdmissionServer(client, source, certificate, LOOPBACK, targets=kinds, controllers=(NODES_USER,))
    tasks.create_task(server.run())
    await server.wait_serving()
    url = f"https://{LOOPBACK}:{server.port}"
    await write_into(client, admission_manifests(url, certificate.authority_pem, own=_OWN))
