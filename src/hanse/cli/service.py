"""`hanse service status`: where the clients of a service are led now, cluster by cluster, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hanse.cli.connection import connected, host_endpoint, host_options
from hanse.cli.dns_book import read_book
from hanse.cli.failures import Failure, Misuse, one_sentence
from hanse.cli.output import Column, echo, output_option, show, table
from hanse.cli.running import run
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key
from hanse.kube.resources import SERVICES
from hanse.services.dns.book import Book
from hanse.services.dns.tracing import place_to_ask_from
from hanse.services.geography.vantage import NOWHERE, Vantage
from hanse.services.observing import wish_of
from hanse.services.presence import FederatedService, Presence

_ALL_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("SERVING"),
    Column("HOSTNAME"),
    Column("TTL", wide=True),
    Column("LEFT OUT"),
)
_COLUMNS = (
    Column("CLUSTER"),
    Column("CLIENTS"),
    Column("ADDRESSES"),
    Column("READY"),
    Column("REGION"),
    Column("NEARNESS"),
    Column("INSIDE", wide=True),
    Column("WEIGHT", wide=True),
    Column("LOAD", wide=True),
    Column("WHY"),
)


@click.group("service")
def command() -> None:
    """Services of many clusters: where their clients are led."""


@command.command("status")
@click.argument("name", required=False)
@click.option("-n", "--namespace", default="default", help="The namespace of the service (default: default).")
@click.option(
    "--from",
    "place",
    default="",
    metavar="PLACE",
    help="Where a client is: cluster/NAME, region/REGION, zone/REGION/ZONE or subnet/CIDR; the nearest comes first.",
)
@host_options
@output_option()
def status(
    name: str | None,
    namespace: str,
    place: str,
    data_dir: Path | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Say where the clients of the service NAME are led now, and why not to the other clusters.

    Without NAME every service that has names in DNS is listed.
    """
    key = Key(namespace, name) if name else None
    with one_sentence():
        endpoint = host_endpoint(data_dir, kubeconfig, context)
        book = run(lambda: _read(endpoint, key))
    if key is None:
        _show_all(book, output)
        return
    try:
        vantage = place_to_ask_from(place, book) if place else NOWHERE
    except ValueError as error:
        raise Misuse(f"--from: {error}") from error
    _show_one(book, book.services[key], vantage, output)


async def _read(endpoint: Endpoint, key: Key | None) -> Book:
    """Read what is known of services; raises Failure where the one that is asked for has no names."""
    book = await read_book(endpoint)
    if key is not None and key not in book.services:
        async with connected(endpoint) as host:
            source = await host.find(SERVICES, key.name, key.namespace)
        if source is None:
            raise Failure(f"the federation has no service {key}")
        why = wish_of(source).unpublished or "the control plane has not looked at it yet; is it running?"
        raise Failure(f"service {key} has no names in DNS: {why}")
    return book


def _show_all(book: Book, output: str) -> None:
    services = [book.services[key] for key in sorted(book.services)]
    rows = [
        [
            each.key.namespace,
            each.key.name,
            f"{len(each.serving)}/{len(each.presences)}",
            _hostname(book, each),
            str(each.ttl),
            ",".join(_name(presence) for presence in each.presences if not presence.live),
        ]
        for each in services
    ]
    document = {"items": [_document(book, each, NOWHERE) for each in services]}
    show(output, _ALL_COLUMNS, rows, document, [str(each.key) for each in services])


def _show_one(book: Book, service: FederatedService, vantage: Vantage, output: str) -> None:
    presences = _ordered(book, service, vantage)
    rows = [_row(book, presence, vantage) for presence in presences]
    if output in ("table", "wide"):
        click.echo(f"{_hostname(book, service)} (answers are kept for {service.ttl} s)")
        if rows:
            echo(table(_COLUMNS, rows, wide=output == "wide"))
        else:
            click.echo("no cluster has it")
        return
    document = _document(book, service, vantage)
    show(output, _COLUMNS, rows, document, [_name(each) for each in presences])


def _hostname(book: Book, service: FederatedService) -> str:
    return book.federation.hostname(service.key) if book.federation is not None else ""


def _ordered(book: Book, service: FederatedService, vantage: Vantage) -> list[Presence]:
    """Return the clusters as an answer to somebody there has them: those that serve, the nearest first."""
    rank = book.zones.atlas.rank
    return sorted(service.presences, key=lambda each: (not each.live, rank(vantage, each.cluster), _name(each)))


def _name(presence: Presence) -> str:
    """Return the cluster, with the release where several serve there under one name."""
    return f"{presence.cluster}/{presence.release}" if presence.release else presence.cluster


def _nearness(book: Book, presence: Presence, vantage: Vantage) -> str:
    if vantage == NOWHERE:
        return ""
    return str(book.zones.atlas.rank(vantage, presence.cluster))


def _row(book: Book, presence: Presence, vantage: Vantage) -> list[str]:
    place = book.places.get(presence.cluster)
    return [
        _name(presence),
        "led there" if presence.live else "kept away",
        ",".join(presence.live or presence.addresses),
        "?" if presence.backends is None else str(presence.backends),
        place.region if place is not None else "",
        _nearness(book, presence, vantage),
        ",".join(presence.cluster_ips),
        str(presence.weight),
        f"{place.load:g}" if place is not None and place.load is not None else "",
        presence.why or (f"nobody is led to {', '.join(presence.dead)}" if presence.dead else ""),
    ]


def _document(book: Book, service: FederatedService, vantage: Vantage) -> dict[str, Any]:
    return {
        "namespace": service.key.namespace,
        "name": service.key.name,
        "hostname": _hostname(book, service),
        "ttlSeconds": service.ttl,
        "ports": [{"name": port.name, "protocol": port.protocol, "port": port.number} for port in service.ports],
        "clusters": [_cluster(book, each, vantage) for each in _ordered(book, service, vantage)],
    }


def _cluster(book: Book, presence: Presence, vantage: Vantage) -> dict[str, Any]:
    place = book.places.get(presence.cluster)
    return {
        "name": presence.cluster,
        **({"release": presence.release} if presence.release else {}),
        "serving": bool(presence.live),
        "addresses": list(presence.live),
        "leftOut": [address for address in presence.addresses if address not in presence.live],
        "inside": list(presence.cluster_ips),
        "readyEndpoints": presence.backends,
        "weight": presence.weight,
        "region": place.region if place is not None else "",
        "zones": list(place.zones) if place is not None else [],
        "load": place.load if place is not None else None,
        "nearness": _nearness(book, presence, vantage),
        "why": presence.why,
    }
