"""`hanse dns serve`: the built-in DNS server by itself, against any host."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TypeVar

import click

from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.client import Client
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint, Kubeconfig
from hanse.kube.log import Log
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.limits import LOOPBACK, Limits, Network
from hanse.services.dns.names import to_wire
from hanse.services.dns.server import DnsServer
from hanse.services.dns.serving import DnsOptions, parse_address, serve_dns
from hanse.services.dns.zone import Nameserver

log = Log("hanse")
T = TypeVar("T")


@click.command("serve")
@click.option(
    "--kubeconfig",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A kubeconfig of the federation's host; its user needs to read, and nothing else.",
)
@click.option("--context", default="", help="The context in that file (default: its current one).")
@click.option(
    "--listen",
    "addresses",
    multiple=True,
    default=("127.0.0.1:8053",),
    show_default=True,
    metavar="ADDRESS[:PORT]",
    help="Where to answer, UDP and TCP; may be repeated.",
)
@click.option(
    "--nameserver",
    "nameservers",
    multiple=True,
    metavar="NAME[=ADDRESS]",
    help="What this server is called in the zone; may be repeated (default: ns.DOMAIN).",
)
@click.option("--allow-transfer", "transfers", multiple=True, metavar="CIDR", help="Who may copy the whole zone.")
@click.option("--notify", "secondaries", multiple=True, metavar="ADDRESS[:PORT]", help="Whom to tell of changes.")
@click.option(
    "--answers-per-second",
    default=Limits().answers_per_second,
    show_default=True,
    type=click.FloatRange(0),
    help="To one /24 or /56 by UDP; beyond it clients are sent to TCP. 0 is without limit.",
)
@click.option("--unlimited", "exempt", multiple=True, metavar="CIDR", help="Who is not limited, beside loopback.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file for what is known: with it the server also starts while the host is away.",
)
@click.option("--reuse-port", is_flag=True, help="Share the port with other processes that do the same.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="How to write the log.")
def command(
    kubeconfig: Path,
    context: str,
    addresses: tuple[str, ...],
    nameservers: tuple[str, ...],
    transfers: tuple[str, ...],
    secondaries: tuple[str, ...],
    answers_per_second: float,
    exempt: tuple[str, ...],
    keep: Path | None,
    reuse_port: bool,
    log_format: str,
) -> None:
    """Answer for the federation's domain until stopped.

    Any number of these may run, anywhere: they only read the host, and go on with what they know while it is away.
    """
    (host, port), *others = (_read("--listen", parse_address, text) for text in addresses)
    options = DnsOptions(
        host=host,
        port=port,
        others=tuple(others),
        nameservers=tuple(_read("--nameserver", _nameserver, text) for text in nameservers),
        transfers=tuple(_read("--allow-transfer", _network, text) for text in transfers),
        secondaries=tuple(_read("--notify", parse_address, text) for text in secondaries),
        limits=Limits(
            answers_per_second=answers_per_second,
            exempt=(*LOOPBACK, *(_read("--unlimited", _network, text) for text in exempt)),
        ),
        reuse_port=reuse_port,
        keep=keep,
    )
    log_to(json=log_format == "json")
    with one_sentence():
        endpoint = Kubeconfig.load(kubeconfig).endpoint(context)
        try:
            run(lambda: until_signalled(_serve(endpoint, options)))
        except OSError as error:
            raise Failure(f"cannot listen on {' and '.join(addresses)}: {error.strerror or error}") from error


async def _serve(endpoint: Endpoint, options: DnsOptions) -> None:
    host = Client(HttpTransport(endpoint, user_agent="hanse-dns"), SystemRuntime())
    try:
        await serve_dns(host, options, listening=_announce)
    finally:
        await host.close()


def _announce(server: DnsServer) -> None:
    log.info("Listening for questions", address=server.address)


def _read(option: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise Misuse(f"{option}: {error}") from error


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{text!r} must be a network such as 10.1.0.0/16, without host bits") from error


def _nameserver(text: str) -> Nameserver:
    name, _, address = text.partition("=")
    to_wire(name)
    return Nameserver(name.removesuffix("."), (str(ip_address(address)),) if address else ())
