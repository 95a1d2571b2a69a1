"""CoreDNS' keys in etcd: written, read again, and told from other people's."""

import json

from hanse.services.providers.skydns import keys_of, read_keys, set_prefix, zone_prefix
from hanse.services.records import Datum, RecordSet

NAME = "web.shop.fed.svc.example.com"
AT = "/skydns/com/example/svc/fed/shop/web"
RECORDS = [
    RecordSet(NAME, "A", 180, (Datum("192.0.2.1"), Datum("192.0.2.2"))),
    RecordSet(NAME, "AAAA", 180, (Datum("2001:db8::1"),)),
    RecordSet(f"_https._tcp.{NAME}", "SRV", 180, (Datum(f"0 3 443 east.{NAME}."),)),
    RecordSet(f"_hanse.{NAME}", "TXT", 300, (Datum('"heritage=hanse"'),)),
    RecordSet("web.shop.fed.svc.eu.example.com", "CNAME", 60, (Datum(f"{NAME}."),)),
]


def keys(*records):
    return {key: told for record in records for key, told in keys_of(record, "/skydns").items()}


def test_labels_are_in_reverse_and_every_value_has_a_key_of_its_own():
    found = keys(RECORDS[0])
    assert [key.rpartition("/")[0] for key in found] == [AT, AT]
    assert {json.loads(told)["host"] for told in found.values()} == {"192.0.2.1", "192.0.2.2"}
    assert all(key.startswith(zone_prefix("/skydns", "example.com")) for key in found)


def test_an_alias_is_at_its_name_too_where_coredns_looks_for_it():
    alias = RECORDS[4]
    assert [key.rpartition("/")[2].split("-")[0] for key in keys(alias)] == ["hanse", "web"]
    assert set_prefix(alias, "/skydns") == "/skydns/com/example/eu/svc/fed/shop/web/hanse-cname-"
    assert read_keys(keys(alias), "/skydns") == [alias]


def test_an_srv_record_is_a_message_with_a_port():
    (told,) = map(json.loads, keys(RECORDS[2]).values())
    assert {name: told[name] for name in ("host", "port", "priority", "weight", "ttl", "group")} == {
        "host": f"east.{NAME}",
        "port": 443,
        "priority": 0,
        "weight": 3,
        "ttl": 180,
        "group": f"_https._tcp.{NAME}",
    }


def test_what_was_written_is_read_again_many_addresses_as_one_set():
    assert read_keys(keys(*RECORDS), "/skydns") == sorted(RECORDS)


def test_a_change_of_one_address_changes_one_key():
    before = keys(RECORDS[0])
    after = keys(RecordSet(NAME, "A", 180, (Datum("192.0.2.1"), Datum("192.0.2.9"))))
    assert len(before.keys() & after.keys()) == 1
    assert all(before[key] == after[key] for key in before.keys() & after.keys())


def test_messages_of_others_occupy_the_names_at_which_coredns_answers_them():
    theirs = {
        "/skydns/com/example/mail": b'{"host":"203.0.113.1","ttl":60}',
        "/skydns/com/example/www/1a2b3c4d": b'{"host":"lb.example.net"}',
        "/skydns/com/example/_tcp/_sip/x1": b'{"host":"sip.example.net","port":5060,"priority":1,"weight":2}',
        "/skydns/com/example/note": b'{"text":"hello"}',
        "/skydns/com/example/broken": b"not json",
    }
    found = {(each.name, each.type): each.values for each in read_keys(theirs, "/skydns")}
    assert found == {
        ("mail.example.com", "A"): ("203.0.113.1",),
        ("www.example.com", "CNAME"): ("lb.example.net.",),
        ("x1._sip._tcp.example.com", "SRV"): ("1 2 5060 sip.example.net.",),
        ("note.example.com", "TXT"): ('"hello"',),
        ("broken.example.com", "TXT"): ('"not json"',),
    }
