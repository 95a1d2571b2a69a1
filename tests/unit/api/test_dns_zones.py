"""What a DNSZone may say, and the sentence for what it may not."""

import pytest

from hanse.api.dns_zones import (
    GEOLOCATION,
    CloudDnsSettings,
    CoreDnsSettings,
    DnsZoneError,
    HealthCheckSettings,
    Rfc2136Settings,
    Route53Settings,
    parse_dns_zone,
)


def zone(**spec):
    return {"metadata": {"name": "main"}, "spec": {"zone": "example.com", **spec}}


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        (
            {"provider": "rfc2136", "rfc2136": {"server": "192.0.2.1:5353", "tsigKeyName": "hanse"}},
            Rfc2136Settings("192.0.2.1", 5353, "hanse"),
        ),
        ({"provider": "rfc2136", "rfc2136": {"server": "ns.example.com"}}, Rfc2136Settings("ns.example.com")),
        ({"provider": "rfc2136", "rfc2136": {"server": "2001:db8::1"}}, Rfc2136Settings("2001:db8::1")),
        ({"provider": "rfc2136", "rfc2136": {"server": "[2001:db8::1]:54"}}, Rfc2136Settings("2001:db8::1", 54)),
        (
            {"provider": "coredns", "coredns": {"endpoints": ["http://etcd:2379/"], "pathPrefix": "dns"}},
            CoreDnsSettings(("http://etcd:2379",), "/dns"),
        ),
        ({"provider": "route53"}, Route53Settings()),
        (
            {"provider": "route53", "route53": {"zoneID": "/hostedzone/Z1", "healthCheck": {"port": 80}}},
            Route53Settings("Z1", health=HealthCheckSettings(port=80)),
        ),
        (
            {
                "provider": "clouddns",
                "clouddns": {
                    "project": "prod",
                    "routing": "Geolocation",
                    "regions": [{"region": "eu", "location": "europe-west1"}],
                },
            },
            CloudDnsSettings("prod", routing=GEOLOCATION, regions={"eu": "europe-west1"}),
        ),
    ],
)
def test_a_provider_is_read_with_its_own_block(spec, settings):
    assert parse_dns_zone(zone(**spec)).settings == settings


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"provider": "azure"}, "spec.provider: 'azure' must be one of rfc2136, coredns, route53, clouddns"),
        ({"provider": "rfc2136"}, "spec.rfc2136: must say how the provider rfc2136 is reached"),
        ({"provider": "rfc2136", "rfc2136": {}}, "spec.rfc2136.server: must be given"),
        (
            {"provider": "rfc2136", "rfc2136": {"server": "ns:port"}},
            "spec.rfc2136.server: 'ns:port' must be HOST or HOST:PORT",
        ),
        (
            {"provider": "rfc2136", "rfc2136": {"server": "ns", "tsigAlgorithm": "hmac-md5"}},
            "spec.rfc2136.tsigAlgorithm: 'hmac-md5' must be one of hmac-sha224, hmac-sha256, hmac-sha384, hmac-sha512",
        ),
        (
            {"provider": "coredns", "coredns": {"endpoints": ["etcd:2379"]}},
            "spec.coredns.endpoints[0]: 'etcd:2379' must be a URL such as http://etcd:2379",
        ),
        ({"provider": "clouddns", "clouddns": {}}, "spec.clouddns.project: must be given"),
        (
            {"provider": "clouddns", "clouddns": {"project": "p", "routing": "Latency"}},
            "spec.clouddns.routing: 'Latency' must be one of Simple, Weighted, Geolocation",
        ),
        (
            {"provider": "route53", "route53": {"regions": [{"region": "eu"}]}},
            "spec.route53.regions[0].location: must be given",
        ),
        (
            {"provider": "route53", "zone": "Example.com"},
            "spec.zone: 'Example.com' must be a DNS domain in lower case without a final dot",
        ),
        ({"provider": "route53", "owner": "a,b"}, "spec.owner: 'a,b' may have letters, digits, '-', '.' and '_' only"),
        (
            {"provider": "route53", "resyncSeconds": 1},
            "spec.resyncSeconds: 1 must be a number of at least 10",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(spec, sentence):
    with pytest.raises(DnsZoneError) as told:
        parse_dns_zone(zone(**spec))
    assert str(told.value) == sentence


def test_a_final_dot_of_the_zone_is_no_mistake_and_the_status_remembers_the_owner():
    obj = zone(zone="example.com.", provider="route53", secretRef={"name": "aws"})
    parsed = parse_dns_zone({**obj, "status": {"owner": "uid-1"}})
    assert (parsed.zone, parsed.secret, parsed.owner_so_far) == ("example.com", "aws", "uid-1")
