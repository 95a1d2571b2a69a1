"""`hanse rollout pack`: a chart, a kustomization or plain manifests from a folder, as a ConfigMap."""

from __future__ import annotations

from pathlib import Path

import click
import orjson
import yaml

from hanse.cli.output import show_documents
from hanse.cli.rollout_packing import pack


@click.command("pack")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The name of the ConfigMap.")
@click.option(
    "-n", "--namespace", default="", help="Its namespace, that of the application (default: none is written)."
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="How to print it.")
def command(folder: Path, name: str, namespace: str, output: str) -> None:
    """Print the ConfigMap of a folder, for `kubectl apply -f -`; what an application's template says is told beside it.

    A folder with Chart.yaml is a Helm chart, one with kustomization.yaml a kustomization, any other plain manifests. A
    ConfigMap takes 1 MB.
    """
    packed = pack(folder, name, namespace)
    if output == "json":
        click.echo(orjson.dumps(packed.manifest, option=orjson.OPT_INDENT_2).decode())
    else:
        show_documents([packed.manifest])
    reference = yaml.safe_dump(packed.reference, default_flow_style=True, sort_keys=False).strip()
    click.echo(f"{packed.kind} of {folder}; in the application's template: {reference[1:-1]}", err=True)
