"""`python -m hanse.simulator`: makes any API server behave like a cluster until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine, Sequence
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hanse.apiserver import CertificateAuthority
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.runtime import SystemRuntime
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.metrics.aggregation import register_metrics
from hanse.simulator.networking.tunnels import Tunnels
from hanse.simulator.nodes.serving import NodeAnswers, NodeServer
from hanse.simulator.settings import ClusterSettings, SettingsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    asked = _parser().parse_args(arguments)
    try:
        settings = _settings(asked)
        endpoint = Kubeconfig.load(asked.kubeconfig).endpoint(asked.context)
    except (SettingsError, KubeconfigError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    _run(_simulate(endpoint, settings, nodes_only=asked.nodes_only, tunnels=asked.tunnels))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hanse.simulator", description=__doc__)
    parser.add_argument("--kubeconfig", required=True, metavar="FILE", help="how to reach the API server")
    parser.add_argument("--context", default="", metavar="NAME", help="which context of it (default: the current one)")
    parser.add_argument("--name", required=True, metavar="NAME", help="the cluster's name, and its nodes' prefix")
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="how many nodes (default: 3)")
    parser.add_argument("--nodes-only", action="store_true", help="leave controllers and scheduling to Kubernetes")
    parser.add_argument("--region", default="", metavar="R", help="the region label of the nodes")
    parser.add_argument("--zone", default="", metavar="Z", help="the zone label of the nodes")
    parser.add_argument("--load-balancers", default="ip", metavar="P", help="what they give: ip, hostname or none")
    parser.add_argument("--index", type=int, default=0, metavar="I", help="which address pools to use (default: 0)")
    parser.add_argument(
        "--tunnels",
        type=Path,
        metavar="SOCKET",
        help="with --nodes-only: where the API server's egress selector (HTTPConnect) reaches pods",
    )
    return parser


def _settings(asked: argparse.Namespace) -> ClusterSettings:
    entry = {"name": asked.name, "nodes": asked.nodes, "index": asked.index, "region": asked.region}
    entry["loadBalancers"] = asked.load_balancers
    if asked.zone:
        entry["zone"] = asked.zone
    return ClusterSettings.from_mapping(entry, where="")


def _run(work: Coroutine[Any, Any, None]) -> None:
    if sys.platform == "win32":
        asyncio.run(work)
    else:
        import uvloop

        uvloop.run(work)


async def _simulate(
    endpoint: Endpoint, settings: ClusterSettings, *, nodes_only: bool, tunnels: Path | None = None
) -> None:
    runtime = SystemRuntime()
    client = Client(HttpTransport(endpoint, user_agent="hanse-simulator"), runtime, manager=SIMULATOR)
    cluster = SimulatedCluster(client, settings, runtime, nodes_only=nodes_only)
    running = asyncio.ensure_future(_serve_nodes(cluster, client, runtime, tunnels) if nodes_only else cluster.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        return
    finally:
        await client.close()


async def _serve_nodes(cluster: SimulatedCluster, client: Client, runtime: SystemRuntime, socket: Path | None) -> None:
    """Run a cluster's nodes behind a listener from which the API server fetches logs and metrics, and runs commands.

    With a `socket` it reaches the pods, too.
    """
    answers = NodeAnswers(cluster.pod_logs, cluster.run_in_pod, cluster.pod_metrics, cluster.node_metrics)
    with TemporaryDirectory(prefix="hanse-nodes-") as folder:
        credentials = CertificateAuthority.open(Path(folder), runtime=runtime).serving(runtime=runtime)
        server = await NodeServer.open(answers, credentials)
        cluster.kubelet_port = server.port
        tunnels = None if socket is None else await Tunnels.open(socket, cluster.pod_at, cluster.pod_page)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(cluster.run())
                await cluster.ready()
                await _register(client, server.port)
        finally:
            if tunnels is not None:
                await tunnels.close()
            await server.close()


async def _register(client: Client, port: int) -> None:
    try:
        await register_metrics(client, port)
    except ApiError as error:
        # An API server without aggregation has its own way to metrics, or none.
        if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
            raise


if __name__ == "__main__":
    sys.exit(main())
