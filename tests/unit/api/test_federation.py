from ipaddress import ip_network

import pytest

from hanse.api.federation import (
    Distance,
    FederationError,
    HealthSettings,
    Overload,
    Subnet,
    federation_manifest,
    parse_federation,
)


def federation(**spec):
    made = federation_manifest("my-federation", "my-domain.com")
    return {**made, "spec": {**made["spec"], **spec}}


def test_what_is_not_said_has_a_default():
    settings = parse_federation(federation())
    assert (settings.name, settings.domain, settings.ttl) == ("my-federation", "my-domain.com", 180)
    assert (settings.health, settings.overload) == (HealthSettings(), Overload(0.9, 0.7))


def test_everything_that_can_be_said_is_read():
    settings = parse_federation(
        federation(
            ttlSeconds=60,
            subnets=[
                {"cidr": "10.1.0.0/16", "cluster": "a"},
                {"cidr": "2001:db8::/32", "region": "eu", "zone": "z"},
            ],
            distances=[{"from": "eu", "to": "us", "distance": 7}],
            health={"intervalSeconds": 1, "timeoutSeconds": 0.5, "fall": 5, "rise": 4},
            overload={"mark": 0.5},
        )
    )
    assert settings.ttl == 60
    assert settings.subnets == (
        Subnet(ip_network("10.1.0.0/16"), cluster="a"),
        Subnet(ip_network("2001:db8::/32"), region="eu", zone="z"),
    )
    assert settings.distances == (Distance("eu", "us", 7),)
    assert settings.health == HealthSettings(1, 0.5, 5, 4)
    assert settings.overload == Overload(0.5, 0.5)


BAD = {
    "spec.name": {"name": "My"},
    "spec.domain": {"domain": "my-domain.com."},
    "spec.ttlSeconds": {"ttlSeconds": -1},
    "spec.subnets[0].cidr": {"subnets": [{"cidr": "10.0.0.1/8", "cluster": "a"}]},
    "spec.subnets[0]: either": {"subnets": [{"cidr": "10.0.0.0/8"}]},
    "spec.subnets[0].zone": {"subnets": [{"cidr": "10.0.0.0/8", "cluster": "a", "zone": "z"}]},
    "spec.distances[0]: from": {"distances": [{"from": "a", "distance": 1}]},
    "spec.distances[0].distance: must": {"distances": [{"from": "a", "to": "b"}]},
    "spec.distances[0].distance: -1": {"distances": [{"from": "a", "to": "b", "distance": -1}]},
    "spec.health.fall": {"health": {"fall": 0}},
    "spec.health.intervalSeconds": {"health": {"intervalSeconds": True}},
    "spec.overload.clear": {"overload": {"mark": 0.5, "clear": 0.6}},
}


@pytest.mark.parametrize(("beginning", "spec"), BAD.items(), ids=BAD)
def test_what_cannot_be_understood_is_told_in_a_sentence_that_names_the_field(beginning, spec):
    with pytest.raises(FederationError) as error:
        parse_federation(federation(**spec))
    assert str(error.value).startswith(beginning)


def test_another_name_is_not_the_federation():
    with pytest.raises(FederationError, match=r"metadata\.name"):
        parse_federation({**federation(), "metadata": {"name": "other"}})
