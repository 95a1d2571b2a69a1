"""`hanse agent chaperons`: keeps the pods that other clusters have sent to one cluster, from inside it."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import click

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.agent_options import beside, beside_options, client_of
from hanse.cli.failures import one_sentence
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.leases import Fenced, Leadership
from hanse.kube.log import Log
from hanse.kube.manifest import Key
from hanse.kube.resources import LEASES
from hanse.pods.chaperons.keeper import ChaperonKeeper
from hanse.pods.senders.keeper import SenderKeeper
from hanse.pods.summaries.keeper import SummaryKeeper

log = Log("hanse")

# Which of several agents acts.
_LEASE = Key(SYSTEM_NAMESPACE, "hanse-chaperons")


@click.command("chaperons")
@beside_options
def command(kubeconfig: Path | None, context: str, log_format: str) -> None:
    """Keep the pods that others have sent to this cluster, without the federation's control plane.

    Makes a pod of every PodChaperon, tells what became of it, sums up the cluster's nodes, and lets those send pods
    whom Sources and ClusterSources name. It stops pods whose chaperon says that they must not outlive a silent source.
    Several may run for one cluster: one acts.
    """
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = beside(kubeconfig, context)
        run(lambda: until_signalled(_keep_for_ever(endpoint)))


async def _keep_for_ever(endpoint: Endpoint) -> None:
    client = client_of(endpoint)
    identity = f"{socket.gethostname()}_{os.getpid()}"
    try:
        # Found out at once, and not while it waits for the Lease: no such server, or no such rights.
        await client.find(LEASES, _LEASE.name, _LEASE.namespace)
        while True:
            await keep(client, f"{identity}_{client.runtime.name_suffix()}")
    finally:
        await client.close()


async def keep(client: Client, identity: str) -> None:
    """Wait for the Lease and keep the pods of one cluster until it is lost."""
    leadership = Leadership(client, _LEASE, identity)

    async def work() -> None:
        log.info("Keeping the pods that others have sent", cluster=client.address, identity=identity)
        fenced = Client(Fenced(client.transport, leadership), client.runtime)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ChaperonKeeper(fenced, inside=True).run())
            tasks.create_task(SummaryKeeper(fenced).run())
            tasks.create_task(SenderKeeper(fenced).run())

    await leadership.lead(work)
    log.warning("Another agent keeps the pods that others have sent", cluster=client.address, identity=identity)
