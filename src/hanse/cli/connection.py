"""How a command finds the federation and its members."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.cli.failures import Misuse
from hanse.clusters.access import Access
from hanse.clusters.credentials import endpoints_of
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig, KubeconfigError
from hanse.kube.manifest import Obj
from hanse.kube.resources import SECRETS
from hanse.kube.runtime import SystemRuntime

F = TypeVar("F", bound=Callable[..., Any])

DATA_DIR_VARIABLE = "HANSE_DATA_DIR"
_REQUEST_SECONDS = 10.0


def default_data_dir() -> Path:
    """Return where `hanse up` keeps a federation: $HANSE_DATA_DIR, else ~/.hanse."""
    if named := os.environ.get(DATA_DIR_VARIABLE):
        return Path(named)
    try:
        return Path.home() / ".hanse"
    except RuntimeError as error:
        raise Misuse(f"there is no home folder; set {DATA_DIR_VARIABLE} or give --data-dir") from error


def data_dir_option() -> Callable[[F], F]:
    """Return the `--data-dir` option."""
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help=f"The folder of a federation started with `hanse up` (default: ${DATA_DIR_VARIABLE} or ~/.hanse).",
    )


def host_options(command: F) -> F:
    """Add the options that say which federation a command talks to."""
    command = click.option("--host-context", "context", default="", help="The context in that file.")(command)
    command = click.option(
        "--host-kubeconfig",
        "kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A kubeconfig of the federation (default: that of --data-dir or $HANSE_DATA_DIR, else $KUBECONFIG, "
        "else that of ~/.hanse, else ~/.kube/config).",
    )(command)
    return data_dir_option()(command)


def host_endpoint(data_dir: Path | None, kubeconfig: Path | None, context: str) -> Endpoint:
    """Find the federation's API server from the options of a command."""
    if kubeconfig is not None:
        return Kubeconfig.load(kubeconfig).endpoint(context)
    named = data_dir is not None or DATA_DIR_VARIABLE in os.environ
    users = os.environ.get("KUBECONFIG", "")
    if users and not named:
        # What kubectl would use in this shell counts more than a folder that nobody named.
        return Kubeconfig.load_all(users.split(os.pathsep)).endpoint(context)
    folder = data_dir or default_data_dir()
    if (folder / "kubeconfig").exists():
        _require_running(folder)
        return Kubeconfig.load(folder / "kubeconfig").endpoint(context)
    if named:
        raise Misuse(f"there is no federation in {folder}: start one with `hanse up --data-dir {folder}`")
    users_own = Path.home() / ".kube" / "config"
    if not users_own.exists():
        raise Misuse("no federation was found: start one with `hanse up`, or name one with --host-kubeconfig")
    return Kubeconfig.load(users_own).endpoint(context)


def _require_running(path: Path) -> None:
    from hanse.cli.embedded.folder import Folder, running_record

    running_record(Folder(path))


@asynccontextmanager
async def connected(endpoint: Endpoint) -> AsyncIterator[Client]:
    """Open a client for the length of a command."""
    client = Client(HttpTransport(endpoint, user_agent="hanse-cli"), SystemRuntime(), timeout=_REQUEST_SECONDS)
    try:
        yield client
    finally:
        await client.close()


async def read_clusters(host: Client) -> list[Cluster]:
    """Return the registered clusters in order of name."""
    listed = await host.list(CLUSTERS)
    return sorted((parse_cluster(obj) for obj in listed.items), key=lambda cluster: cluster.name)


async def rights_of(
    access: Access, source: Obj, clusters: Sequence[Cluster], voices: Sequence[Obj] = ()
) -> dict[str, str]:
    """Return the clusters that an object's author may not use, or those who say where it goes.

    There are none where whoever asks may not ask that.
    """
    try:
        return await access.refusals(source, [cluster.name for cluster in clusters], voices)
    except Forbidden:
        return {}


async def connect_member(host: Client, cluster: Cluster) -> Member:
    """Open a client to a member with the credentials that the registry points to; raises KubeconfigError.

    A member that fetches its work is shown as its agent tells of it.
    """
    if cluster.pull:
        return _shown_by_works(host, cluster)
    if cluster.credentials is None:
        raise Misuse(f"cluster {cluster.name} names no credentials in spec.authInfo.controller")
    secret = await host.get(SECRETS, cluster.credentials.name, cluster.credentials.namespace)
    endpoint = endpoints_of(cluster, secret)[0]
    transport = HttpTransport(endpoint, user_agent="hanse-cli")
    return Member(cluster.name, Client(transport, host.runtime, timeout=5.0))


def _shown_by_works(host: Client, cluster: Cluster) -> Member:
    from hanse.cli.works_view import WorksView

    if cluster.refusal:
        raise KubeconfigError(cluster.refusal)
    return Member(cluster.name, Client(WorksView(host, cluster.name), host.runtime))
