"""What CoreDNS in a member is told; that it answers by it is tested with the real one."""

import pytest

from hanse.services.naming import Federation
from hanse.services.presence import Place
from hanse.services.resolution.corefile import MemberDns, corefile_part, next_level

MYFED = Federation("myfed", "example.com")
US = Place("c-us", "us", ("us-a", "us-b"))


@pytest.mark.parametrize(
    ("place", "level"),
    [
        (US, "myfed.svc.us-a.us.example.com"),
        (Place("c", "US_East.1", ("Zone_1",)), "myfed.svc.zone-1.us-east-1.example.com"),
        (Place("c", "us"), "myfed.svc.example.com"),
        (Place("c"), "myfed.svc.example.com"),
    ],
)
def test_a_cluster_without_endpoints_leads_to_its_own_zone_or_to_all(place, level):
    assert next_level(MYFED, place) == level


def test_local_services_come_first_and_the_federations_servers_hear_who_asks():
    part = corefile_part(MemberDns(US, MYFED, ("10.0.0.53", "10.0.1.53:5353")))

    assert [line for line in part.splitlines() if line.endswith("{") and not line.startswith(" ")] == [
        "myfed.svc.cluster.local:53 {",
        "myfed.hanse.internal:5300 {",
        "example.com:5300 {",
        "example.com:53 {",
    ]
    assert "        ignore empty_service\n        fallthrough\n" in part
    assert "    rewrite edns0 local set 0xfde9 cluster/c-us revert\n    forward . 10.0.0.53 10.0.1.53:5353\n" in part


def test_without_servers_the_domain_is_left_to_the_clusters_own_resolver():
    part = corefile_part(MemberDns(US, MYFED))

    assert "example.com:53 {" not in part
    assert "example.com:5300 {\n    bind 127.0.0.1\n    errors\n    cache 10\n    forward . /etc/resolv.conf\n}" in part


@pytest.mark.parametrize("imports", [False, True])
def test_imported_services_have_a_zone_where_the_cluster_takes_part(imports):
    part = corefile_part(MemberDns(US, MYFED, imports_services=imports))

    assert ("clusterset.local:53 {" in part) == imports
