"""`hanse rollout render`: the manifests of an application as its clusters would get them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from hanse.api.pieces import PIECES, parse_piece
from hanse.api.shipper.kinds import APPLICATIONS, HIGHEST_GENERATION_ANNOTATION, RELEASE_LABEL
from hanse.cli.connection import DATA_DIR_VARIABLE, connected, default_data_dir, host_options
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import show_documents
from hanse.cli.rollout_finding import Where, endpoint_of, namespace_option, on_rollout, require_release
from hanse.cli.running import run
from hanse.cli.yaml_files import read_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, name_of, namespace_of
from hanse.rollouts.applications.releases import next_release
from hanse.rollouts.assembly import assemble
from hanse.rollouts.environment import EnvironmentProblem, parse_environment
from hanse.rollouts.reading import RolloutReading
from hanse.rollouts.sources import ManifestSources, SourceProblem, SourceSettings

_NO_UID = "00000000-0000-0000-0000-000000000000"
# For what is rendered without any federation, nobody is asked.
_NOBODY = Endpoint("https://federation.invalid")


@click.command("render")
@click.argument("application", required=False, default="", metavar="[APP]")
@click.option(
    "-f", "--filename", type=click.Path(path_type=Path), help="An Application in a file; - is what is piped in."
)
@click.option("--release", default="", metavar="RELEASE", help="What was rendered for this release of APP.")
@click.option(
    "--charts",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The folder that file:/// addresses are relative to (default: that of a federation of `hanse up`).",
)
@namespace_option
@host_options
def command(application: str, filename: Path | None, release: str, charts: Path | None, **where: Any) -> None:
    """Print the manifests that clusters would get of an application's template, or got of a release.

    Charts are rendered here, by the Helm on this machine. Deployments have no replicas in what is printed: the steps of
    the rollout give them theirs.
    """
    if bool(application) == bool(filename):
        raise Misuse("name an application, or give one with -f, and not both")
    if release and filename:
        raise Misuse("--release goes with the name of an application, not with -f")
    settings = SourceSettings(folder=charts or charts_beside(where))
    if filename is not None:
        manifests = _from_file(_application_in(filename, where["namespace"]), where, settings)
    elif release:
        manifests = on_rollout(application, where, lambda host, rollout: _stored(host, rollout, release))
    else:
        manifests = on_rollout(application, where, lambda host, rollout: _of_template(host, rollout, settings))
    show_documents(manifests)


def charts_beside(where: Where) -> Path | None:
    """Return the folder of charts of the federation that is meant, None where `hanse up` does not run it here."""
    named = where["data_dir"] is not None or DATA_DIR_VARIABLE in os.environ
    kubeconfig = where["kubeconfig"] or (not named and os.environ.get("KUBECONFIG"))
    try:
        folder = Path(kubeconfig).parent if kubeconfig else where["data_dir"] or default_data_dir()
    except Misuse:
        return None
    charts: Path = folder / "charts"
    # Other kubeconfigs may lie beside a folder of that name.
    is_meant = not kubeconfig or Path(kubeconfig).name == "kubeconfig"
    return charts if is_meant and charts.is_dir() and (folder / "kubeconfig").exists() else None


def _application_in(path: Path, namespace: str) -> Obj:
    found = [each for each in read_manifests([path], "-f") if each["kind"] == APPLICATIONS.kind]
    if len(found) != 1:
        raise Misuse(f"-f: {path} must have one Application; it has {len(found)}")
    metadata = found[0].get("metadata") or {}
    if not metadata.get("name") or not (found[0].get("spec") or {}).get("template"):
        raise Misuse(f"-f: the Application in {path} needs metadata.name and spec.template")
    place = namespace or metadata.get("namespace") or "default"
    return {**found[0], "metadata": {**metadata, "namespace": place, "uid": _NO_UID}}


def _from_file(application: Obj, where: Where, settings: SourceSettings) -> list[Obj]:
    async def rendering(endpoint: Endpoint) -> list[Obj]:
        async with connected(endpoint) as host:
            return await render(host, application, _born(next_release(application, [], -1)), settings)

    with one_sentence():
        endpoint = endpoint_of(where) if _needs_host(application["spec"]["template"]) else _NOBODY
        return run(lambda: rendering(endpoint))


def _needs_host(environment: Obj) -> bool:
    """Tell whether manifests are in a ConfigMap, which the federation alone has."""
    return "configmap://" in str(environment.get("chart") or environment.get("source"))


async def _of_template(host: Client, rollout: RolloutReading, settings: SourceSettings) -> list[Obj]:
    if rollout.contender is not None and rollout.is_current:
        return await render(host, rollout.application, rollout.contender.obj, settings)
    highest = annotations_of(rollout.application).get(HIGHEST_GENERATION_ANNOTATION, "")
    known = [each.obj for each in rollout.releases]
    release = _born(next_release(rollout.application, known, int(highest) if highest.isdecimal() else -1))
    return await render(host, rollout.application, release, settings)


async def _stored(host: Client, rollout: RolloutReading, name: str) -> list[Obj]:
    release = require_release(rollout, name)
    labels, place = f"{RELEASE_LABEL}={release.name}", namespace_of(release.obj)
    pieces = (await host.list(PIECES, place, labels=labels)).items
    if not pieces:
        raise Failure(f"nothing was rendered for release {name} yet; {release.verdict.why}")
    return [_manifest(each) for each in sorted(pieces, key=name_of)]


def _manifest(piece: Obj) -> Obj:
    read = parse_piece(piece)
    return {"apiVersion": read.resource.api_version, "kind": read.resource.kind, **read.template}


def _born(release: Obj) -> Obj:
    """Return a release that nobody has made yet as if somebody had."""
    return {**release, "metadata": {**release["metadata"], "uid": _NO_UID}}


async def render(host: Client, application: Obj, release: Obj, settings: SourceSettings) -> list[Obj]:
    """Return what clusters get of a release that is made of an application's template; raises Failure."""
    try:
        environment = parse_environment(application["spec"]["template"])
        place = namespace_of(application)
        async with ManifestSources(host, settings) as sources:
            found = await sources.render(environment, release=name_of(release), namespace=place)
        return list(assemble(found, release=release, renames=environment.files is not None).pieces)
    except EnvironmentProblem as problem:
        raise Misuse(str(problem)) from problem
    except SourceProblem as problem:
        if settings.folder is None and str(problem).startswith("file:/// is off"):
            raise Failure(
                "file:/// addresses are relative to a folder that is not known here; give --charts FOLDER, where the "
                "control plane has it"
            ) from problem
        raise Failure(str(problem)) from problem
