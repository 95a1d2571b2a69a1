"""Real DNS servers on loopback for the tests of providers: BIND, Knot, and CoreDNS on etcd. Gone with their holder."""

from __future__ import annotations

import base64
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dns.asyncquery
import dns.exception
import dns.message
import dns.query
import dns.rdatatype
import pytest

from tests.kubernetes.real.certificates import Authority
from tests.kubernetes.real.components import components_folder
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.real.waiting import wait_until
from tests.kubernetes.services.coredns import find_coredns

ZONE = "example.com"
KEY_NAME = "hanse"
SECRET = base64.b64encode(b"only for the length of one test").decode()
_START_SECONDS = 60.0

_ZONE_FILE = f"""\
$ORIGIN {ZONE}.
$TTL 3600
@    SOA ns hostmaster 1 3600 600 86400 60
@    NS  ns
ns   A   127.0.0.1
mail MX  10 mail.example.net.
mail TXT "v=spf1 -all"
"""

_BIND = """\
options {{
    directory "{folder}"; pid-file none; session-keyfile none; recursion no; notify no; dnssec-validation no;
    listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
}};
controls {{ }};
key "{key}" {{ algorithm hmac-sha256; secret "{secret}"; }};
zone "{zone}" {{
    type primary; file "{folder}/{zone}.zone"; allow-transfer {{ key "{key}"; }};
    update-policy {{ deny {key} subdomain forbidden.{zone}; grant {key} zonesub ANY; }};
}};
"""

_KNOT = """\
server:
    listen: 127.0.0.1@{port}
    rundir: {folder}
    user: root
database:
    storage: {folder}
log:
  - target: stderr
    any: info
key:
  - id: {key}
    algorithm: hmac-sha256
    secret: {secret}
acl:
  - id: publisher
    key: {key}
    action: [transfer, update]
zone:
  - domain: {zone}
    storage: {folder}
    file: {zone}.zone
    acl: publisher
    dnssec-signing: {signing}
"""


@dataclass(frozen=True, slots=True)
class NameServer:
    """A running server of the zone."""

    port: int

    async def ask(self, name: str, kind: str) -> set[str]:
        """Return what the server answers to a question, of that type."""
        query = dns.message.make_query(name, kind)
        answer = await dns.asyncquery.tcp(query, "127.0.0.1", port=self.port, timeout=_START_SECONDS)
        wanted = dns.rdatatype.from_text(kind)
        return {rdata.to_text() for rrset in answer.answer if rrset.rdtype == wanted for rdata in rrset}

    def answers(self) -> bool:
        """Tell whether the server serves the zone yet."""
        try:
            answer = dns.query.tcp(dns.message.make_query(ZONE, "SOA"), "127.0.0.1", port=self.port, timeout=1)
        except (OSError, EOFError, dns.exception.DNSException):
            return False
        return answer.rcode() == 0


@contextmanager
def bind() -> Iterator[NameServer]:
    """Run BIND with the zone, which takes updates signed with the key; names below `forbidden` it refuses."""
    with _run("named", _BIND, lambda binary, conf: [binary, "-g", "-n", "1", "-c", str(conf)]) as server:
        yield server


@contextmanager
def knot(*, signing: bool = False) -> Iterator[NameServer]:
    """Run Knot with the zone, which takes updates signed with the key; it may sign the zone itself (DNSSEC)."""
    template = _KNOT.replace("{signing}", "on" if signing else "off")
    with _run("knotd", template, lambda binary, conf: [binary, "-c", str(conf)]) as server:
        yield server


@contextmanager
def etcd(authority: Authority | None = None) -> Iterator[str]:
    """Run etcd; gives its URL. With an authority it serves TLS, and wants clients to show a certificate of it."""
    with _processes() as processes:
        yield _start_etcd(processes, authority)


@contextmanager
def coredns() -> Iterator[tuple[NameServer, str]]:
    """Run etcd and a CoreDNS that answers the zone from it; gives the server and etcd's URL."""
    binary = find_coredns()
    with _processes() as processes:
        url = _start_etcd(processes)
        server = NameServer(free_port())
        corefile = processes.folder / "Corefile"
        corefile.write_text(
            f"{ZONE}:{server.port} {{\n    bind 127.0.0.1\n    etcd {{\n        endpoint {url}\n    }}\n}}\n"
        )
        processes.start("coredns", [str(binary), "-conf", str(corefile)])
        _await(processes, "coredns", server)
        yield server, url


@contextmanager
def _run(name: str, template: str, argv) -> Iterator[NameServer]:
    binary = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if binary is None:
        pytest.skip(f"{name} is not installed")
    with _processes() as processes:
        server = NameServer(free_port())
        folder = processes.folder
        (folder / f"{ZONE}.zone").write_text(_ZONE_FILE)
        conf = folder / f"{name}.conf"
        facts = {"folder": folder, "port": server.port, "key": KEY_NAME, "secret": SECRET, "zone": ZONE}
        conf.write_text(template.format(**facts))
        processes.start(name, argv(binary, conf))
        _await(processes, name, server)
        yield server


def _start_etcd(processes: GuardedProcesses, authority: Authority | None = None) -> str:
    client = f"{'http' if authority is None else 'https'}://127.0.0.1:{free_port()}"
    peer = f"http://127.0.0.1:{free_port()}"
    flags: Sequence[str] = [
        f"--data-dir={processes.folder}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
    ]
    secured = _tls_flags(processes.folder, authority) if authority is not None else []
    processes.start("etcd", [str(components_folder() / "etcd"), *flags, *secured])
    port = int(client.rpartition(":")[2])
    wait_until(lambda: _listens(port), seconds=_START_SECONDS, what="etcd listens")
    return client


def _tls_flags(folder: Path, authority: Authority) -> list[str]:
    # The JSON gateway is a client of etcd's own, and shows a certificate like all others.
    server, gateway = authority.serving(["127.0.0.1"]), authority.client("gateway")
    files = {"ca.crt": authority.credential.certificate, "tls.crt": server.certificate, "tls.key": server.key}
    files |= {"gateway.crt": gateway.certificate, "gateway.key": gateway.key}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    pair = [f"--cert-file={folder}/tls.crt", f"--key-file={folder}/tls.key"]
    pair += [f"--client-cert-file={folder}/gateway.crt", f"--client-key-file={folder}/gateway.key"]
    return [*pair, "--client-cert-auth", f"--trusted-ca-file={folder}/ca.crt"]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _await(processes: GuardedProcesses, name: str, server: NameServer) -> None:
    def settled() -> bool:
        return server.answers() or processes.exit_code(name) is not None

    wait_until(settled, seconds=_START_SECONDS, what=f"{name} answers")
    assert processes.exit_code(name) is None, processes.log_tail(name)


@contextmanager
def _processes() -> Iterator[GuardedProcesses]:
    processes = GuardedProcesses(Path(tempfile.mkdtemp(prefix="hanse-dns-")))
    try:
        yield processes
    finally:
        processes.close()
