"""Measures publishing into other DNS servers: record sets that come, change and go a second, with each real server.

Every name has an address and its ownership record, so that a name that comes or goes is two record sets; a change is
one. The built-in server's zone is in the bench's own process and shows what publishing itself costs.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.results import RESULTS
from hanse.api.dns_zones import CoreDnsSettings, Rfc2136Settings
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.zone import Zone
from hanse.services.providers.builtin import BuiltIn
from hanse.services.providers.coredns import CoreDns
from hanse.services.providers.etcd_gateway import EtcdAccess
from hanse.services.providers.interface import Provider
from hanse.services.providers.publishing import Terms, plan_changes
from hanse.services.providers.rfc2136 import DynamicUpdates
from hanse.services.providers.session import Session
from hanse.services.records import Datum, RecordSet
from tests.kubernetes.services.name_servers import KEY_NAME, SECRET, ZONE, bind, coredns, knot

_COLUMNS = ("date", "commit", "command", "provider", "names", "come/s", "change/s", "go/s", "list s", "CPU s")
_TITLE = "# Publishing into other DNS servers"
_HEADING = f"""
{_TITLE}

Record sets a second, the answer of the server included: names that come (an address and an ownership record each),
change their address, and go. list: seconds to read the whole zone. CPU: of the publishing process alone, for all of it.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one provider took for so many names."""

    provider: str
    names: int
    come: float
    change: float
    go: float
    listing: float
    cpu: float

    def line(self, commit: str, command: str) -> str:
        """Return the line for RESULTS.md."""
        rates = [f"{rate:,.0f}" for rate in (self.come, self.change, self.go)]
        cells = [time.strftime("%Y-%m-%d"), commit, f"`{command}`", self.provider, f"{self.names:,}", *rates]
        return f"| {' | '.join([*cells, f'{self.listing:.2f}', f'{self.cpu:.1f}'])} |"


def wanted(names: int, last: int) -> dict[Key, list[RecordSet]]:
    """Return services with a name each."""
    return {
        Key("bench", f"s{index}"): [RecordSet(f"s{index}.bench.fed.{ZONE}", "A", 180, (Datum(f"192.0.2.{last}"),))]
        for index in range(names)
    }


async def measure(label: str, provider: Provider, names: int) -> Measured:
    """Publish, change and withdraw so many names."""
    session = Session("main", provider, SystemRuntime(), lambda: True, "bench", 1, resync_seconds=3600)
    terms = Terms(ZONE, "bench", provider.stored)

    async def publish(services: dict[Key, list[RecordSet]]) -> float:
        started = time.perf_counter()
        await session.look()

        def decide(view):
            plan = plan_changes(services, view, terms)
            return plan, (*plan.steps, *plan.departures)

        await session.carry_out(decide)
        return time.perf_counter() - started

    cpu = time.process_time()
    come = await publish(wanted(names, 1))
    change = await publish(wanted(names, 2))
    started = time.perf_counter()
    await provider.records()
    listing = time.perf_counter() - started
    go = await publish({})
    await provider.close()
    rates = 2 * names / come, names / change, 2 * names / go
    return Measured(label, names, *rates, listing, time.process_time() - cpu)


@contextmanager
def _built_in() -> Iterator[Callable[[], Provider]]:
    yield lambda: BuiltIn(Zone(ZONE), SystemRuntime())


@contextmanager
def _bind() -> Iterator[Callable[[], Provider]]:
    with bind() as server:
        yield lambda: DynamicUpdates(ZONE, Rfc2136Settings("127.0.0.1", server.port, KEY_NAME), SECRET)


@contextmanager
def _knot() -> Iterator[Callable[[], Provider]]:
    with knot() as server:
        yield lambda: DynamicUpdates(ZONE, Rfc2136Settings("127.0.0.1", server.port, KEY_NAME), SECRET)


@contextmanager
def _coredns() -> Iterator[Callable[[], Provider]]:
    with coredns() as (_, url):
        yield lambda: CoreDns(ZONE, CoreDnsSettings((url,)), EtcdAccess())


_PROVIDERS = {"built-in": _built_in, "rfc2136, BIND": _bind, "rfc2136, Knot": _knot, "coredns, etcd": _coredns}


@asynccontextmanager
async def _opened(label: str) -> AsyncIterator[Provider]:
    with _PROVIDERS[label]() as opened:
        yield opened()


async def _measure(label: str, names: int) -> Measured:
    async with _opened(label) as provider:
        return await measure(label, provider, names)


def add_results(results: Path, lines: list[str]) -> None:
    """Add lines under this bench's own heading, which comes last where it is new."""
    text = results.read_text() if results.exists() else ""
    if _TITLE not in text.splitlines():
        text = f"{text.rstrip()}\n{_HEADING}"
    before, _, rest = text.partition(_TITLE)
    own, separator, after = rest.partition("\n\n# ")
    results.write_text(f"{before}{_TITLE}{own.rstrip()}\n" + "\n".join(lines) + f"\n{separator[1:]}{after}")


def main() -> int:
    """Run the bench, print what was measured and keep it."""
    parser = argparse.ArgumentParser(prog="python -m bench.dns_providers", description=__doc__)
    parser.add_argument("--names", type=int, default=1_000, help="how many names (default 1000)")
    parser.add_argument("--dry-run", action="store_true", help="only print; RESULTS.md stays as it is")
    args = parser.parse_args()
    command = shlex.join(["python", "-m", "bench.dns_providers", *sys.argv[1:]])
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    lines = []
    for label in _PROVIDERS:
        try:
            found = asyncio.run(_measure(label, args.names))
        except pytest.skip.Exception as skipped:
            print(f"{label}: {skipped}")
            continue
        lines.append(found.line(asked.stdout.strip() or "–", command))
        print(lines[-1])
    if lines and not args.dry_run:
        add_results(RESULTS, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
