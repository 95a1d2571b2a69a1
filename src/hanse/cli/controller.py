"""`hanse controller`: the control plane alone, against any host API server."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from hanse.api.cluster_forms import FORM_CRDS
from hanse.api.federation import (
    FEDERATIONS,
    FederationError,
    check_domain,
    check_federation_name,
    federation_manifest,
)
from hanse.api.kubefed.forms import FORM_D, FORMS, Form
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.pieces import PIECE_CRD, PIECES
from hanse.api.placed_children import PLACED_CHILD_CRD, PLACED_CHILDREN
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.cli.authorship import STAMPED_GROUPS, held_types, stamp_authors
from hanse.cli.composite_parts import require_selector
from hanse.cli.control_plane import (
    HOST_CRDS,
    campaign,
    federates_plain_objects,
    prepare_host,
    serve_applications,
    serve_composites,
    serve_federated_types,
)
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.kinds_file import KINDS_VARIABLE, read_teachings
from hanse.cli.loading import settle
from hanse.cli.metrics import metrics_option, read_listen, served_metrics
from hanse.cli.output import show_documents
from hanse.cli.running import log_to, run, until_signalled
from hanse.cli.vitess_parts import over_network, serve_vitess
from hanse.cli.vitess_settings import read_vitess_settings, vitess_options
from hanse.clusters.access_admission import API_VERSION, binding_manifest, policy_manifest
from hanse.composite.hosting.measuring import HookMetrics
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.log import Log
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime
from hanse.native.holding import held_at_birth, held_by_default
from hanse.native.kinds import DEFAULT_KINDS
from hanse.propagation.teaching import Teaching
from hanse.rollouts.blocks.admission import policies as block_policies
from hanse.rollouts.sources import ManifestSources, SourceSettings
from hanse.services.dns.serving import DnsOptions, parse_address, serve_dns
from hanse.vitess.operator.shaping import Settings

log = Log("hanse")


@click.command("controller")
@click.option(
    "--kubeconfig",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the host API server.",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option("--dry-run", is_flag=True, help="Print what would be applied to the host, and stop.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
@click.option(
    "--kinds",
    multiple=True,
    type=click.Path(path_type=Path),
    envvar=KINDS_VARIABLE,
    help="A Python file with hanse.Teaching values for custom kinds; may be repeated.",
)
@click.option(
    "--all-kubefed-forms",
    is_flag=True,
    help="Serve KubeFed's types in all five forms they had, not only in the last (types.kubefed.io); "
    "the API server needs several hundred MB more for them.",
)
@click.option("--federation-name", default="", help="The name of the federation in the DNS names of its services.")
@click.option("--domain", default="", help="The DNS domain in which services have names (default: as it was).")
@click.option("--dns-listen", default="", metavar="HOST:PORT", help="Answer for that domain here, UDP and TCP.")
@click.option(
    "--charts",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A folder of charts, kustomizations and manifests that applications name as file:///NAME.",
)
@click.option(
    "--chart-cache",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where charts are kept, so that a repository that is away stops nothing (default: as long as this runs).",
)
@click.option(
    "--kubelet-host",
    default="",
    metavar="HOST",
    help="Where clusters whose pods run elsewhere reach this process, for kubectl logs and exec of such pods (default: "
    "nowhere, and these do not work).",
)
@click.option(
    "--composites-selector",
    default="",
    metavar="LABELS",
    help="Run only the lambda controllers with these labels (default: all); `hanse composite serve` runs others.",
)
@metrics_option
@vitess_options
def command(
    kubeconfig: Path,
    context: str,
    dry_run: bool,
    log_format: str,
    kinds: tuple[Path, ...],
    all_kubefed_forms: bool,
    federation_name: str,
    domain: str,
    dns_listen: str,
    charts: Path | None,
    chart_cache: Path | None,
    kubelet_host: str,
    composites_selector: str,
    metrics_listen: str,
    vitess_priority_class: str,
    vitess_run_as_user: int,
    vitess_fs_group: int,
    vitess_backup_image: str,
) -> None:
    """Run the control plane against a host API server.

    Applies Hanse's CRDs there and the admission policy that stamps authors, waits for leadership, and federates until
    it is stopped. Several may run: one leads.
    """
    forms = FORMS if all_kubefed_forms else (FORM_D,)
    naming = Naming(_federation(federation_name, domain), _dns_options(dns_listen) if dns_listen else None)
    part = Part(
        kubelet_host,
        require_selector(composites_selector, "--composites-selector"),
        read_listen(metrics_listen),
        read_vitess_settings(vitess_priority_class, vitess_run_as_user, vitess_fs_group, vitess_backup_image),
    )
    if dry_run:
        held = held_at_birth([*held_types(), *held_by_default()])
        own, stamped = "the user of this kubeconfig", (*DEFAULT_KINDS, PIECES, PLACED_CHILDREN)
        stamping = (
            policy_manifest(API_VERSION, stamped, own, held, STAMPED_GROUPS),
            binding_manifest(API_VERSION, own),
        )
        kinds_of_others = (
            *FORM_CRDS,
            *kubefed_definitions(forms=forms),
            PIECE_CRD,
            *SHIPPER_CRDS,
            *METACONTROLLER_CRDS,
            PLACED_CHILD_CRD,
        )
        applied = (*HOST_CRDS, *kinds_of_others, *stamping, *block_policies())
        show_documents(applied if naming.federation is None else (*applied, naming.federation))
        return
    teachings = read_teachings(kinds)
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = Kubeconfig.load(kubeconfig).endpoint(context)
        settings = SourceSettings(cache_dir=chart_cache, folder=charts)
        settle()
        run(lambda: until_signalled(_control(endpoint, teachings, forms, naming, settings, part)))


@dataclass(frozen=True, slots=True)
class Naming:
    """The Federation object to be written, if any, and how its domain is answered for, if it is."""

    federation: Obj | None = None
    dns: DnsOptions | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What this control plane does of what several could: where it is reached for logs, and which controllers it runs.

    `composites` selects these by their labels; "" is all of them. `metrics` is where it tells how their hooks fare.
    `vitess` is how it runs VitessClusters.
    """

    kubelet_host: str = ""
    composites: str = ""
    metrics: tuple[str, int] | None = None
    vitess: Settings = field(default_factory=Settings)


def _federation(name: str, domain: str) -> Obj | None:
    if not name and not domain:
        return None
    if not name or not domain:
        raise Misuse("--federation-name and --domain belong together: give both, or neither")
    try:
        check_federation_name(name, "--federation-name")
        check_domain(domain, "--domain")
    except FederationError as error:
        raise Misuse(str(error)) from error
    return federation_manifest(name, domain)


def _dns_options(listen: str) -> DnsOptions:
    try:
        host, port = parse_address(listen)
    except ValueError as error:
        raise Misuse(f"--dns-listen: {error}") from error
    return DnsOptions(host=host, port=port)


async def _control(
    endpoint: Endpoint,
    teachings: Sequence[Teaching],
    forms: tuple[Form, ...],
    naming: Naming,
    charts: SourceSettings,
    part: Part,
) -> None:
    host = Client(HttpTransport(endpoint, user_agent="hanse-controller"), SystemRuntime())
    try:
        await prepare_host(host)
        await serve_federated_types(host, forms)
        await serve_applications(host)
        await serve_composites(host)
        await serve_vitess(host)
        plain_objects = await federates_plain_objects(host)
        await stamp_authors(host, plain_objects=plain_objects)
        if naming.federation is not None:
            await host.apply(FEDERATIONS, naming.federation)
        answering = asyncio.create_task(_answer(host, naming.dns))
        leading = asyncio.create_task(_lead(host, teachings, charts, part, plain_objects=plain_objects))
        await _until_one_fails(answering, leading)
    finally:
        await host.close()


async def _lead(
    host: Client, teachings: Sequence[Teaching], charts: SourceSettings, part: Part, *, plain_objects: bool
) -> None:
    identity = f"{socket.gethostname()}_{os.getpid()}_{host.runtime.name_suffix()}"
    metrics = HookMetrics(host.runtime)
    async with ManifestSources(host, charts) as sources, served_metrics(metrics.registry, part.metrics):
        while True:
            await campaign(
                host,
                identity,
                teachings=teachings,
                plain_objects=plain_objects,
                sources=sources,
                kubelet_host=part.kubelet_host,
                composites=part.composites,
                metrics=metrics,
                vitess_means=over_network(host.runtime, part.vitess),
            )


async def _answer(host: Client, options: DnsOptions | None) -> None:
    """Answer for the federation's domain, whoever leads."""
    if options is None:
        return
    try:
        await serve_dns(host, options, listening=lambda server: log.info("Answers questions", address=server.address))
    except OSError as error:
        raise Failure(f"--dns-listen: cannot listen on {options.host}:{options.port}: {error.strerror}") from error


async def _until_one_fails(*tasks: asyncio.Task[None]) -> None:
    """Wait for tasks; what one of them raises ends all, and is raised as it is."""
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
