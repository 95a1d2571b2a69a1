"""`hanse composite serve`: the lambda controllers of one cluster, run by a process of their own."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import click

from hanse.api.metacontroller.definitions import HOME, METACONTROLLER_CRDS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.composite_parts import NO_KINDS, obstacle, require_selector, run_controllers
from hanse.cli.connection import host_endpoint
from hanse.cli.control_plane import TERMS
from hanse.cli.defining import define
from hanse.cli.failures import one_sentence
from hanse.cli.loading import settle
from hanse.cli.metrics import metrics_option, read_listen, served_metrics
from hanse.cli.running import log_to, run, until_signalled
from hanse.composite.hosting.measuring import HookMetrics
from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced, Leadership
from hanse.kube.log import Log
from hanse.kube.manifest import Key
from hanse.kube.resources import NAMESPACES
from hanse.kube.runtime import SystemRuntime

log = Log("hanse")


@click.command("serve")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the cluster (default: $KUBECONFIG, else that of `hanse up`, else ~/.kube/config).",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option(
    "--selector", "-l", default="", metavar="LABELS", help="Only controllers with these labels (default: all)."
)
@click.option("--trust", is_flag=True, help="Let controllers run Python and use files and loopback addresses here.")
@metrics_option
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
def command(
    kubeconfig: Path | None, context: str, selector: str, trust: bool, metrics_listen: str, log_format: str
) -> None:
    """Run the lambda controllers that a cluster has, with no federation, in place of Metacontroller.

    \b
    Examples:
      hanse composite serve --kubeconfig cluster.yaml
      hanse composite serve -l team=blue --trust

    Defines the kinds where they are missing. Of several with the same selector one works, and the others wait for its
    Lease. Those with selectors that match different controllers share the work; none may match what another one does,
    nor what the control plane runs (`hanse controller --composites-selector`).
    """
    require_selector(selector, "--selector")
    listen = read_listen(metrics_listen)
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = host_endpoint(None, kubeconfig, context)
        settle()
        run(lambda: until_signalled(serve_cluster(endpoint, selector, trusted=trust, listen=listen)))


def lease_of(selector: str) -> Key:
    """Return the Lease of those who run the controllers of a selector."""
    suffix = f"-{hashlib.sha256(selector.encode()).hexdigest()[:10]}" if selector else ""
    return Key(SYSTEM_NAMESPACE, f"hanse-composites{suffix}")


async def serve_cluster(
    endpoint: Endpoint, selector: str, *, trusted: bool, listen: tuple[str, int] | None = None
) -> None:
    """Run the controllers of a cluster that a selector matches, whenever the Lease of that selector is ours.

    How their hooks fare is told where `listen` says.
    """
    client = Client(HttpTransport(endpoint, user_agent="hanse-composites"), SystemRuntime())
    metrics = HookMetrics(client.runtime)
    async with AsyncExitStack() as ending:
        ending.push_async_callback(client.close)
        await ending.enter_async_context(served_metrics(metrics.registry, listen))
        await _prepare(client)
        identity = f"{socket.gethostname()}_{os.getpid()}_{client.runtime.name_suffix()}"
        leadership = Leadership(client, lease_of(selector), identity, TERMS)

        async def lead() -> None:
            log.info("Running lambda controllers", cluster=client.address, selector=selector)
            fenced = Client(Fenced(client.transport, leadership), client.runtime)
            await run_controllers(fenced, trusted=trusted, labels=selector, metrics=metrics)

        while True:
            await leadership.lead(lead)
            log.warning("Lost the Lease", cluster=client.address, lease=str(lease_of(selector)))


async def _prepare(client: Client) -> None:
    for namespace in ({**HOME, "metadata": {"name": SYSTEM_NAMESPACE}}, HOME):
        try:
            await client.create(NAMESPACES, namespace)
        except AlreadyExists:
            continue
    if await obstacle(client) in ("", NO_KINDS):
        await define(client, METACONTROLLER_CRDS)
