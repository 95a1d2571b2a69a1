"""The DNS server with a small zone, in a process of its own: `python -m tests.fuzz.dns.served` prints its port."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.dns_servers import DOMAIN, zone_records
from hanse.cli.running import log_to, run
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.limits import LOOPBACK, Limits
from hanse.services.dns.server import DnsServer
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas
from hanse.services.presence import Place
from tests.fuzz.watched import WatchedServer

NAMES = 40
IDLE_SECONDS = 1.0
_PLACES = {name: Place(name, name, ()) for name in ("c-1", "c-2", "c-3")}


class ServedDns(WatchedServer):
    """A running DNS server; it has nothing to say of what strangers send."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        super().__init__(process, log)
        self.port = port


@contextmanager
def served() -> Iterator[ServedDns]:
    """Serve for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="hanse-fuzz-") as name:
        log = Path(name) / "log"
        command = [sys.executable, "-m", __name__]
        with log.open("wb") as lines, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines) as process:
            try:
                assert process.stdout is not None
                told = process.stdout.readline()
                if not told:
                    raise RuntimeError(f"the DNS server did not start: {log.read_text()[-2000:]}")
                yield ServedDns(process, int(told), log)
            finally:
                process.kill()


async def _serve() -> None:
    zone = Zone(DOMAIN)
    for key, records in zone_records(NAMES):
        zone.replace(key, records)
    limits = Limits(tcp_idle_seconds=IDLE_SECONDS)
    server = DnsServer(Zones(zone, atlas=Atlas(_PLACES)), SystemRuntime(), limits, transfers=LOOPBACK)
    await server.start("127.0.0.1", 0)
    print(server.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    log_to()
    run(_serve)
