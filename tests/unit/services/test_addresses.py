import pytest

from hanse.api.service_addresses import SERVICE_ADDRESSES_CRD
from hanse.kube.manifest import dig
from hanse.services.addresses import addresses_manifest, parse_addresses
from tests.unit.services.cases import HOSTNAME, presence, service

SERVICES = [
    service(),
    service(published=False, ttl=0),
    service(
        presence("c-eu", serving=False, why="it has no address"),
        presence("c-us", "1.1.1.1", "1.1.1.2", dead=("1.1.1.2",), cluster_ips=("10.0.0.1",), backends=3, weight=3),
        ttl=60,
        front=("107.194.17.44",),
    ),
    service(presence("c-us", "1.1.1.1", doubtful=True, why="nothing else is left", release="web-1-0")),
]


@pytest.mark.parametrize("found", SERVICES)
def test_what_is_read_is_what_was_written(found):
    assert parse_addresses(addresses_manifest(found, HOSTNAME)) == found


def test_nothing_is_written_that_the_kind_does_not_know():
    schema = SERVICE_ADDRESSES_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = addresses_manifest(SERVICES[2], HOSTNAME)["spec"]
    known = dig(schema, "properties", "spec", "properties")
    assert spec.keys() <= known.keys()
    for entry in spec["clusters"]:
        assert entry.keys() <= known["clusters"]["items"]["properties"].keys()


def test_it_goes_with_its_owner():
    owner = {"kind": "Service", "uid": "1"}
    assert addresses_manifest(service(), "", owner)["metadata"]["ownerReferences"] == [owner]
