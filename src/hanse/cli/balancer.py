"""`hanse balancer`: the global balancer in front of every cluster, for clients that cannot follow DNS."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import click

from hanse.cli.connection import connected, data_dir_option, default_data_dir, host_endpoint
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import Column, output_option, show
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import SystemRuntime
from hanse.services.balancing.balancer import BalancerFailure
from hanse.services.balancing.follower import BalancerFollower
from hanse.services.balancing.haproxy.configuration import Terms
from hanse.services.balancing.haproxy.driver import HaproxyBalancer
from hanse.services.balancing.haproxy.folder import held
from hanse.services.balancing.haproxy.process import HaproxyProcess
from hanse.services.balancing.lines import PortRange
from hanse.services.balancing.standing import Standing, keep_drawn, kept_drawn, standings

F = TypeVar("F", bound=Callable[..., Any])

_COLUMNS = (
    Column("SERVICE"),
    Column("LISTEN"),
    Column("MODE"),
    Column("CLUSTER"),
    Column("ADDRESS"),
    Column("WEIGHT"),
    Column("STATE"),
    Column("CONNECTIONS"),
    Column("TOTAL", wide=True),
    Column("HOSTS", wide=True),
)
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_LARGEST_PORT = 65535


def folder_options(command: F) -> F:
    """Add the options that say in which folder a balancer is."""
    command = click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        help="Where the balancer keeps HAProxy's configuration and sockets (default: `balancer` in --data-dir).",
    )(command)
    return data_dir_option()(command)


@click.group("balancer")
def command() -> None:
    """Run the global balancer (HAProxy) in front of every cluster, and see how it stands."""


@command.command("run")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the federation (default: that of --data-dir or $HANSE_DATA_DIR, else $KUBECONFIG, "
    "else that of ~/.hanse, else ~/.kube/config).",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option(
    "--listen",
    "addresses",
    multiple=True,
    default=("127.0.0.1",),
    metavar="ADDRESS",
    show_default=True,
    help="An address to listen on; may be given again. The ports are those that Services ask for.",
)
@click.option(
    "--ports",
    default="80,443,1024-65535",
    metavar="RANGES",
    show_default=True,
    help="The ports that Services may ask for.",
)
@folder_options
@click.option("--haproxy", default="haproxy", metavar="PROGRAM", help="The HAProxy to run (default: the one in $PATH).")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
def run_command(
    kubeconfig: Path | None,
    context: str,
    addresses: tuple[str, ...],
    ports: str,
    data_dir: Path | None,
    folder: Path | None,
    haproxy: str,
    log_format: str,
) -> None:
    """Balance the Services that carry the annotation hanse.dev/balancer.

    HAProxy is started as a daemon, told at run time of every change, and replaced without a pause where the entrances
    themselves change. It goes on when this command ends, and the next one takes it over; `hanse balancer stop` ends it.
    """
    log_to(json=log_format == "json")
    with one_sentence():
        terms = Terms(addresses=tuple(map(_address, addresses)))
        allowed = parse_ranges(ports)
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        chosen = _folder(folder, data_dir)
        try:
            run(lambda: until_signalled(_balance(endpoint, chosen, terms, allowed, haproxy)))
        except BalancerFailure as error:
            raise Failure(str(error)) from error


@command.command("status")
@folder_options
@output_option()
def status_command(data_dir: Path | None, folder: Path | None, output: str) -> None:
    """Show where a balancer on this machine leads clients, and how many it has."""
    chosen = _folder(folder, data_dir)
    document = kept_drawn(chosen)
    if document is None:
        raise Failure(f"there is no balancer in {chosen}; `hanse balancer run --folder {chosen}` starts one")
    counted = run(lambda: HaproxyProcess(chosen, SystemRuntime()).statistics())
    found = standings(document, counted)
    servers = [asdict(each) for each in found]
    shown = {"running": counted is not None, "servers": servers, "troubles": document["troubles"]}
    show(output, _COLUMNS, [_row(each) for each in found], shown, [each.service for each in found])
    if output in ("table", "wide"):
        if counted is None:
            click.echo(f"HAProxy is not running; `hanse balancer run --folder {chosen}` starts it", err=True)
        for trouble in document["troubles"]:
            click.echo(f"{trouble['service']}: {trouble['why']}", err=True)


@command.command("stop")
@folder_options
def stop_command(data_dir: Path | None, folder: Path | None) -> None:
    """Have HAProxy take no more connections and end with the last of those that it has.

    End `hanse balancer run` first: it would start HAProxy again.
    """
    chosen = _folder(folder, data_dir)
    if not run(lambda: HaproxyProcess(chosen, SystemRuntime()).stop()):
        raise Failure(f"no HAProxy is running in {chosen}")
    click.echo("HAProxy takes no more connections and ends with the last of those that it has")


def parse_ranges(text: str) -> tuple[PortRange, ...]:
    """Read ports such as `80,443,1024-65535`; raises Misuse."""
    found = []
    for part in text.split(","):
        matched = _RANGE.fullmatch(part.strip())
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (0, 0)
        if not 1 <= first <= last <= _LARGEST_PORT:
            raise Misuse(f"--ports: {part.strip()!r} must be a port or a range of ports, such as 8000-8999")
        found.append(PortRange(first, last))
    return tuple(found)


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise Misuse(f"--listen: {text!r} must be an IP address; the ports are those that Services ask for") from error


def _folder(named: Path | None, data_dir: Path | None) -> Path:
    return (named or (data_dir or default_data_dir()) / "balancer").absolute()


async def _balance(
    endpoint: Endpoint, folder: Path, terms: Terms, allowed: tuple[PortRange, ...], program: str
) -> None:
    runtime = SystemRuntime()
    with held(folder):
        balancer = HaproxyBalancer(HaproxyProcess(folder, runtime, program), terms, runtime)
        async with connected(endpoint) as host:
            await BalancerFollower(host, balancer, allowed=allowed, told=partial(keep_drawn, folder)).run()


def _row(standing: Standing) -> list[str]:
    return [
        standing.service,
        str(standing.listen),
        standing.mode,
        standing.cluster,
        f"{standing.address}:{standing.port}",
        str(standing.weight),
        standing.state,
        str(standing.connections),
        str(standing.total),
        ",".join(standing.hosts),
    ]
