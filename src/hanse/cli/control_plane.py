"""The control plane put together: registry, doors and engine on one host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from hanse.api.admiralty.nodes import is_virtual
from hanse.api.cluster_forms import FORM_CRDS
from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.dns_zones import DNS_ZONE_CRD
from hanse.api.federated_kinds import FEDERATED_KIND_CRD
from hanse.api.federation import FEDERATION_CRD
from hanse.api.global_ingresses import GLOBAL_INGRESS_CRD
from hanse.api.health_reports import HEALTH_REPORT_CRD
from hanse.api.held_changes import HELD_CHANGE_CRD
from hanse.api.kubefed.forms import FORMS, Form
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.names import HOST_ANNOTATION, SYSTEM_NAMESPACE
from hanse.api.pieces import PIECE_CRD
from hanse.api.placed_children import PLACED_CHILD_CRD
from hanse.api.policies import CLUSTER_PLACEMENT_POLICY_CRD, PLACEMENT_POLICY_CRD
from hanse.api.service_addresses import SERVICE_ADDRESSES_CRD
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APPLICATIONS, GLOBAL_BLOCKS_NAMESPACE
from hanse.api.shipper.kinds import SYSTEM_NAMESPACE as SHIPPER_NAMESPACE
from hanse.api.works import AGENT_CRD, WORK_CRD
from hanse.cli.authorship import Authorship
from hanse.cli.composite_parts import NO_KINDS, CompositeParts, obstacle
from hanse.cli.pod_parts import PodParts
from hanse.cli.rollout_parts import RolloutParts
from hanse.cli.service_parts import ServiceParts, Surroundings
from hanse.cli.vitess_parts import VitessMeans, VitessParts
from hanse.clusters.access import Access
from hanse.clusters.addresses import own_address
from hanse.clusters.health import HealthTerms
from hanse.clusters.mirroring import Mirror
from hanse.clusters.profiles import Profiles
from hanse.clusters.registry import Registry
from hanse.composite.door import CompositeDoor
from hanse.composite.hosting.measuring import HookMetrics
from hanse.federated import FederatedDoor, TypeKeeper
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import AlreadyExists, ApiError
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced, Leadership, LeaseTerms
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, annotations_of, dig, name_of
from hanse.kube.resources import CRDS, NAMESPACES, NODES
from hanse.kube.transport import Transport, Unreachable
from hanse.native import GuestDoor, KindKeeper, NativeDoor
from hanse.propagation.door import Door
from hanse.propagation.engine import Engine
from hanse.propagation.teaching import Teaching
from hanse.rollouts.blocks import install_block_admission
from hanse.rollouts.door import RolloutDoor
from hanse.rollouts.sources import Sources
from hanse.services.health.prober import NetworkProber
from hanse.services.hostnames import Resolve
from hanse.vitess.federated.door import VitessDoor
from hanse.vitess.federated.first_door import FirstVitessDoor

log = Log("hanse")

HOST_CRDS: tuple[Obj, ...] = (
    CLUSTER_CRD,
    PLACEMENT_POLICY_CRD,
    CLUSTER_PLACEMENT_POLICY_CRD,
    FEDERATED_KIND_CRD,
    HELD_CHANGE_CRD,
    WORK_CRD,
    AGENT_CRD,
    FEDERATION_CRD,
    SERVICE_ADDRESSES_CRD,
    GLOBAL_INGRESS_CRD,
    HEALTH_REPORT_CRD,
    DNS_ZONE_CRD,
)
# Short enough that a crashed controller is replaced before users of the federation notice, long enough that a host
# that is busy with a thousand changes at once does not depose the one that makes them.
TERMS = LeaseTerms(duration_seconds=12.0, renew_deadline_seconds=9.0, retry_seconds=1.0)
_LEASE = Key(SYSTEM_NAMESPACE, "hanse-controller")
_ESTABLISHED_SECONDS = 30.0
_AGAIN_SECONDS = 1.0


def to_member(endpoint: Endpoint) -> Transport:
    """Connect to a member over the network."""
    return HttpTransport(endpoint, user_agent="hanse-controller")


async def prepare_host(host: Client) -> None:
    """Give a host what Hanse keeps there: its namespace and its kinds, served before this returns."""
    try:
        await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    except AlreadyExists:
        pass
    for crd in HOST_CRDS:
        await host.apply(CRDS, crd)
    await _serve(host, FORM_CRDS)
    await _established(host, [*HOST_CRDS, *FORM_CRDS])


async def serve_federated_types(host: Client, forms: tuple[Form, ...] = FORMS) -> None:
    """Have a host serve KubeFed's kinds in all their forms, before this returns."""
    definitions = kubefed_definitions(forms=forms)
    await _serve(host, definitions)
    await _established(host, definitions)


async def serve_applications(host: Client) -> None:
    """Have a host serve Shipper's kinds and what their releases are made of, before this returns."""
    await host.apply(CRDS, PIECE_CRD)
    await _serve(host, SHIPPER_CRDS)
    await _established(host, [PIECE_CRD, *SHIPPER_CRDS])
    for name in (GLOBAL_BLOCKS_NAMESPACE, SHIPPER_NAMESPACE):
        try:
            await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except AlreadyExists:
            continue
    await install_block_admission(host)


async def serve_composites(host: Client) -> None:
    """Have a host serve the kinds of lambda controllers, before this returns; where Metacontroller has its own, not."""
    await host.apply(CRDS, PLACED_CHILD_CRD)
    own = METACONTROLLER_CRDS if await obstacle(host) in ("", NO_KINDS) else ()
    for crd in own:
        await host.apply(CRDS, crd)
    await _established(host, [PLACED_CHILD_CRD, *own])


async def looks_after_applications(host: Client) -> bool:
    """Tell whether a host's applications are Hanse's to look after, and not those of a Shipper that was there before.

    Shipper's own definitions have no status subresource for them; `hanse migrate shipper` replaces these.
    """
    found = await host.find(CRDS, APPLICATIONS.group_resource)
    ours = any("status" in (each.get("subresources") or {}) for each in dig(found, "spec", "versions", default=()))
    if not ours:
        log.warning("Applications are left to Shipper; `hanse migrate shipper` takes them over", host=host.address)
    return ours


async def served_forms(host: Client) -> tuple[Form, ...]:
    """Return the forms of which a host serves the federated kinds, asked until it answers."""
    while True:
        try:
            groups = {dig(crd, "spec", "group") for crd in (await host.list(CRDS)).items}
        except (ApiError, Unreachable):
            await host.runtime.sleep(_AGAIN_SECONDS)
        else:
            return tuple(form for form in FORMS if form.group in groups)


async def _serve(host: Client, definitions: Iterable[Obj]) -> None:
    """Create definitions of other systems' kinds; where such a system installed its own, its word on them counts."""
    known = {name_of(crd) for crd in (await host.list(CRDS)).items}
    for crd in definitions:
        try:
            if name_of(crd) not in known:
                await host.create(CRDS, crd)
        except AlreadyExists:
            continue


async def _established(host: Client, definitions: Iterable[Obj]) -> None:
    waiting = {name_of(crd) for crd in definitions}
    async with asyncio.timeout(_ESTABLISHED_SECONDS):
        while waiting:
            for crd in (await host.list(CRDS)).items:
                if is_true(dig(crd, "status", "conditions"), "Established"):
                    waiting.discard(name_of(crd))
            if waiting:
                await host.runtime.sleep(0.1)


async def federates_plain_objects(host: Client) -> bool:
    """Tell whether a host's plain objects are the federation's; those of a cluster with work of its own are not.

    The annotation of Hanse's own namespace says it; where nobody wrote it, nodes tell that the host runs something.
    Those that stand for other clusters tell nothing.
    """
    said = annotations_of(await host.get(NAMESPACES, SYSTEM_NAMESPACE)).get(HOST_ANNOTATION)
    if said:
        return said == "dedicated"
    return all(is_virtual(node) for node in (await host.list(NODES)).items)


async def campaign(
    host: Client,
    identity: str,
    terms: LeaseTerms = TERMS,
    *,
    connect: Callable[[Endpoint], Transport] = to_member,
    teachings: Sequence[Teaching] = (),
    plain_objects: bool = True,
    resolve: Resolve | None = None,
    sources: Sources | None = None,
    pods: bool = True,
    kubelet_host: str = "",
    composites: str | None = "",
    metrics: HookMetrics | None = None,
    vitess: bool = True,
    vitess_means: VitessMeans | None = None,
) -> None:
    """Wait for the Lease and federate until it is lost; `teachings` are what is known of kinds in Python.

    Without `plain_objects` those of the host are its own, but for what labelled namespaces hold. `resolve` finds the
    addresses of load balancers that have names; without it this machine does. `sources` make manifests of
    applications, which are not looked after without them. Without `pods` those of no cluster run elsewhere.
    `composites` selects the lambda controllers that are run by their labels, "" all of them; None runs none. Calls of
    their hooks are counted in `metrics`. Without `vitess` VitessClusters are nobody's; `vitess_means` reach what they
    consist of otherwise than by addresses.
    No write leaves this process, to the host or to a member, once it may have been replaced.
    """
    leadership = Leadership(host, _LEASE, identity, terms)

    async def lead() -> None:
        log.info("Leading the federation", host=host.address, identity=identity)
        fenced = Client(Fenced(host.transport, leadership), host.runtime)
        await run_control_plane(
            fenced,
            connect=lambda endpoint: Fenced(connect(endpoint), leadership),
            teachings=teachings,
            federated_types=True,
            plain_objects=plain_objects,
            surroundings=Surroundings(NetworkProber(), resolve, lambda: leadership.holds),
            sources=sources,
            pods=pods,
            kubelet_host=kubelet_host,
            composites=composites,
            metrics=metrics,
            vitess=vitess,
            vitess_means=vitess_means,
        )

    log.info("Waiting for leadership", host=host.address, identity=identity)
    await leadership.lead(lead)
    log.warning("Lost leadership", host=host.address, identity=identity)


async def run_control_plane(
    host: Client,
    *,
    connect: Callable[[Endpoint], Transport] = to_member,
    health: HealthTerms | None = None,
    teachings: Sequence[Teaching] = (),
    federated_types: bool = False,
    plain_objects: bool = True,
    surroundings: Surroundings | None = None,
    sources: Sources | None = None,
    pods: bool = False,
    kubelet_host: str = "",
    composites: str | None = None,
    metrics: HookMetrics | None = None,
    vitess: bool = False,
    vitess_means: VitessMeans | None = None,
) -> None:
    """Federate until cancelled; the host must be prepared, and serve federated types where they are asked for.

    Without `surroundings` nobody probes the addresses of services. With `sources` the host serves applications, too,
    and with `pods` those of clusters whose door is open run elsewhere; `kubelet_host` is where the API servers of these
    reach this process for the logs of such pods. `composites` selects the lambda controllers that are run, by labels;
    calls of their hooks are counted in `metrics`. With `vitess` VitessClusters are split over members, and run in those
    whose door is open.
    """
    registry = Registry(host, connect, health, client_address=own_address())
    access = Access(host)
    doors: list[Door] = [(NativeDoor if plain_objects else GuestDoor)(teachings=teachings)]
    if federated_types:
        forms = await served_forms(host)
        doors.insert(0, FederatedDoor(forms=forms))
    if sources is not None and not await looks_after_applications(host):
        sources = None
    if sources is not None:
        doors.append(RolloutDoor())
    if composites is not None:
        doors.append(CompositeDoor())
    if vitess:
        doors += [VitessDoor(), FirstVitessDoor()]
    engine = Engine(host, registry, doors, access)
    services = ServiceParts(host, registry, engine.view, surroundings or Surroundings())
    pod_parts = PodParts(host, registry, access, connect, kubelet_host) if pods else None
    composite_parts = None
    if composites is not None:
        composite_parts = CompositeParts(host, registry, engine.view, composites, metrics)
    vitess_parts = VitessParts(host, registry, engine.view, vitess_means) if vitess else None
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(registry.run())
        tasks.create_task(Mirror(host, registry.cache).run())
        tasks.create_task(Profiles(host, registry.cache).run())
        tasks.create_task(access.run())
        tasks.create_task(engine.run())
        tasks.create_task(services.run())
        if sources is not None:
            tasks.create_task(RolloutParts(host, registry, engine.view, access, sources).run())
        if pod_parts is not None:
            tasks.create_task(pod_parts.run())
        if composite_parts is not None:
            tasks.create_task(composite_parts.run())
        if vitess_parts is not None:
            tasks.create_task(vitess_parts.run())
        tasks.create_task(KindKeeper(host).run())
        authorship = Authorship(
            host, federated_types=federated_types, plain_objects=plain_objects, composites=composites is not None
        )
        tasks.create_task(authorship.run())
        if federated_types:
            tasks.create_task(TypeKeeper(host, forms).run())
