"""`hanse checker`: probes the addresses of the federation's services from wherever it runs, and says what it finds.

Clusters that fetch their work have one in their agent; this one gives a vote to any other place.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import click

from hanse.api.cluster_kind import CLUSTER_NAME_LENGTH, CLUSTER_NAME_PATTERN
from hanse.api.health_reports import cluster_checker
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.log import Log
from hanse.kube.runtime import SystemRuntime
from hanse.services.health.checker import Checker
from hanse.services.health.prober import NetworkProber

log = Log("hanse")


@click.command("checker")
@click.option(
    "--kubeconfig",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the host API server.",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option("--cluster", required=True, metavar="NAME", help="The cluster, or the place, in whose name it votes.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
def command(kubeconfig: Path, context: str, cluster: str, log_format: str) -> None:
    """Probe the addresses of services from here, and have a vote on whether clients are led to them.

    Several may run in one name: one probes. It is asked by the federation what to probe, and needs rights in Hanse's
    own namespace on the host and nowhere else.
    """
    log_to(json=log_format == "json")
    with one_sentence():
        if len(cluster) > CLUSTER_NAME_LENGTH or not re.fullmatch(CLUSTER_NAME_PATTERN, cluster):
            raise Misuse(f"--cluster: {cluster!r} must be lower-case letters, digits and '-', beginning with a letter")
        endpoint = Kubeconfig.load(kubeconfig).endpoint(context)
        run(lambda: until_signalled(_check(endpoint, cluster)))


async def _check(endpoint: Endpoint, cluster: str) -> None:
    host = Client(HttpTransport(endpoint, user_agent="hanse-checker"), SystemRuntime())
    identity = f"{socket.gethostname()}_{os.getpid()}_{host.runtime.name_suffix()}"
    log.info("Probing the addresses of services", host=host.address, checker=cluster_checker(cluster))
    try:
        await Checker(host, cluster_checker(cluster), NetworkProber(), identity=identity).run()
    finally:
        await host.close()
