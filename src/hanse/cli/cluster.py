"""`hanse cluster`: break simulated clusters on purpose, and mend them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from hanse.api.clusters import CLUSTERS, parse_cluster
from hanse.api.names import FAULT_ANNOTATION
from hanse.cli.connection import connect_member, connected, data_dir_option, default_data_dir, host_endpoint
from hanse.cli.embedded.folder import Folder, running_record
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.transport import Unreachable

_PATIENCE_SECONDS = 10.0


@click.group("cluster")
def command() -> None:
    """Break and mend simulated clusters."""


@command.command("fail")
@click.argument("name")
@data_dir_option()
def fail(name: str, data_dir: Path | None) -> None:
    """Let a simulated cluster die: its API server, its nodes and its addresses stop."""
    _set_fault(name, data_dir, "down")
    click.echo(f"cluster {name} has failed; `hanse cluster heal {name}` brings it back")


@command.command("heal")
@click.argument("name")
@data_dir_option()
def heal(name: str, data_dir: Path | None) -> None:
    """Bring a failed simulated cluster back with the data it had."""
    _set_fault(name, data_dir, None)
    click.echo(f"cluster {name} is back")


def _set_fault(name: str, data_dir: Path | None, fault: str | None) -> None:
    folder = Folder(data_dir or default_data_dir())
    record = running_record(folder)
    known = [entry["name"] for entry in record.clusters]
    if name not in known:
        raise Misuse(f"NAME: there is no simulated cluster {name!r} here; there are {', '.join(known)}")
    with one_sentence():
        endpoint = host_endpoint(folder.path, None, record.name)
        run(lambda: _ask(endpoint, name, fault))


async def _ask(endpoint: Endpoint, name: str, fault: str | None) -> None:
    async with connected(endpoint) as host:
        try:
            patch = {"metadata": {"annotations": {FAULT_ANNOTATION: fault}}}
            cluster = parse_cluster(await host.patch(CLUSTERS, name, patch))
        except NotFound:
            raise Failure(f"cluster {name} is not a member of the federation any more; join it again") from None
        member = await connect_member(host, cluster)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while await _answers(member.client) == bool(fault):
                    await host.runtime.sleep(0.05)
        except TimeoutError:
            wish = "stop" if fault else "come back"
            raise Failure(f"cluster {name} did not {wish} within {_PATIENCE_SECONDS:g} s") from None
        finally:
            await member.client.close()


async def _answers(client: Client) -> bool:
    try:
        await client.version(timeout=1.0)
    except Unreachable:
        return False
    return True
