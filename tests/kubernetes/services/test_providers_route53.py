"""Publishing into Amazon Route 53, as moto keeps its semantics in this process."""

import boto3
import botocore.exceptions
import pytest
from moto import mock_aws

from hanse.api.dns_zones import (
    GEOLOCATION,
    LATENCY,
    MULTIVALUE,
    WEIGHTED,
    HealthCheckSettings,
    Route53Settings,
)
from hanse.kube.manifest import Key
from hanse.kube.runtime import SeededRuntime
from hanse.services.providers.interface import ProviderError
from hanse.services.providers.route53 import Route53
from hanse.services.records import Datum, RecordSet
from tests.behaviour.dns_providers import NAME, ZONE, ProviderConformance, Stage, publish, record, service, withdraw

REGIONS = {"east": "us-east-1", "west": "eu-west-1"}
ROUTED = RecordSet(NAME, "A", 180, (Datum("192.0.2.1", "east", 1), Datum("192.0.2.2", "west", 3)))


class Strict:
    """moto's Route 53, with the rules for a batch that moto leaves out.

    What is created must not be there, what is deleted must be there as it is told, a CNAME stands alone; and a batch
    is applied whole or not at all.
    """

    def __init__(self, client):
        self._client = client
        self.batches = []

    def __getattr__(self, name):
        return getattr(self._client, name)

    def change_resource_record_sets(self, HostedZoneId, ChangeBatch):  # noqa: N803 - as boto3 spells them
        before = {_key(each): each for each in _listed(self._client, HostedZoneId)}
        after = dict(before)
        for change in ChangeBatch["Changes"]:
            told = change["ResourceRecordSet"]
            present = after.pop(_key(told), None)
            if change["Action"] == "CREATE":
                _require(present is None, "but it already exists", told)
                after[_key(told)] = told
            else:
                _require(present is not None, "but it was not found", told)
                _require(present == told, "but the values provided do not match the current values", told)
        for name, kind, _ in after:
            lone = kind != "CNAME" or sum(1 for other, *_ in after if other == name) == 1
            _require(lone, "as it would coexist with a CNAME", {"Name": name})
        self.batches.append([(each["Action"], _key(each["ResourceRecordSet"])) for each in ChangeBatch["Changes"]])
        changes = [{"Action": "DELETE", "ResourceRecordSet": before[key]} for key in before.keys() - after.keys()]
        changes += [
            {"Action": "UPSERT", "ResourceRecordSet": told} for key, told in after.items() if before.get(key) != told
        ]
        self._client.change_resource_record_sets(HostedZoneId=HostedZoneId, ChangeBatch={"Changes": changes})


def _listed(client, zone_id):
    pages = client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone_id)
    return [each for page in pages for each in page["ResourceRecordSets"]]


def _key(told):
    return told["Name"], told["Type"], told.get("SetIdentifier", "")


def _require(holds, why, told):
    if not holds:
        message = f"[Tried to change resource record set [name='{told['Name']}'] {why}]"
        raise botocore.exceptions.ClientError({"Error": {"Code": "InvalidChangeBatch", "Message": message}}, "Change")


@pytest.fixture(scope="module")
def moto():
    # Making a client reads the description of the whole service; one is enough for all tests.
    with mock_aws(), pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield boto3.client("route53", region_name="us-east-1")


@pytest.fixture
def client(moto):
    yield Strict(moto)
    for zone in zones(moto):
        found = [each for each in _listed(moto, zone["Id"]) if each["Type"] not in ("SOA", "NS")]
        gone = [{"Action": "DELETE", "ResourceRecordSet": each} for each in found]
        if gone:
            moto.change_resource_record_sets(HostedZoneId=zone["Id"], ChangeBatch={"Changes": gone})
        moto.delete_hosted_zone(Id=zone["Id"])
    for check in checks(moto):
        moto.delete_health_check(HealthCheckId=check)


def opened(client, **settings):
    return Route53(
        ZONE,
        Route53Settings(**settings),
        client,
        SeededRuntime(),
        owner="fed-1",
        region_of=lambda cluster: REGIONS.get(cluster, ""),
    )


def zones(client):
    return client.list_hosted_zones()["HostedZones"]


def sets(client):
    zone_id = zones(client)[0]["Id"]
    found = client.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]
    return {each.get("SetIdentifier", ""): each for each in found if each["Name"] == f"{NAME}."}


class TestRoute53(ProviderConformance):
    @pytest.fixture
    def stage(self, client):
        client.create_hosted_zone(Name=f"{ZONE}.", CallerReference="stage")
        return Stage(lambda: opened(client))


async def test_a_zone_that_is_missing_is_made_once_and_used(client):
    for _ in range(2):
        await publish(opened(client), service(record(NAME, "A", "192.0.2.1")))
    assert [each["Name"] for each in zones(client)] == [f"{ZONE}."]


async def test_two_zones_of_the_same_name_are_refused_until_one_is_named(client):
    for caller in "ab":
        client.create_hosted_zone(Name=f"{ZONE}.", CallerReference=caller)
    with pytest.raises(ProviderError, match=r"several hosted zones example\.com \(.+, .+\): set spec\.route53\.zoneID"):
        await opened(client).records()
    first = zones(client)[0]["Id"].removeprefix("/hostedzone/")
    await publish(opened(client, zone_id=first), service(record(NAME, "A", "192.0.2.1")))
    assert "" in sets(client)


@pytest.mark.parametrize(
    ("routing", "told"),
    [
        (WEIGHTED, {"weighted/east": {"Weight": 1}, "weighted/west": {"Weight": 3}}),
        (LATENCY, {"latency/us-east-1": {"Region": "us-east-1"}, "latency/eu-west-1": {"Region": "eu-west-1"}}),
        (
            GEOLOCATION,
            {
                "geolocation/*": {"GeoLocation": {"CountryCode": "*"}},
                "geolocation/EU": {"GeoLocation": {"ContinentCode": "EU"}},
                "geolocation/NA": {"GeoLocation": {"ContinentCode": "NA"}},
            },
        ),
        (
            MULTIVALUE,
            {"multivalue/192.0.2.1": {"MultiValueAnswer": True}, "multivalue/192.0.2.2": {"MultiValueAnswer": True}},
        ),
    ],
)
async def test_answers_differ_by_asker(client, routing, told):
    provider = opened(client, routing=routing)
    await publish(provider, service(ROUTED))
    found = sets(client)
    assert found.keys() == told.keys()
    for identifier, attributes in told.items():
        assert attributes.items() <= found[identifier].items()
    assert (await publish(provider, service(ROUTED))).plan.steps == ()
    assert (await publish(opened(client), service(ROUTED))).conflicts == ()
    assert sets(client).keys() == {""}, "another routing takes the place of the old one"
    await withdraw(opened(client))
    assert sets(client) == {}


async def test_one_cluster_that_changes_leaves_the_sets_of_the_others_alone(client):
    provider = opened(client, routing=WEIGHTED)
    await publish(provider, service(ROUTED))
    moved = RecordSet(NAME, "A", 180, (ROUTED.data[0], Datum("192.0.2.9", "west", 3)))
    await publish(provider, service(moved))
    assert client.batches[1:] == [
        [("DELETE", (f"{NAME}.", "A", "weighted/west")), ("CREATE", (f"{NAME}.", "A", "weighted/west"))]
    ]


def checks(client):
    return {each["Id"]: each["HealthCheckConfig"] for each in client.list_health_checks()["HealthChecks"]}


async def test_health_checks_come_and_go_with_their_sets(client):
    theirs = client.create_health_check(
        CallerReference="theirs", HealthCheckConfig={"Type": "TCP", "IPAddress": "203.0.113.1", "Port": 1}
    )["HealthCheck"]["Id"]
    health = HealthCheckSettings("HTTP", 8080, "/healthz", 10, 2)
    provider = opened(client, routing=WEIGHTED, health=health)
    await publish(provider, service(ROUTED))
    used = {each["HealthCheckId"] for each in sets(client).values()}
    assert used == checks(client).keys() - {theirs}
    assert {
        (each["IPAddress"], each["Port"], each["Type"], each["ResourcePath"])
        for key, each in checks(client).items()
        if key in used
    } == {
        ("192.0.2.1", 8080, "HTTP", "/healthz"),
        ("192.0.2.2", 8080, "HTTP", "/healthz"),
    }
    restarted = opened(client, routing=WEIGHTED, health=health)
    assert (await publish(restarted, service(ROUTED))).plan.steps == ()
    assert used == checks(client).keys() - {theirs}, "a restart finds the checks by their references"
    await publish(opened(client, routing=WEIGHTED), {Key("shop", "web"): [ROUTED]})
    await opened(client).records()
    assert checks(client).keys() == {theirs}


async def test_a_refusal_is_told_in_one_sentence(client):
    with pytest.raises(ProviderError, match=r"Route 53 refuses what is asked for example\.com \(NoSuchHostedZone\): "):
        await opened(client, zone_id="Z404").records()
