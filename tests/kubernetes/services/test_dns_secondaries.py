"""`hanse dns serve` as the primary of real secondaries: BIND and Knot copy its zone, and hear of changes."""

import shutil
import sys

import dns.exception
import dns.message
import dns.query
import pytest

from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.manifest import Key
from hanse.services.addresses import addresses_manifest
from hanse.services.presence import FederatedService, Port, Presence
from tests.component.served_federation import ServedFederation
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.real.waiting import wait_until

NAME = "web.default.fed.example.com"
PATIENCE_SECONDS = 60.0

BIND = """\
options {{
    directory "{folder}"; pid-file none; session-keyfile none; recursion no; notify no; dnssec-validation no;
    listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
}};
controls {{ }};
zone "example.com" {{
    type secondary; file "{folder}/copy.zone"; masterfile-format text; primaries {{ 127.0.0.1 port {primary}; }};
    allow-notify {{ 127.0.0.1; }};
}};
"""

KNOT = """\
server:
    listen: 127.0.0.1@{port}
    rundir: {folder}
    user: root
database:
    storage: {folder}
log:
  - target: stderr
    any: info
remote:
  - id: primary
    address: 127.0.0.1@{primary}
acl:
  - id: primary
    address: 127.0.0.1
    action: notify
zone:
  - domain: example.com
    storage: {folder}
    master: primary
    acl: primary
"""
SECONDARIES = {
    "named": (BIND, lambda binary, conf: [binary, "-g", "-n", "1", "-c", conf]),
    "knotd": (KNOT, lambda binary, conf: [binary, "-c", conf]),
}


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    opened = ServedFederation(tmp_path_factory.mktemp("host"))
    opened.ask(opened.host.create(FEDERATIONS, federation_manifest("fed", "example.com")))
    yield opened
    opened.close()


@pytest.fixture
def processes(tmp_path):
    running = GuardedProcesses(tmp_path)
    yield running
    running.close()


def publish(federation, *addresses):
    presences = tuple(Presence(f"c-{number}", (each,)) for number, each in enumerate(addresses))
    service = FederatedService(Key("default", "web"), (Port("http", "TCP", 80),), presences)
    federation.ask(federation.host.apply(SERVICE_ADDRESSES, addresses_manifest(service)))


def told(port, name=NAME, kind="A"):
    """What a server says now, None while it says nothing of use."""
    try:
        answer = dns.query.tcp(dns.message.make_query(name, kind), "127.0.0.1", port=port, timeout=5)
    except (OSError, EOFError, dns.exception.DNSException):
        return None
    return sorted(value.to_text() for each in answer.answer for value in each)


@pytest.mark.parametrize("secondary", SECONDARIES)
def test_a_secondary_copies_the_zone_and_follows_its_changes(federation, processes, secondary):
    binary = shutil.which(secondary, path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if binary is None:
        pytest.skip(f"{secondary} is not installed (Debian: bind9, knot)")
    primary, port = free_port(), free_port()
    publish(federation, "1.1.1.1", "2.2.2.2")
    serve = [sys.executable, "-m", "hanse", "dns", "serve", "--kubeconfig", str(federation.config)]
    listen = ["--listen", f"127.0.0.1:{primary}", "--allow-transfer", "127.0.0.0/8", "--notify", f"127.0.0.1:{port}"]
    processes.start("primary", [*serve, *listen])
    wait_until(lambda: told(primary), seconds=PATIENCE_SECONDS, what="the primary answers")

    template, argv = SECONDARIES[secondary]
    conf = processes.folder / f"{secondary}.conf"
    conf.write_text(template.format(folder=processes.folder, port=port, primary=primary))
    processes.start(secondary, argv(binary, str(conf)))
    both = ["1.1.1.1", "2.2.2.2"]
    wait_until(lambda: told(port) == both, seconds=PATIENCE_SECONDS, what=f"{secondary} has the zone")
    assert told(port, f"_http._tcp.{NAME}", "SRV") == [
        "0 1 80 c-0.web.default.fed.svc.example.com.",
        "0 1 80 c-1.web.default.fed.svc.example.com.",
    ]

    publish(federation, "2.2.2.2")
    wait_until(lambda: told(port) == ["2.2.2.2"], seconds=PATIENCE_SECONDS, what=f"{secondary} heard of the change")
    assert told(port, "c-1.web.default.fed.svc.example.com") == []
