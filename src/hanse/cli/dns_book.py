"""Reading what DNS knows of a federation, once, for a command."""

from __future__ import annotations

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, FederationError, parse_federation
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.cli.connection import connected
from hanse.cli.failures import Failure
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, key_of, name_of
from hanse.kube.resources import Resource
from hanse.services.dns.book import Book
from hanse.services.dns.zones import Zones


async def read_book(endpoint: Endpoint) -> Book:
    """Take in everything that a DNS server of this federation would."""
    async with connected(endpoint) as host:
        book = Book(Zones(complete=False), host.runtime)
        federation = next((each for each in await _listed(host, FEDERATIONS) if name_of(each) == FEDERATION_NAME), None)
        if federation is None:
            raise Failure(
                "the federation has no name in DNS: start it with `hanse up --name NAME --domain DOMAIN` or "
                "`hanse controller --federation-name NAME --domain DOMAIN`"
            )
        try:
            parse_federation(federation)
        except FederationError as error:
            raise Failure(f"the Federation object cannot be understood: {error}") from error
        book.take_federation(federation)
        for cluster in await _listed(host, CLUSTERS):
            book.take_cluster(name_of(cluster), cluster)
        for service in await _listed(host, SERVICE_ADDRESSES):
            book.take_service(key_of(service), service)
        return book


async def _listed(host: Client, kind: Resource) -> list[Obj]:
    try:
        return (await host.list(kind)).items
    except NotFound as error:
        raise Failure(
            f"the host does not serve {kind.group_resource}: is the control plane of this version?"
        ) from error
