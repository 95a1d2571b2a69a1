"""`hanse rollout restore`: applications and releases made again from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.connection import host_options
from hanse.cli.failures import Failure
from hanse.cli.kubefed_leader import Lock, lock_of
from hanse.cli.migrating_shipper import who_runs
from hanse.cli.rollout_archive import Archive, parse_archive, require_room, restore
from hanse.cli.rollout_finding import on_host
from hanse.cli.yaml_files import read_yaml
from hanse.kube.client import Client
from hanse.kube.resources import LEASES

_LEASE = "hanse-controller"
_LOOK_SECONDS = 1.0


@click.command("restore")
@click.option("-f", "--filename", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The backup.")
@host_options
def command(filename: Path, **where: Any) -> None:
    """Make applications again from a backup, where none of them is there and no control plane runs.

    The clusters must be members by then. What they run is not touched: it is handed to the restored releases.
    """
    archive = parse_archive(read_yaml(filename, "-f"), str(filename))
    handed = on_host(where, lambda host: _restore(host, archive))
    click.echo(f"{len(archive)} objects restored, {handed} objects in clusters handed to them; start the control plane")


async def _restore(host: Client, archive: Archive) -> int:
    if told := await who_runs(host) or await _who_leads(host):
        raise Failure(f"a control plane still runs: {told}; stop it first, since it would act on half of what was")
    await require_room(host, archive)
    return await restore(host, archive)


async def _who_leads(host: Client) -> str:
    """Say who leads the federation, "" where nobody does; waits as long as a Lease counts that nobody renews."""
    lock = await _lock(host)
    deadline = host.runtime.monotonic() + (lock.seconds if lock else 0.0)
    while lock is not None and host.runtime.monotonic() < deadline:
        await host.runtime.sleep(_LOOK_SECONDS)
        now = await _lock(host)
        if now is None:
            return ""
        if now != lock:
            return f"{now.holder} renews its Lease {SYSTEM_NAMESPACE}/{_LEASE}"
    return ""


async def _lock(host: Client) -> Lock | None:
    lease = await host.find(LEASES, _LEASE, SYSTEM_NAMESPACE)
    return None if lease is None else lock_of(LEASES.name_kind(lease))
