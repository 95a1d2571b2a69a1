"""`hanse ingress`: one load balancer for an Ingress in many clusters, with the words of kubemci."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hanse.cli.connection import host_endpoint, host_options
from hanse.cli.failures import Misuse, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import run

if TYPE_CHECKING:
    from hanse.cli.ingressing import Asked, Choice
    from hanse.services.ingress.balancer import Standing

F = TypeVar("F", bound=Callable[..., Any])

_PORT = 80
_NUMBER = click.IntRange(1, 65535)
_COLUMNS = (Column("NAME"), Column("IP"), Column("CLUSTERS"))
_PATH = click.Path(path_type=Path, dir_okay=False)


def _project_option(command: F) -> F:
    return click.option(
        "--gcp-project",
        "project",
        default="",
        help="The project in Google's cloud in which the load balancer is; without it, it is one of Hanse's own.",
    )(command)


def _ingress_options(command: F) -> F:
    """Add what create, delete and remove-clusters have in common."""
    command = click.option("-n", "--namespace", default="", help="The namespace, where the file names none.")(command)
    command = click.option("-f", "--force", is_flag=True, help="Overwrite what differs; go on after errors.")(command)
    command = _project_option(command)
    command = click.option(
        "--kubecontexts", default="", help="Contexts of the clusters, separated by commas (default: all of the file)."
    )(command)
    command = click.option(
        "-k", "--kubeconfig", "clusters", type=_PATH, help="A kubeconfig with the clusters. Required."
    )(command)
    command = click.option("-i", "--ingress", "ingress", type=_PATH, help="A file with the Ingress. Required.")(command)
    return click.argument("words", nargs=-1, metavar="NAME")(host_options(command))


@click.group("ingress")
def command() -> None:
    """Make one load balancer for an Ingress in many clusters.

    With --gcp-project it is Google's global load balancer, made of the pieces that kubemci makes and under the same
    names. Without it, it is an entrance of the balancers that `hanse balancer run` starts.
    """


@command.command("create")
@click.option(
    "--static-ip", default="", help="Name of the reserved address; without a project, the balancers' address."
)
@click.option("--listen", default=_PORT, type=_NUMBER, show_default=True, help="The port of Hanse's own balancers.")
@click.option(
    "--cluster-port",
    default=_PORT,
    type=_NUMBER,
    show_default=True,
    help="Where they find clusters' ingress controllers.",
)
@click.option("--validate/--no-validate", default=True, help="Check clusters and node ports first.", show_default=True)
@_ingress_options
def create_command(static_ip: str, listen: int, cluster_port: int, validate: bool, **given: Any) -> None:
    """Put the Ingress into the clusters and one load balancer before them."""
    from hanse.cli.ingressing import create

    asked = _asked(given)
    with one_sentence():
        choice = _choice(given, static_ip, listen, cluster_port)
        run(lambda: create(asked, choice, validate=validate))


@command.command("delete")
@_ingress_options
def delete_command(**given: Any) -> None:
    """Take the load balancer away, and then the Ingress from the clusters."""
    from hanse.cli.ingressing import delete

    asked = _asked(given)
    with one_sentence():
        choice = _choice(given)
        run(lambda: delete(asked, choice))


@command.command("remove-clusters")
@_ingress_options
def remove_clusters_command(**given: Any) -> None:
    """Take some clusters out of the load balancer, and the Ingress from them."""
    from hanse.cli.ingressing import remove_clusters

    asked = _asked(given)
    with one_sentence():
        choice = _choice(given)
        run(lambda: remove_clusters(asked, choice))


@command.command("get-status")
@click.argument("words", nargs=-1, metavar="NAME")
@_project_option
@host_options
@output_option()
def status_command(output: str, **given: Any) -> None:
    """Say where a load balancer is reached and which clusters are behind it."""
    from hanse.cli.ingressing import status

    name = _one_name(given["words"])
    with one_sentence():
        choice = _choice(given)
        standing = run(lambda: status(name, choice))
    if output in ("table", "wide"):
        click.echo(standing.sentence)
    else:
        show(output, _COLUMNS, [_row(standing)], _document(standing), [standing.name])


@command.command("list")
@click.argument("words", nargs=-1, metavar="")
@_project_option
@host_options
@output_option()
def list_command(output: str, **given: Any) -> None:
    """List the load balancers of a project, or of a federation."""
    from hanse.cli.ingressing import listed

    if given["words"]:
        raise Misuse(f"unexpected args: {_spelt(given['words'])}. Expected 0 arguments")
    with one_sentence():
        choice = _choice(given)
        found = run(lambda: listed(choice))
    if output in ("table", "wide") and not found:
        click.echo("No multicluster ingresses found.")
        return
    document = {"items": [_document(each) for each in found]}
    show(output, _COLUMNS, [_row(each) for each in found], document, [each.name for each in found])


def _asked(given: dict[str, Any]) -> Asked:
    from hanse.cli.ingressing import Asked

    name = _one_name(given["words"])
    for field, flag in (("ingress", "ingress"), ("clusters", "kubeconfig")):
        if given[field] is None:
            raise Misuse(f"unexpected missing argument {flag}")
    contexts = tuple(each.strip() for each in given["kubecontexts"].split(",") if each.strip())
    return Asked(name, given["ingress"], given["clusters"], contexts, given["namespace"], given["force"])


def _choice(given: dict[str, Any], static_ip: str = "", listen: int = _PORT, cluster_port: int = _PORT) -> Choice:
    from hanse.cli.ingressing import Choice
    from hanse.services.ingress.entrance import Reach

    if given["project"]:
        return Choice(given["project"], static_ip=static_ip)
    host = host_endpoint(given["data_dir"], given["kubeconfig"], given["context"])
    return Choice(host=host, reach=Reach(static_ip, listen, cluster_port))


def _one_name(words: tuple[str, ...]) -> str:
    if len(words) != 1:
        raise Misuse(f"unexpected args: {_spelt(words)}. Expected one arg as name of load balancer")
    return words[0]


def _spelt(words: tuple[str, ...]) -> str:
    return f"[{' '.join(words)}]"


def _row(standing: Standing) -> list[str]:
    return [standing.name, standing.address, ", ".join(standing.clusters)]


def _document(standing: Standing) -> dict[str, Any]:
    return {"name": standing.name, "ipAddress": standing.address, "clusters": list(standing.clusters)}
