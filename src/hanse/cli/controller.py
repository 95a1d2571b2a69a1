"""`hanse controller`: the control plane alone, against any host API server."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import click
import structlog
import yaml

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.control_plane import HOST_CRDS, prepare_host, run_control_plane, to_member
from hanse.cli.failures import one_sentence
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.leases import Fenced, Leadership, LeaseTerms
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime

log = structlog.get_logger("hanse")
_LEASE = Key(SYSTEM_NAMESPACE, "hanse-controller")
# Short enough that a crashed controller is replaced before users of the federation notice.
_TERMS = LeaseTerms(duration_seconds=8.0, renew_deadline_seconds=5.0, retry_seconds=1.0)


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
def command(kubeconfig: Path, context: str, dry_run: bool, log_format: str) -> None:
    """Run the control plane against a host API server.

    Applies Hanse's CRDs there, waits for leadership, and federates until it is stopped. Several may run: one leads.
    """
    if dry_run:
        click.echo(yaml.safe_dump_all(HOST_CRDS, sort_keys=False), nl=False)
        return
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = Kubeconfig.load(kubeconfig).endpoint(context)
        run(lambda: until_signalled(_control(endpoint)))


async def _control(endpoint: Endpoint) -> None:
    host = Client(HttpTransport(endpoint, user_agent="hanse-controller"), SystemRuntime())
    try:
        await prepare_host(host)
        identity = f"{socket.gethostname()}_{os.getpid()}_{host.runtime.name_suffix()}"
        while True:
            await _campaign(host, identity)
    finally:
        await host.close()


async def _campaign(host: Client, identity: str) -> None:
    """Wait for the Lease and lead until it is lost."""
    leadership = Leadership(host, _LEASE, identity, _TERMS)
    log.info("Waiting for leadership", host=host.address, identity=identity)
    await leadership.lead(lambda: _lead(host, leadership))
    log.warning("Lost leadership", host=host.address)


async def _lead(host: Client, leadership: Leadership) -> None:
    """Federate; no write leaves this process, to the host or to a member, once it may have been replaced."""
    log.info("Leading the federation", host=host.address)
    fenced = Client(Fenced(host.transport, leadership), host.runtime)
    await run_control_plane(fenced, connect=lambda endpoint: Fenced(to_member(endpoint), leadership))
