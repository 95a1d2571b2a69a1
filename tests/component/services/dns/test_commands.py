"""`hanse dns records` and `hanse dns trace` typed against a host that is served over HTTPS."""

import orjson
import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.manifest import Key
from hanse.services.addresses import addresses_manifest
from hanse.services.presence import FederatedService, Port, Presence
from tests.component.served_federation import ServedFederation

WEB = FederatedService(
    Key("default", "web"),
    (Port("http", "TCP", 80),),
    (
        Presence("c-eu", ("2.2.2.2",), serving=False, why="none of its endpoints is ready"),
        Presence("c-us", ("1.1.1.1",), ("10.0.0.1",)),
    ),
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("dns"))
    yield opened
    opened.close()


async def fill(host):
    federation = federation_manifest("fed", "example.com")
    federation["spec"]["subnets"] = [{"cidr": "10.7.0.0/16", "cluster": "c-us"}]
    await host.create(FEDERATIONS, federation)
    await host.create(SERVICE_ADDRESSES, addresses_manifest(WEB))
    for name, region in (("c-us", "us"), ("c-eu", "eu")):
        cluster = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": name}, "spec": {}}
        await host.create(CLUSTERS, cluster)
        place = {"status": {"region": region, "zones": [f"{region}-a"]}}
        await host.patch(CLUSTERS, name, place, subresource="status")


def test_names_are_listed_and_followed_from_where_a_client_is(stage):
    code, said = stage.say("dns", "records")
    assert (code, said.startswith("error: the federation has no name in DNS: start it with")) == (1, True)
    stage.ask(fill(stage.host))

    code, listed = stage.say("dns", "records", "--service", "default/web")
    assert code == 0
    target = "180 SRV 0 1 80 c-us.web.default.fed.svc.example.com. c-us"
    assert [" ".join(line.split()) for line in listed.splitlines()[:4]] == [
        "NAME TTL TYPE VALUE CLUSTER",
        f"_http._tcp.web.default.fed.example.com {target}",
        f"_http._tcp.web.default.fed.svc.example.com {target}",
        f"_http._tcp.web.default.fed.svc.us-a.us.example.com {target}",
    ]
    [hostname] = [
        each
        for each in orjson.loads(stage.say("dns", "records", "-o", "json")[1])["items"]
        if (each["name"], each["type"]) == ("web.default.fed.example.com", "A")
    ]
    assert hostname["values"] == [{"value": "1.1.1.1", "cluster": "c-us", "inside": "10.0.0.1", "weight": 1}]

    code, traced = stage.say("dns", "trace", "web.default.fed.svc.eu.example.com", "--from", "region/eu")
    assert code == 0
    assert [" ".join(line.split()) for line in traced.splitlines()] == [
        "asked from region/eu",
        "STEP NAME OF TYPE ANSWER CLUSTER WHY",
        "1 web.default.fed.svc.eu.example.com region eu CNAME web.default.fed.svc.example.com - nobody serves here",
        "1 web.default.fed.svc.eu.example.com region eu left out - c-eu none of its endpoints is ready",
        "2 web.default.fed.svc.example.com everywhere A 1.1.1.1 c-us distance unknown",
        "2 web.default.fed.svc.example.com everywhere left out - c-eu none of its endpoints is ready",
        "1 answer, nearest first; of equals by chance",
    ]
    code, inside = stage.say(
        "dns", "trace", "web.default.fed.example.com", "--from", "subnet/10.7.1.0/24", "-o", "name"
    )
    assert (code, inside) == (0, "10.0.0.1\n")

    assert stage.say("dns", "trace", "x.example.com", "--from", "mars")[0] == 2
    assert stage.say("dns", "records", "--service", "web") == (2, "error: --service: 'web' must be NAMESPACE/NAME\n")
    assert stage.say("dns", "records", "--service", "a/b") == (1, "error: the federation has no service a/b\n")
    stage.ask(stage.host.delete(FEDERATIONS, FEDERATION_NAME))
