"""`hanse up`: a federation on this machine, with simulated clusters, in two seconds and with nothing to install."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hanse.apiserver.storage.interface import OutOfSpace, StorageError
from hanse.cli.connection import DATA_DIR_VARIABLE, data_dir_option, default_data_dir
from hanse.cli.embedded.defaults import DEFAULT_CLUSTERS
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.failures import Failure, Misuse
from hanse.cli.yaml_files import read_yaml
from hanse.kube.errors import ApiError

if TYPE_CHECKING:
    from hanse.cli.embedded.federation import Wishes
    from hanse.simulator.faults.schedule import Planned

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_FULL = (errno.ENOSPC, errno.EDQUOT)


@click.command("up")
@data_dir_option()
@click.option(
    "--clusters",
    "clusters_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A YAML file `clusters: [{name, region, zone, labels, nodes, cpu, memory, latency, …}]` "
    "(default: those of the last start, at first three clusters in three regions).",
)
@click.option(
    "--faults",
    "faults_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A schedule `faults: [{at: 10s, cluster, fault, for: 30s}]`; its times count from when all is ready.",
)
@click.option("--name", default=None, help="The name of the federation and of its context (default: federation).")
@click.option("--domain", default=None, help="The DNS domain of the federation (default: federation.local).")
@click.option("--port", type=click.IntRange(1, 65535), help="The port of the federation's API server (default: any).")
@click.option("--merge-kubeconfig", is_flag=True, help="Add the contexts to $KUBECONFIG, or to ~/.kube/config.")
@click.option("--ephemeral", is_flag=True, help="Keep everything in memory and leave nothing behind.")
@click.option("--detach", is_flag=True, help="Return when it is ready and leave it running.")
def command(
    data_dir: Path | None,
    clusters_file: Path | None,
    faults_file: Path | None,
    name: str | None,
    domain: str | None,
    port: int | None,
    merge_kubeconfig: bool,
    ephemeral: bool,
    detach: bool,
) -> None:
    """Start a federation on this machine: an API server for it and simulated clusters that have joined it.

    Started again on the same folder it is where it was. Ctrl-C stops it; `hanse down` stops a detached one.
    """
    _check_names(name, domain)
    clusters = _read_clusters(clusters_file) if clusters_file else None
    folder = _folder(data_dir, ephemeral=ephemeral)
    schedule = _read_schedule(faults_file, clusters or _known_clusters(folder)) if faults_file else ()
    if detach:
        options = {"--clusters": clusters_file, "--faults": faults_file, "--name": name, "--domain": domain}
        given = [word for option, value in options.items() if value is not None for word in (option, _absolute(value))]
        given += [f"--port={port}"] if port else []
        given += [flag for flag, on in (("--ephemeral", ephemeral), ("--merge-kubeconfig", merge_kubeconfig)) if on]
        _detach(folder, given)
        return
    try:
        with folder.held():
            record = _record(folder, clusters, name, domain).but(ephemeral=ephemeral)
            folder.write(record)
            _run(folder, record, port or 0, schedule, ephemeral=ephemeral, merge=merge_kubeconfig)
    except (OSError, StorageError, ApiError, BaseExceptionGroup) as error:
        raise _told(folder, error) from error
    finally:
        if ephemeral and folder.holder() is None:
            shutil.rmtree(folder.path, ignore_errors=True)


def _folder(data_dir: Path | None, *, ephemeral: bool) -> Folder:
    if not ephemeral:
        return Folder(data_dir or default_data_dir())
    if data_dir is None:
        return Folder(Path(tempfile.mkdtemp(prefix="hanse-")))
    if (data_dir / "federation.json").exists():
        raise Misuse(
            f"--ephemeral: {data_dir} holds a federation that would be lost; choose another --data-dir, or none"
        )
    return Folder(data_dir)


def _absolute(value: Path | str) -> str:
    return str(value.absolute()) if isinstance(value, Path) else value


def _told(folder: Folder, error: BaseException) -> BaseException:
    """Return what a person is told of what ended a federation; the error itself where it is a fault of ours."""
    for cause in _causes(error):
        full = isinstance(cause, OSError) and cause.errno in _FULL
        if full or isinstance(cause, OutOfSpace) or "database space exceeded" in str(cause):
            return Failure(f"the disk that holds {folder.path} is full; make room there, or choose another --data-dir")
        if isinstance(cause, OSError) and cause.filename is not None:
            return Failure(f"{cause.filename} cannot be used: {cause.strerror}; choose another --data-dir")
        if isinstance(cause, StorageError):
            return Failure(f"the data folder {folder.path} cannot be used: {cause}")
    return error


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _causes(one)
    else:
        yield error


def _check_names(name: str | None, domain: str | None) -> None:
    if name is not None and not _LABEL.fullmatch(name):
        raise Misuse(f"--name: {name!r} must be lower-case letters, digits and '-', at most 63")
    if domain is not None and not (len(domain) <= 253 and all(_LABEL.fullmatch(part) for part in domain.split("."))):
        raise Misuse(f"--domain: {domain!r} is not a DNS domain")


def _read_clusters(path: Path) -> list[dict[str, Any]]:
    from hanse.simulator.settings import SettingsError, parse_clusters

    document = read_yaml(path, "--clusters")
    try:
        parse_clusters(document)
    except SettingsError as error:
        raise Misuse(f"--clusters: {path}: {error}") from error
    entries: list[dict[str, Any]] = document["clusters"]
    if not entries:
        raise Misuse(f"--clusters: {path}: clusters: must name at least one cluster")
    return entries


def _known_clusters(folder: Folder) -> list[dict[str, Any]]:
    record = folder.read()
    return record.clusters if record is not None and record.clusters else DEFAULT_CLUSTERS


def _read_schedule(path: Path, clusters: list[dict[str, Any]]) -> tuple[Planned, ...]:
    from hanse.simulator.faults.schedule import parse_schedule
    from hanse.simulator.faults.values import FaultError

    try:
        return parse_schedule(read_yaml(path, "--faults"), [entry["name"] for entry in clusters])
    except FaultError as error:
        raise Misuse(f"--faults: {path}: {error}") from error


def _record(folder: Folder, clusters: list[dict[str, Any]] | None, name: str | None, domain: str | None) -> Record:
    record = folder.read() or Record(clusters=DEFAULT_CLUSTERS)
    changes: dict[str, Any] = {"ready": False, "pid": os.getpid()}
    if clusters is not None:
        changes["clusters"] = clusters
    if name is not None:
        changes["name"] = name
    if domain is not None:
        changes["domain"] = domain
    record = record.but(**changes)
    record = record.but(clusters=_with_pools(folder, record.clusters))
    if record.name in {entry["name"] for entry in record.clusters}:
        raise Misuse(f"--name: {record.name!r} is the name of a cluster; the federation needs a name of its own")
    return record


def _with_pools(folder: Folder, clusters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give clusters without an index address pools that another folder's clusters are unlikely to have."""
    from hanse.simulator.settings import LARGEST_INDEX

    taken = {entry["index"] for entry in clusters if "index" in entry}
    free = zlib.crc32(str(folder.path).encode()) % (LARGEST_INDEX + 1)
    placed = []
    for entry in clusters:
        while "index" not in entry and free in taken:
            free = (free + 1) % (LARGEST_INDEX + 1)
        if "index" not in entry:
            entry = {**entry, "index": free}
            taken.add(free)
        placed.append(entry)
    return placed


def _run(
    folder: Folder, record: Record, port: int, schedule: tuple[Planned, ...], *, ephemeral: bool, merge: bool
) -> None:
    from hanse.cli.embedded.federation import EmbeddedFederation, Wishes
    from hanse.cli.embedded.view import Screen
    from hanse.cli.kinds_file import usual_teachings
    from hanse.cli.running import log_to, run, until_signalled
    from hanse.kube.runtime import SystemRuntime
    from hanse.simulator.settings import parse_clusters

    settings = parse_clusters({"clusters": record.clusters})
    wishes: Wishes = Wishes(port, ephemeral, schedule, usual_teachings())
    screen = Screen(folder, record, merge=merge, ephemeral=ephemeral)
    # Keys and stores hold credentials: they are for their owner alone, whatever the folder's own mode is.
    os.umask(0o077)
    with folder.opened(folder.log.name, "a") as log:
        log_to(log)

        async def main() -> None:
            federation = EmbeddedFederation(folder, record, settings, SystemRuntime(), wishes)
            await until_signalled(federation.run(screen.start, screen.progress))

        try:
            run(main)
        finally:
            screen.stop()


def _detach(folder: Folder, options: list[str]) -> None:
    from hanse.cli.embedded.detaching import detach

    record = detach(folder, options)
    click.echo(f"the federation is ready: {record.host}")
    click.echo(f"  export KUBECONFIG={folder.kubeconfig} {DATA_DIR_VARIABLE}={folder.path}")
