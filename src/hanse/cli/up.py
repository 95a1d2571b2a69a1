"""`hanse up`: a federation on this machine, with simulated clusters, in two seconds and with nothing to install."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml

from hanse.cli.connection import DATA_DIR_VARIABLE, data_dir_option, default_data_dir
from hanse.cli.embedded.defaults import DEFAULT_CLUSTERS
from hanse.cli.embedded.folder import Folder, Record
from hanse.cli.failures import Failure, Misuse

_START_SECONDS = 90.0
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@click.command("up")
@data_dir_option()
@click.option(
    "--clusters",
    "clusters_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A YAML file `clusters: [{name, region, zone, labels, nodes, …}]` (default: three clusters in three regions).",
)
@click.option("--name", default=None, help="The name of the federation and of its context (default: federation).")
@click.option("--domain", default=None, help="The DNS domain of the federation (default: federation.local).")
@click.option("--detach", is_flag=True, help="Return when it is ready and leave it running.")
def command(
    data_dir: Path | None, clusters_file: Path | None, name: str | None, domain: str | None, detach: bool
) -> None:
    """Start a federation on this machine: an API server for it and simulated clusters that have joined it.

    Started again on the same folder it is where it was. Ctrl-C stops it; `hanse down` stops a detached one.
    """
    folder = Folder(data_dir or default_data_dir())
    _check_names(name, domain)
    clusters = _read_clusters(clusters_file) if clusters_file else None
    if detach:
        _detach(folder, clusters_file, name, domain)
        return
    with folder.held():
        record = _record(folder, clusters, name, domain)
        folder.write(record)
        _run(folder, record)


def _check_names(name: str | None, domain: str | None) -> None:
    if name is not None and not _LABEL.fullmatch(name):
        raise Misuse(f"--name: {name!r} must be lower-case letters, digits and '-', at most 63")
    if domain is not None and not (len(domain) <= 253 and all(_LABEL.fullmatch(part) for part in domain.split("."))):
        raise Misuse(f"--domain: {domain!r} is not a DNS domain")


def _read_clusters(path: Path) -> list[dict[str, Any]]:
    from hanse.simulator.settings import SettingsError, parse_clusters

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Misuse(f"--clusters: {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise Misuse(f"--clusters: {path} is not valid YAML{line}") from error
    try:
        parse_clusters(document)
    except SettingsError as error:
        raise Misuse(f"--clusters: {path}: {error}") from error
    entries: list[dict[str, Any]] = document["clusters"]
    if not entries:
        raise Misuse(f"--clusters: {path}: clusters: must name at least one cluster")
    return entries


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


def _run(folder: Folder, record: Record) -> None:
    from hanse.cli.embedded.federation import EmbeddedFederation
    from hanse.cli.embedded.view import Screen
    from hanse.cli.running import log_to, run, until_signalled
    from hanse.kube.runtime import SystemRuntime
    from hanse.simulator.settings import parse_clusters

    settings = parse_clusters({"clusters": record.clusters})
    screen = Screen(folder, record)
    # Keys and stores hold credentials: they are for their owner alone, whatever the folder's own mode is.
    os.umask(0o077)
    with folder.log.open("a", encoding="utf-8") as log:
        log_to(log)

        async def main() -> None:
            federation = EmbeddedFederation(folder, record, settings, SystemRuntime())
            await until_signalled(federation.run(screen.start, screen.progress))

        try:
            run(main)
        finally:
            screen.stop()


def _detach(folder: Folder, clusters: Path | None, name: str | None, domain: str | None) -> None:
    folder.make()
    if pid := folder.holder():
        raise Failure(f"a federation is running in {folder.path} already (process {pid})")
    arguments = [sys.executable, "-m", "hanse", "up", "--data-dir", str(folder.path)]
    options = (("--clusters", clusters and clusters.absolute()), ("--name", name), ("--domain", domain))
    for option, value in options:
        if value is not None:
            arguments += [option, str(value)]
    with folder.opened(folder.log.name, "ab") as log:
        begin = log.tell()
        child = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    _await_ready(folder, child, lambda: _log_since(folder, begin))
    record = folder.read()
    click.echo(f"the federation is ready: {record.host if record else ''}")
    click.echo(f"  export KUBECONFIG={folder.kubeconfig} {DATA_DIR_VARIABLE}={folder.path}")


def _await_ready(folder: Folder, child: subprocess.Popen[bytes], log: Callable[[], str]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        record = folder.read()
        if record is not None and record.ready and record.pid == child.pid:
            return
        if child.poll() is not None:
            raise Failure(f"the federation did not start: {log()}")
        if time.monotonic() > deadline:
            child.terminate()
            raise Failure(f"the federation was not ready after {_START_SECONDS:g} s; its log is {folder.log}")
        time.sleep(0.05)


def _log_since(folder: Folder, begin: int) -> str:
    with folder.log.open("rb") as file:
        file.seek(begin)
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    sentence = lines[-1] if lines else "it said nothing"
    return sentence.removeprefix("error: ")
