"""The DNS servers of the bench, each with the same zone: the built-in one, Knot, and CoreDNS from a file.

    python -m bench.dns_servers PORT NAMES

serves the zone with the built-in server, as the bench has it done in a process of its own.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import psutil

from hanse.cli.loading import settle
from hanse.cli.running import run
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.server import DnsServer
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas
from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Place, Presence
from hanse.services.records import RecordSet, records_of
from tests.kubernetes.real.components import CHECKOUT
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.real.waiting import wait_until

DOMAIN = "example.com"
_FEDERATION = Federation("fed", DOMAIN)
_PLACES = {
    name: Place(name, region, (f"{region}-a",))
    for name, region in (("c-1", "us-east-1"), ("c-2", "eu-west-1"), ("c-3", "ap-northeast-1"))
}
_READY_SECONDS = 120.0

_KNOT = """\
server:
    listen: 127.0.0.1@{port}
    rundir: {folder}
    user: root
database:
    storage: {folder}
log:
  - target: stderr
    any: warning
zone:
  - domain: {domain}
    storage: {folder}
    file: zone
    zonefile-load: whole
    journal-content: none
"""
_COREFILE = "{domain}:{port} {{\n    bind 127.0.0.1\n    file {folder}/zone\n}}\n"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers on a port of loopback."""

    port: int
    process: psutil.Process

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used so far."""
        used = self.process.cpu_times()
        return float(used.user + used.system)

    def megabytes(self) -> float:
        """Return the memory that it has now."""
        return float(self.process.memory_info().rss) / 1e6


def service_name(number: int) -> str:
    """Return the hostname of one of the bench's services."""
    return _FEDERATION.hostname(Key("bench", f"service-{number:05}"))


def zone_records(names: int) -> Iterator[tuple[Key, list[RecordSet]]]:
    """Yield the records of so many services in three clusters."""
    for number in range(names):
        key = Key("bench", f"service-{number:05}")
        presences = tuple(
            Presence(cluster, (f"10.{index}.{number >> 8}.{number & 255}",))
            for index, cluster in enumerate(sorted(_PLACES), 1)
        )
        yield key, records_of(FederatedService(key, (), presences), _FEDERATION, _PLACES)


def zone_file(names: int) -> str:
    """Return the same zone as other servers read it."""
    lines = [
        f"$ORIGIN {DOMAIN}.",
        "@ 30 IN SOA ns hostmaster 1 300 60 1209600 30",
        "@ 3600 IN NS ns",
        "ns 3600 IN A 127.0.0.1",
    ]
    for _, sets in zone_records(names):
        lines += [f"{each.name}. {each.ttl} IN {each.type} {value}" for each in sets for value in each.values]
    return "\n".join(lines) + "\n"


@contextmanager
def builtin(names: int) -> Iterator[Server]:
    """Run the built-in server."""
    with _started("builtin", lambda _folder, port: [sys.executable, "-m", __name__, str(port), str(names)]) as server:
        yield server


@contextmanager
def knot(names: int) -> Iterator[Server]:
    """Run Knot with all the threads that it wants."""
    binary = shutil.which("knotd", path="/usr/sbin:/usr/bin")
    if binary is None:
        raise FileNotFoundError("knotd is not installed (Debian: knot)")

    def argv(folder: Path, port: int) -> list[str]:
        (folder / "zone").write_text(zone_file(names))
        (folder / "knot.conf").write_text(_KNOT.format(folder=folder, port=port, domain=DOMAIN))
        return [binary, "-c", str(folder / "knot.conf")]

    with _started("knot", argv) as server:
        yield server


@contextmanager
def coredns(names: int) -> Iterator[Server]:
    """Run CoreDNS with its `file` plugin."""
    asked = [str(CHECKOUT / "components" / "build"), "--path", "coredns"]
    binary = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()) / "coredns"
    if not binary.exists():
        raise FileNotFoundError("CoreDNS is not built: components/build coredns")

    def argv(folder: Path, port: int) -> list[str]:
        (folder / "zone").write_text(zone_file(names))
        (folder / "Corefile").write_text(_COREFILE.format(folder=folder, port=port, domain=DOMAIN))
        return [str(binary), "-conf", str(folder / "Corefile")]

    with _started("coredns", argv) as server:
        yield server


@contextmanager
def _started(name: str, argv: Callable[[Path, int], list[str]]) -> Iterator[Server]:
    processes = GuardedProcesses(Path(tempfile.mkdtemp(prefix="hanse-bench-dns-")))
    try:
        port = free_port()
        pid = processes.start(name, argv(processes.folder, port))
        wait_until(
            lambda: _answers(port) or processes.exit_code(name) is not None,
            seconds=_READY_SECONDS,
            what=f"{name} answers",
        )
        if processes.exit_code(name) is not None:
            raise RuntimeError(f"{name} ended: {processes.log_tail(name)}")
        yield Server(port, psutil.Process(pid))
    finally:
        processes.close()


def _answers(port: int) -> bool:
    try:
        asked = dns.message.make_query(service_name(0), "A")
        return len(dns.query.udp(asked, "127.0.0.1", port=port, timeout=1).answer) == 1
    except (OSError, dns.exception.DNSException):
        return False


async def _serve(port: int, names: int) -> None:
    zone = Zone(DOMAIN)
    for key, records in zone_records(names):
        zone.replace(key, records)
    server = DnsServer(Zones(zone, atlas=Atlas(_PLACES)), SystemRuntime())
    await server.start("127.0.0.1", port)
    settle()
    await asyncio.Event().wait()


if __name__ == "__main__":
    run(lambda: _serve(int(sys.argv[1]), int(sys.argv[2])))
