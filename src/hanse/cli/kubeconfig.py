"""`hanse kubeconfig`: contexts for the federation and its members, for kubectl and whatever else reads a kubeconfig."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click
import yaml

from hanse.api.clusters import Cluster
from hanse.cli.connection import connected, host_endpoint, host_options, read_clusters
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import run
from hanse.clusters.credentials import endpoints_of
from hanse.clusters.kubeconfigs import kubeconfig_document, merged, without_secrets
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint, KubeconfigFile
from hanse.kube.manifest import Obj
from hanse.kube.resources import SECRETS


@click.command("kubeconfig")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--merge",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Put the contexts into this file (made if absent, for its owner alone) instead of printing them.",
)
@click.option("--overwrite", is_flag=True, help="Let them take the place of other entries of the same names there.")
@click.option("--raw", is_flag=True, help="Print credentials too.")
@click.option("--federation", default="federation", show_default=True, help="The name of the federation's context.")
@host_options
def command(
    names: tuple[str, ...],
    target: Path | None,
    overwrite: bool,
    raw: bool,
    federation: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Export a context for the federation and for each member, or for the members named.

    The credentials of members are those that the registry holds. They are printed only with --raw.
    """
    with one_sentence():
        host_at = host_endpoint(data_dir, kubeconfig, context)
        endpoints = run(lambda: _collect(host_at, names))
        if not names:
            _refuse_what_cannot_be_written(host_at)
            endpoints = {federation: host_at, **endpoints}
        document = kubeconfig_document(endpoints, "" if names else federation)
        if target is None:
            click.echo(yaml.safe_dump(document if raw else without_secrets(document), sort_keys=False), nl=False)
            return
        _merge(target, document, overwrite=overwrite)
    click.echo(f"{target} has the contexts {', '.join(endpoints)}")


async def _collect(host_at: Endpoint, names: tuple[str, ...]) -> dict[str, Endpoint]:
    async with connected(host_at) as host:
        clusters = {cluster.name: cluster for cluster in await read_clusters(host)}
        if unknown := [name for name in names if name not in clusters]:
            raise Failure(f"no cluster {unknown[0]} is a member of the federation; `hanse clusters` lists them")
        return {name: await _endpoint(host, clusters[name]) for name in names or clusters}


async def _endpoint(host: Client, cluster: Cluster) -> Endpoint:
    if cluster.credentials is None:
        raise Failure(f"cluster {cluster.name} names no credentials in spec.authInfo.controller")
    secret = await host.get(SECRETS, cluster.credentials.name, cluster.credentials.namespace)
    return endpoints_of(cluster, secret)[0]


def _refuse_what_cannot_be_written(host_at: Endpoint) -> None:
    if host_at.token_file or host_at.exec_plugin or host_at.impersonation:
        raise Failure(
            "the federation's credentials (a token file, a command or impersonation) cannot be exported; "
            "name the clusters to export their contexts alone"
        )


def _merge(target: Path, document: Obj, *, overwrite: bool) -> None:
    present = KubeconfigFile.read(target).document if target.exists() and target.stat().st_size else {}
    result, clashes = merged(present, document)
    if clashes and not overwrite:
        raise Failure(f"{target} has other entries {', '.join(clashes)}; --overwrite replaces them")
    text = yaml.safe_dump(result, sort_keys=False)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written beside it and moved into place: a reader never sees half of it, and only the owner may read it.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(target)
    except OSError as error:
        raise Misuse(f"--merge: {target} cannot be written: {error.strerror}") from error
