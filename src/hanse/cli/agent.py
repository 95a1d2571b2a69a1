"""`hanse agent`: the engine's side of one cluster, run in or near it, with its work fetched from the federation."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from hanse.api.works import AGENTS, agent_namespace
from hanse.cli.agent_options import beside
from hanse.cli.agent_process import serve
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.lazy import LazyGroup
from hanse.cli.running import log_to, run, until_signalled
from hanse.clusters.host_credentials import (
    AGENT_SECRET,
    CredentialsInFile,
    CredentialsInSecret,
    HostCredentials,
    keep_token,
)
from hanse.clusters.member_transport import MemberTransport
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.log import Log
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Transport, Unreachable
from hanse.services.health.prober import NetworkProber

log = Log("hanse")


@dataclass(frozen=True, slots=True)
class _Options:
    member_at: Endpoint
    host_kubeconfig: Path | None
    host_context: str
    cluster: str


# What else may run beside one cluster; without one of these words an agent does the work of a cluster that fetches it.
_COMMANDS = {
    "admission": (
        "hanse.cli.agent_admission",
        "Admit pods that run elsewhere, beside the API server of their cluster.",
    ),
    "chaperons": ("hanse.cli.agent_chaperons", "Keep the pods that other clusters have sent to this one."),
}


@click.group("agent", cls=LazyGroup, modules=_COMMANDS, invoke_without_command=True)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the cluster whose work is done (default: the service account of the pod).",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option(
    "--host-kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"A kubeconfig of the federation, as `hanse join --pull` writes it (default: the Secret {AGENT_SECRET} "
    "of the cluster).",
)
@click.option("--host-context", default="", help="The context in that file (default: its current one).")
@click.option(
    "--cluster", default="", metavar="NAME", help="The name under which it joined (default: that of the context)."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    kubeconfig: Path | None,
    context: str,
    host_kubeconfig: Path | None,
    host_context: str,
    cluster: str,
    log_format: str,
) -> None:
    """Do the work of one cluster that fetches it from the federation.

    Needs no way from the federation into the cluster: it reads what the cluster shall have, keeps it so, and tells
    what became of it. Several may run for one cluster: one acts. What runs in the cluster stays while the federation
    cannot be reached. It also probes the addresses of the federation's services from where it runs, as it is asked to.

    With a command, another part of Hanse that belongs beside a cluster runs instead, with options of its own.
    """
    if ctx.invoked_subcommand is not None:
        if any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in ctx.params):
            raise Misuse(f"the options of `hanse agent {ctx.invoked_subcommand}` come after its name")
        return
    log_to(json=log_format == "json")
    with one_sentence():
        options = _Options(beside(kubeconfig, context), host_kubeconfig, host_context, cluster)
        run(lambda: until_signalled(_act(options)))


async def _act(options: _Options) -> None:
    runtime = SystemRuntime()
    member = Client(_connect(options.member_at), runtime)
    try:
        credentials: HostCredentials = (
            CredentialsInSecret(member)
            if options.host_kubeconfig is None
            else CredentialsInFile(options.host_kubeconfig, runtime)
        )
        known = await credentials.read()
        endpoint, name = known.endpoint(options.host_context), options.cluster or options.host_context
        transport = MemberTransport(_connect, [endpoint])
        host = Client(transport, runtime)
        try:
            await _work(host, transport, name or known.current_context, options.member_at, endpoint, credentials)
        finally:
            await host.close()
    finally:
        await member.close()


async def _work(
    host: Client,
    transport: MemberTransport,
    name: str,
    member_at: Endpoint,
    endpoint: Endpoint,
    credentials: HostCredentials,
) -> None:
    await _check(host, name)
    identity = f"{socket.gethostname()}_{os.getpid()}"
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(keep_token(host, transport, name, endpoint, credentials))
        while True:
            await serve(host, name, member_at, connect=_connect, identity=identity, prober=NetworkProber())


async def _check(host: Client, name: str) -> None:
    """Find out at once what waiting would not mend: a cluster of another name, an account without rights."""
    try:
        await host.get(AGENTS, name, agent_namespace(name))
    except Unreachable as error:
        log.warning("The federation cannot be reached yet", host=host.address, error=str(error))


def _connect(endpoint: Endpoint) -> Transport:
    return HttpTransport(endpoint, user_agent="hanse-agent")
