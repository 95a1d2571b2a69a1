"""`hanse controller`: the control plane alone, against any host API server."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import click

from hanse.api.cluster_forms import FORM_CRDS
from hanse.api.kubefed.forms import FORM_D, FORMS, Form
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.cli.authorship import STAMPED_GROUPS, held_types, stamp_authors
from hanse.cli.control_plane import (
    HOST_CRDS,
    campaign,
    federates_plain_objects,
    prepare_host,
    serve_federated_types,
)
from hanse.cli.failures import one_sentence
from hanse.cli.kinds_file import KINDS_VARIABLE, read_teachings
from hanse.cli.output import show_documents
from hanse.cli.running import log_to, run, until_signalled
from hanse.clusters.access_admission import API_VERSION, binding_manifest, policy_manifest
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.runtime import SystemRuntime
from hanse.native.holding import held_at_birth, held_by_default
from hanse.native.kinds import DEFAULT_KINDS
from hanse.propagation.teaching import Teaching


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
def command(
    kubeconfig: Path,
    context: str,
    dry_run: bool,
    log_format: str,
    kinds: tuple[Path, ...],
    all_kubefed_forms: bool,
) -> None:
    """Run the control plane against a host API server.

    Applies Hanse's CRDs there and the admission policy that stamps authors, waits for leadership, and federates until
    it is stopped. Several may run: one leads.
    """
    forms = FORMS if all_kubefed_forms else (FORM_D,)
    if dry_run:
        held = held_at_birth([*held_types(), *held_by_default()])
        stamping = policy_manifest(API_VERSION, DEFAULT_KINDS, "the user of this kubeconfig", held, STAMPED_GROUPS)
        applied = (*HOST_CRDS, *FORM_CRDS, *kubefed_definitions(forms=forms), stamping, binding_manifest(API_VERSION))
        show_documents(applied)
        return
    teachings = read_teachings(kinds)
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = Kubeconfig.load(kubeconfig).endpoint(context)
        run(lambda: until_signalled(_control(endpoint, teachings, forms)))


async def _control(endpoint: Endpoint, teachings: Sequence[Teaching], forms: tuple[Form, ...]) -> None:
    host = Client(HttpTransport(endpoint, user_agent="hanse-controller"), SystemRuntime())
    try:
        await prepare_host(host)
        await serve_federated_types(host, forms)
        plain_objects = await federates_plain_objects(host)
        await stamp_authors(host, plain_objects=plain_objects)
        identity = f"{socket.gethostname()}_{os.getpid()}_{host.runtime.name_suffix()}"
        while True:
            await campaign(host, identity, teachings=teachings, plain_objects=plain_objects)
    finally:
        await host.close()
