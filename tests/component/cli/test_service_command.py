"""`hanse service status` typed against a host that is served over HTTPS."""

import json

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.manifest import Key
from hanse.kube.resources import SERVICES
from hanse.services.addresses import addresses_manifest
from hanse.services.presence import FederatedService, Presence
from tests.component.served_federation import ServedFederation

WEB = FederatedService(
    Key("default", "web"),
    presences=(
        Presence("c-ap", ("3.3.3.3", "3.3.3.4"), dead=("3.3.3.4",), backends=1),
        Presence("c-eu", ("2.2.2.2",), backends=0, serving=False, why="none of its endpoints is ready"),
        Presence("c-us", ("1.1.1.1",), ("10.0.0.1",), backends=3, weight=3),
    ),
)


MIXED = FederatedService(
    Key("default", "shop"),
    presences=(
        Presence("c-us", ("1.1.1.2",), backends=9, weight=9, release="shop-1-0"),
        Presence("c-us", ("1.1.1.3",), backends=0, serving=False, why="none is ready", release="shop-2-0"),
    ),
)


async def fill(host):
    await host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
    await host.create(SERVICE_ADDRESSES, addresses_manifest(WEB))
    await host.create(SERVICE_ADDRESSES, addresses_manifest(MIXED))
    inside = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "inside", "namespace": "default"}}
    await host.create(SERVICES, {**inside, "spec": {"ports": [{"port": 80}]}})
    for name, region in (("c-ap", "ap"), ("c-eu", "eu"), ("c-us", "us")):
        metadata = {"name": name, "annotations": {"hanse.dev/load": "0.5"}}
        await host.create(
            CLUSTERS, {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": metadata, "spec": {}}
        )
        await host.patch(CLUSTERS, name, {"status": {"region": region}}, subresource="status")


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_where_clients_are_led_and_why_not_elsewhere(tmp_path):
    stage = ServedFederation(tmp_path)
    try:
        stage.ask(fill(stage.host))
        assert lines(stage.say("service", "status")[1]) == [
            "NAMESPACE NAME SERVING HOSTNAME LEFT OUT",
            "default shop 1/2 shop.default.fed.example.com c-us/shop-2-0",
            "default web 2/3 web.default.fed.example.com c-eu",
        ]
        assert lines(stage.say("service", "status", "web", "--from", "cluster/c-us")[1]) == [
            "web.default.fed.example.com (answers are kept for 180 s)",
            "CLUSTER CLIENTS ADDRESSES READY REGION NEARNESS WHY",
            "c-us led there 1.1.1.1 3 us same cluster -",
            "c-ap led there 3.3.3.3 1 ap distance unknown nobody is led to 3.3.3.4",
            "c-eu kept away 2.2.2.2 0 eu distance unknown none of its endpoints is ready",
        ]
        document = json.loads(stage.say("service", "status", "web", "-o", "json")[1])
        assert [(each["name"], each["addresses"], each["leftOut"]) for each in document["clusters"]] == [
            ("c-ap", ["3.3.3.3"], ["3.3.3.4"]),
            ("c-us", ["1.1.1.1"], []),
            ("c-eu", [], ["2.2.2.2"]),
        ]
        assert {each["load"] for each in document["clusters"]} == {0.5}
        assert lines(stage.say("service", "status", "shop")[1])[2:] == [
            "c-us/shop-1-0 led there 1.1.1.2 9 us - -",
            "c-us/shop-2-0 kept away 1.1.1.3 0 us - none is ready",
        ]

        code, said = stage.say("service", "status", "inside")
        assert (code, said.startswith("error: service default/inside has no names in DNS: it is ClusterIP")) == (
            1,
            True,
        )
        assert stage.say("service", "status", "none") == (1, "error: the federation has no service default/none\n")
        code, said = stage.say("service", "status", "web", "--from", "mars")
        assert (code, said.startswith("error: --from: ")) == (2, True)
    finally:
        stage.close()
