"""What the annotation of a Service asks for, and what it is told where it asks for nonsense."""

import orjson
import pytest

from hanse.api.federation import HealthSettings
from hanse.services.health.check_fields import BadCheck
from hanse.services.health.checks import Check, check_entry, check_for, parse_check
from hanse.services.presence import Port

TERMS = HealthSettings()
WEB = (Port("dns", "UDP", 53), Port("http", "TCP", 80), Port("https", "TCP", 443))


def read(document, ports=WEB):
    return check_for(orjson.dumps(document).decode(), ports, TERMS)


@pytest.mark.parametrize(
    ("ports", "check"),
    [
        (WEB, Check("tcp", 80)),
        ((Port("", "UDP", 53),), Check("udp", 53)),
        ((Port("", "SCTP", 132),), None),
        ((), None),
    ],
)
def test_without_an_annotation_the_first_tcp_port_is_connected_to(ports, check):
    assert check_for(None, ports, TERMS) == check


@pytest.mark.parametrize(
    ("document", "check"),
    [
        ({"type": "tcp"}, Check("tcp", 80)),
        ({"type": "tcp", "port": "https"}, Check("tcp", 443)),
        ({"type": "udp"}, Check("udp", 53)),
        (
            {"type": "udp", "port": 5353, "send": "ping", "expect": "pong"},
            Check("udp", 5353, send="ping", expect="pong"),
        ),
        (
            {"type": "http", "path": "/healthz", "status": [200]},
            Check("http", 80, path="/healthz", status=((200, 200),)),
        ),
        ({"type": "http", "status": ["200-299", 404]}, Check("http", 80, status=((200, 299), (404, 404)))),
        (
            {"type": "http", "method": "HEAD", "host": "shop.example"},
            Check("http", 80, method="HEAD", host="shop.example"),
        ),
        (
            {"type": "https", "port": "https", "serverName": "shop.example", "contains": "ok", "verify": False},
            Check("https", 443, server_name="shop.example", contains="ok", verify=False),
        ),
        ({"type": "grpc", "port": 50051, "service": "shop.Cart"}, Check("grpc", 50051, service="shop.Cart")),
        (
            {"type": "tcp", "intervalSeconds": 10, "timeoutSeconds": 0.5, "fall": 5, "rise": 1},
            Check("tcp", 80, HealthSettings(10, 0.5, 5, 1)),
        ),
        ({"type": "none"}, None),
    ],
)
def test_an_annotation_says_how_to_probe(document, check):
    assert read(document) == check


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tcp", "it must be a JSON object; it is not JSON"),
        ("[]", 'it must be a JSON object such as {"type": "tcp"}'),
        ("{}", "field type: must be one of tcp, udp, http, https, grpc, grpcs, none, not None"),
        ('{"type": "ping"}', "field type: must be one of tcp, udp, http, https, grpc, grpcs, none, not 'ping'"),
        ('{"type": "tcp", "path": "/"}', "field path: is not a field of this type of check; it has type, port, "),
        ('{"type": "http", "verify": false}', "field verify: is not a field of this type of check"),
        ('{"type": "tcp", "port": 0}', "field port: must be a port's number, or the name of a TCP port of the Service"),
        ('{"type": "tcp", "port": "dns"}', "name of a TCP port of the Service (http, https)"),
        ('{"type": "http", "path": "healthz"}', "field path: must be a path such as /healthz, not 'healthz'"),
        ('{"type": "http", "path": "/ HTTP/1.1\\r\\nHost: b"}', "field path: must be a path such as /healthz"),
        ('{"type": "http", "host": "a\\r\\nX: b"}', "field host: must be the name of a host"),
        ('{"type": "https", "serverName": "a..b"}', "field serverName: must be the name of a host, not 'a..b'"),
        ('{"type": "http", "status": ["ok"]}', "field status: must be a list of HTTP statuses such as"),
        ('{"type": "http", "status": [700]}', "field status: must be a list of HTTP statuses such as"),
        ('{"type": "http", "method": "POST"}', "field method: must be one of GET, HEAD, OPTIONS, not 'POST'"),
        ('{"type": "https", "verify": "no"}', "field verify: must be true or false, not 'no'"),
        ('{"type": "https", "ca": "me"}', "field ca: must be certificates in PEM"),
        ('{"type": "tcp", "intervalSeconds": 0}', "field intervalSeconds: must be a number from 0.1 to 3600, not 0"),
        ('{"type": "tcp", "fall": 0}', "field fall: must be a whole number from 1 to 100, not 0"),
        ('{"type": "udp", "send": 7}', "field send: must be a text of at most 4096 characters"),
    ],
)
def test_nonsense_is_refused_with_one_sentence_that_names_the_field(text, sentence):
    with pytest.raises(BadCheck) as refusal:
        check_for(text, WEB, TERMS)

    assert str(refusal.value).startswith("annotation hanse.dev/health-check")
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    "check",
    [
        Check("tcp", 80),
        Check("udp", 53, HealthSettings(1, 1, 1, 1), send="x", expect="y"),
        Check("https", 443, path="/a", host="b", status=((200, 204), (301, 301)), contains="c", server_name="d"),
        Check("grpcs", 50051, service="e", verify=False),
    ],
)
def test_what_travels_in_a_report_comes_out_as_it_went_in(check):
    assert parse_check(check_entry(check)) == check


def test_a_report_cannot_ask_for_nothing():
    with pytest.raises(BadCheck, match="must say how to probe"):
        parse_check({"type": "none"})
